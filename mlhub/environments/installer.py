# SPDX-License-Identifier: Apache-2.0
"""Runs uv in the sandbox to install packages into a folder, within limits of time, memory and size: first to resolve
them, then to download what is compiled against torch, which may not fit, and then the rest.

Wheels are installed where there are some, so that no code of a package runs: what uv does is to resolve, download and
unpack. Where that finds none, the sandbox encloses the build of a package from its source. The index is the platform's:
requirements that name addresses or options were refused before (runtime/environments/requirements.py), and the sandbox
reaches no other host (enclosed/).
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import uv

from mlhub.environments import base
from mlhub.environments.enclosed.folder_sizes import MAX_FILES, folder_size, is_disk_full, remove_irregular
from mlhub.environments.enclosed.process import N_PROCESSES, EnclosedFolders, enclosed, why_no_code
from mlhub.environments.enclosed.sources import configuration_files, egress_of, sources_of
from mlhub.environments.failures import (
    NO_WHEEL,
    BuildError,
    failure_in,
    file_too_large,
    no_room,
    over_a_limit,
    too_large,
    too_many_files,
    too_slow,
)
from mlhub.environments.torch_builds import COMPILED_AGAINST_TORCH, wrong_build, wrong_version
from mlhub.runtime.sandbox.verdicts import End, SandboxLimits

POLL_S = 0.2
LOG_EVERY_S = 1.0
MAX_LOG_CHARACTERS = 256 * 1024
MEMORY_BYTES = 8 * 2**30
RESOLVED = re.compile(r"^ \+ ([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)  # as uv lists what it installs
INTERPRETER = re.compile(r"^(Using .+?) (?:interpreter|environment) at:? .*$", re.MULTILINE)  # a path of this machine
CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
SWITCHED_OFF = "An administrator has switched the building of packages from source off (MLHUB_BUILD_SOURCES)."
SCRATCH_BYTES = 2**30
ENDED_BY = (End.TIME, End.PROCESSOR_TIME, End.MEMORY, End.PROCESSES, End.DISK, End.SYSTEM_CALL)  # by the sandbox


@dataclass(frozen=True)
class PackageSource:
    """Where packages come from. index_url: "" = what uv is configured with on this machine. wheelhouse: a folder of
    wheels; alone, it is the only source. hosts: at which the pages of an index link files, besides itself and those
    that are known. builds_sources: whether packages without a wheel are built from their source, where that is safe.
    certificates: of the authorities that are trusted, in PEM, where the site has one of its own; "" = as uv is
    configured."""

    index_url: str = ""
    wheelhouse: str = ""
    hosts: tuple[str, ...] = ()
    builds_sources: bool = False
    certificates: str = ""

    def options(self) -> list[str]:
        house = ["--find-links", self.wheelhouse] if self.wheelhouse else []
        if self.index_url:
            return ["--default-index", self.index_url, *house]
        return ["--no-index", *house] if house else []


@dataclass(frozen=True)
class BuildLimits:
    timeout_s: float
    size_bytes: int


def install(
    requirements: Sequence[str],
    *,
    folder: Path,
    source: PackageSource,
    limits: BuildLimits,
    cache: Path,
    on_log: Callable[[str], None],
    check: Callable[[], None],
) -> Path:
    """Installs the requirements, without what the platform has, and returns the folder that holds them.

    folder: empty; it takes the layer and the files that the build needs. on_log: is given the log as it grows.
    check: called often, to raise what ends the build.
    Raises BuildError with the line of the log that explains it, OSError.
    """
    target = folder / "layer"
    target.mkdir()
    seeded = base.seed(target)
    folders = EnclosedFolders(folder / "given", target, cache, folder / "scratch")
    for each in (folders.given, folders.scratch, cache):
        each.mkdir(parents=True, exist_ok=True)
    required, constraints = folders.given / "requirements.txt", folders.given / "constraints.txt"
    required.write_text("\n".join(requirements) + "\n")
    constraints.write_text("\n".join(base.constraints_for(requirements)) + "\n")
    build = _Build(folder, folders, source, limits, on_log, check, until=time.monotonic() + limits.timeout_s)
    asked = ("--requirements", str(required), "--constraints", str(constraints))
    try:
        resolved = resolved_in(build.run("--dry-run", *asked))
    except BuildError as without:
        if without.code != NO_WHEEL:
            raise
        build = build.from_sources(without)
        resolved = resolved_in(build.run("--dry-run", *asked))
    _check_torch_builds(build, resolved)
    build.run(*asked)
    remove_irregular(target)
    _remove_seeds(target, seeded)
    if (error := wrong_build(target)) is not None:
        raise error
    return target


def resolved_in(log: str) -> dict[str, str]:
    """Versions by name, of the packages that a log of uv says are installed, or would be."""
    return dict(RESOLVED.findall(log))


def _check_torch_builds(build: _Build, resolved: Mapping[str, str]) -> None:
    """Installs what is compiled against torch before all else, which may be gigabytes: it must fit the platform's.

    Raises BuildError, before anything is downloaded where the version itself says its build.
    """
    compiled = {name: resolved[name] for name in COMPILED_AGAINST_TORCH if name in resolved}
    if not compiled or "torch" in resolved:
        return
    if (error := wrong_version(compiled)) is not None:
        raise error
    build.run("--no-deps", *(f"{name}=={version}" for name, version in compiled.items()))
    if (error := wrong_build(build.folders.target)) is not None:
        raise error


@dataclass(frozen=True)
class _Build:
    """One environment's folder, in which uv runs several times. until: the end of all runs, of the monotonic clock."""

    folder: Path
    folders: EnclosedFolders
    source: PackageSource
    limits: BuildLimits
    on_log: Callable[[str], None]
    check: Callable[[], None]
    until: float
    runs_code: bool = False

    def from_sources(self, error: BuildError) -> _Build:
        """The same build, in which code of packages runs: with a cache of its own, which goes with the folder.

        Raises the error, with the reason, where that is not safe.
        """
        variables, source = os.environ, self.source
        sources = sources_of(source.index_url, source.wheelhouse, variables, configuration_files(variables))
        reason = SWITCHED_OFF if not source.builds_sources else why_no_code(sources, variables)
        if reason:
            raise BuildError(error.message, code=error.code, remedy=f"{error.remedy} {reason}") from error
        cache = self.folder / "cache"
        cache.mkdir()
        return replace(self, folders=replace(self.folders, cache=cache), runs_code=True)

    def run(self, *words: str) -> str:
        """Runs `uv pip install` with these words, and returns what it printed. Raises BuildError, OSError."""
        log = self.folder / "log.txt"
        start = log.stat().st_size if log.exists() else 0
        variables, source = os.environ, self.source
        sources = sources_of(source.index_url, source.wheelhouse, variables, configuration_files(variables))
        with (
            log.open("ab") as output,
            enclosed(
                _command(self.folders.target, source, words, runs_code=self.runs_code),
                self.folders,
                variables=variables,
                sources=sources,
                egress=egress_of(sources, variables, source.hosts, certificates=source.certificates),
                certificates=source.certificates,
                limits=SandboxLimits(
                    timeout_s=self.limits.timeout_s,
                    memory_bytes=MEMORY_BYTES,
                    scratch_bytes=SCRATCH_BYTES,
                    n_processes=N_PROCESSES,
                    n_cpus=float(os.cpu_count() or 1),
                ),
                max_file_bytes=self.limits.size_bytes,
                runs_code=self.runs_code,
                log=output,
            ) as installer,
        ):
            self._watch(installer.process, log)
            printed = self._log_text(log, start=start)
            ended = installer.ended(printed)
        self.on_log(self._log_text(log))
        if ended.exit_code == -signal.SIGXFSZ:
            raise file_too_large(self.limits.size_bytes)
        if ended.end in ENDED_BY:
            raise over_a_limit(ended.proof)
        if ended.exit_code != 0:
            raise failure_in(printed, exit_code=ended.exit_code)
        return printed

    def _watch(self, process: subprocess.Popen[bytes], log: Path) -> None:
        """Until uv has ended. Raises BuildError at the limit of time or size."""
        next_log = time.monotonic() + LOG_EVERY_S
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(POLL_S)
            self._check_size()
            if process.returncode is not None:
                return
            self.check()
            if time.monotonic() > self.until:
                raise too_slow(self.limits.timeout_s, self._log_text(log))
            if time.monotonic() > next_log:
                self.on_log(self._log_text(log))
                next_log = time.monotonic() + LOG_EVERY_S

    def _log_text(self, log: Path, *, start: int = 0) -> str:
        return log_text(log, start=start, folders=(self.folder, self.folders.cache))

    def _check_size(self) -> None:
        """Raises BuildError. The cache that builds share is bounded afterwards; one that code can write counts now."""
        written = [folder_size(self.folders.target)]
        if self.runs_code:
            written.append(folder_size(self.folders.cache))
            if is_disk_full(self.folder):
                raise no_room()
        for each in written:
            if each.n_bytes > self.limits.size_bytes:
                raise too_large(each.n_bytes, self.limits.size_bytes)
            if each.n_files > MAX_FILES:
                raise too_many_files(MAX_FILES)


def log_text(log: Path, *, start: int, folders: Sequence[Path]) -> str:
    """The log from a byte on as it is stored: its end, printable, without credentials of the index and without where
    these folders are on this machine."""
    text = log.read_bytes()[start:][-4 * MAX_LOG_CHARACTERS :].decode(errors="replace").replace("\x00", "�")
    text = INTERPRETER.sub(r"\1", CREDENTIALS.sub("", text))
    for folder in folders:
        text = text.replace(f"{folder}/", "")
    return text[-MAX_LOG_CHARACTERS:]


def _command(target: Path, source: PackageSource, words: Sequence[str], *, runs_code: bool) -> list[str]:
    wheels_only = () if runs_code else ("--no-build",)
    return [
        uv.find_uv_bin(), "pip", "install", "--python", sys.executable, "--no-python-downloads", *wheels_only,
        "--target", str(target), "--link-mode", "copy", "--color", "never", "--no-progress",
        *words, *source.options(),
    ]  # fmt: skip


def _remove_seeds(target: Path, seeded: Sequence[Path]) -> None:
    """Of packages that the user pinned to another version, uv removed the seed itself."""
    for entry in seeded:
        for name in (base.METADATA, base.RECORD, base.INSTALLER):
            (entry / name).unlink(missing_ok=True)
        if entry.is_dir():
            entry.rmdir()
    for left in (target / ".lock", target / "CACHEDIR.TAG"):
        left.unlink(missing_ok=True)
