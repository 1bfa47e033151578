# SPDX-License-Identifier: Apache-2.0
"""Runs a Python program of strangers within a given isolation and returns how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from mlhub.runtime.sandbox import cgroups, syscall_filter
from mlhub.runtime.sandbox.confinement import SCRATCH_FOLDER, Confinement
from mlhub.runtime.sandbox.isolation import Isolation
from mlhub.runtime.sandbox.supervision import SupervisedOutcome
from mlhub.runtime.sandbox.verdicts import Ended, SandboxLimits, ended
from mlhub.runtime.spare_sandbox import ReportedProcess, SpareSandbox, started

PROJECT = Path(__file__).resolve().parents[3]
PACKAGE = PROJECT / "mlhub"
INIT = Path(__file__).with_name("init.py")
MAX_OUTPUT_BYTES = 16 * 2**20
SLACK_S = 20.0  # for init to do what it is there for, before it is ended itself


def run_isolated(
    argv: Sequence[str],
    *,
    folder: Path,
    limits: SandboxLimits,
    readable: Sequence[Path] = (),
    within: Isolation,
    spare: SpareSandbox | None = None,
) -> Ended:
    """Runs `python argv...` in a sandbox, whose files lie in a folder below `folder` that is gone afterwards.

    readable: files that it may read under their own paths. within: what isolates it. spare: whose process, if it is
    ready, runs the program instead of a new one.
    Raises OSError when the sandbox cannot be set up.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as name:
        run_folder = Path(name)
        confinement = confinement_of(argv, run_folder, limits, readable, within)
        with cgroups.group(
            memory_bytes=limits.memory_bytes + limits.scratch_bytes,
            n_processes=limits.n_processes,
            n_cpus=limits.n_cpus,
        ) as group:
            report, output, errors = _run(confinement, group, spare, timeout_s=limits.timeout_s)
            events = cgroups.Events() if group is None else group.events()
    return ended(
        outcome_of(report, errors.text()),
        events,
        output=output.text(),
        errors=errors.text(),
        is_cut=output.is_cut or errors.is_cut,
        limits=limits,
    )


def python_folders() -> tuple[str, ...]:
    """What any Python program of the platform reads: interpreter, packages, the project's own code."""
    prefixes = {sys.prefix, sys.base_prefix, os.path.realpath(sys.base_prefix), str(PACKAGE)}
    return tuple(sorted(prefixes - {"/usr", "/usr/local"}))


def import_folder(within: Path) -> Path:
    """A folder with nothing in it but the platform's package, for programs that Landlock alone confines.

    Python lists a folder before it imports from it, and a right to list holds for all that is below: the folder that
    the package lies in is not opened, since the platform's files may be there.
    """
    folder = within / "importable"
    folder.mkdir(mode=0o755, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (folder / PACKAGE.name).symlink_to(PACKAGE)
    return folder


def confinement_of(
    argv: Sequence[str], run_folder: Path, limits: SandboxLimits, readable: Sequence[Path], chosen: Isolation
) -> Confinement:
    inside = run_folder / "inside"
    inside.mkdir(mode=0o700)
    uid = chosen.uid()
    if uid is not None and not chosen.has_namespaces:
        run_folder.chmod(0o711)
        uid = uid if all(map(_is_open, (inside.parent, *readable))) else None
    given = [(folder, folder) for folder in python_folders()]
    given += [(_for_other_user(path, run_folder) if uid else str(path), str(path)) for path in readable]
    variables = environment(SCRATCH_FOLDER if chosen.has_namespaces else str(inside))
    if not chosen.has_namespaces:
        variables["PYTHONPATH"] = str(import_folder(run_folder))
        given.append((variables["PYTHONPATH"], variables["PYTHONPATH"]))
    return Confinement(
        argv=(sys.executable, *argv),
        environment=variables,
        folder=str(inside),
        readable=tuple(given),
        uid=uid,
        has_namespaces=chosen.has_namespaces,
        has_landlock=chosen.has_landlock,
        filter_hex=_filter(chosen).hex() if chosen.has_filter else "",
        timeout_s=limits.timeout_s,
        memory_bytes=limits.memory_bytes,
        scratch_bytes=limits.scratch_bytes,
        n_processes=limits.n_processes,
    )


def _filter(chosen: Isolation) -> bytes:
    return syscall_filter.compiled(has_namespaces=chosen.has_namespaces, confines_signals=chosen.confines_signals)


def environment(scratch: str) -> dict[str, str]:
    """All that a program sees: nothing of the platform's own variables, so no database and no secrets."""
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(PROJECT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": scratch,
        "TMPDIR": scratch,
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
    }


def _for_other_user(path: Path, run_folder: Path) -> str:
    """The file that a run of another user reads in place of this one: a copy when only its owner may read it."""
    if path.stat().st_mode & stat.S_IROTH:
        return str(path)
    copies = run_folder / "copies"
    copies.mkdir(exist_ok=True)
    copy = copies / f"{len(list(copies.iterdir()))}-{path.name}"
    shutil.copyfile(path, copy)
    copy.chmod(0o444)
    return str(copy)


def _is_open(path: Path) -> bool:
    """Whether every user may come to this path, and read it when it is a file."""
    real = path.resolve()
    needed = stat.S_IXOTH if real.is_dir() else stat.S_IROTH
    return bool(real.stat().st_mode & needed) and all(parent.stat().st_mode & stat.S_IXOTH for parent in real.parents)


def _run(
    confinement: Confinement, group: cgroups.ControlGroup | None, spare: SpareSandbox | None, *, timeout_s: float
) -> tuple[bytes, CollectedOutput, CollectedOutput]:
    process, report = (spare and spare.take()) or started_sandbox()
    with report:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        output, errors = CollectedOutput(process.stdout), CollectedOutput(process.stderr, keeps_end=True)
        try:
            if group is not None:
                group.add(process.pid)
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(confinement.to_json().encode())
                process.stdin.close()
            if select.select([report], [], [], timeout_s + SLACK_S)[0]:  # it ends once it has reported
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(SLACK_S)
        finally:
            process.kill()
            process.wait()
        for stream in (output, errors):
            stream.join()
        return report.read(), output, errors


def started_sandbox() -> ReportedProcess:
    """The first process of a new sandbox, which reads its confinement from standard input."""
    return started([sys.executable, "-I", "-S", str(INIT)], {"LANG": "C.UTF-8"})


def outcome_of(report: bytes, errors: str) -> SupervisedOutcome:
    """Raises OSError when init reports that it could not set the sandbox up, or nothing at all."""
    reports = [json.loads(line) for line in report.splitlines()]
    problem = next((r["error"] for r in reports if "error" in r), None)
    if problem is not None:
        raise OSError(problem)
    if not reports:
        last = errors.strip().rpartition("\n")[2]
        raise OSError(f"The sandbox ended without a report: {last or 'its first process was killed'}")
    return SupervisedOutcome(**reports[0]["outcome"])


class CollectedOutput:
    """Reads a stream to its end in a thread of its own and keeps MAX_OUTPUT_BYTES of it: the first, or the last."""

    def __init__(self, stream: IO[bytes], *, keeps_end: bool = False) -> None:
        self.is_cut = False
        self._stream, self._keeps_end = stream, keeps_end
        self._kept = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join(SLACK_S)

    def text(self) -> str:
        return bytes(self._kept).decode(errors="replace")

    def _read(self) -> None:
        with self._stream:
            while chunk := os.read(self._stream.fileno(), 2**16):
                self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        self._kept += chunk
        too_much = len(self._kept) - MAX_OUTPUT_BYTES
        if too_much > 0:
            self.is_cut = True
            if self._keeps_end:
                del self._kept[:too_much]
            else:
                del self._kept[MAX_OUTPUT_BYTES:]
