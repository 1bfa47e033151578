# SPDX-License-Identifier: Apache-2.0
"""Starts the installer in the sandbox: it sees the interpreter, its own folders and the package sources, and reaches
the hosts of the package index alone. The strongest isolation that this machine has is taken, as for uploads."""

from __future__ import annotations

import contextlib
import netrc
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from mlhub.environments.enclosed.sources import PackageSources, configuration_files, egress_of, is_open
from mlhub.runtime.sandbox import cgroups, syscall_filter
from mlhub.runtime.sandbox.capabilities import isolation
from mlhub.runtime.sandbox.confinement import SCRATCH_FOLDER, Confinement
from mlhub.runtime.sandbox.egress.proxy import ADDRESS, PORT
from mlhub.runtime.sandbox.egress.rules import EgressRules
from mlhub.runtime.sandbox.isolation import uid_of
from mlhub.runtime.sandbox.pods import OF_NETWORK, give
from mlhub.runtime.sandbox.runner import INIT, outcome_of, python_folders
from mlhub.runtime.sandbox.verdicts import Ended, SandboxLimits, ended
from mlhub.wire.priority import apply_to_session

# where uv's log names the source that is built, and has what its code prints, also of a build that does not end
VERBOSE = {"RUST_LOG": "uv_distribution::source=debug,uv_build_frontend=debug"}
BUILDER = "environments"  # whose user id all builds have where each user of the sandbox has one: they share a cache
N_PROCESSES, N_OPEN_FILES = 256 + 8 * (os.cpu_count() or 1), 4096  # the installer has threads for each processor
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
FILES = ("UV_CONSTRAINT", "UV_OVERRIDE", "UV_EXCLUDE")  # whose values are files
LEFT_OUT = ("UV_PUBLISH_", "UV_CACHE_DIR", "UV_CONFIG_FILE", "UV_NO_BUILD", "UV_PROJECT")
SYSTEM_CONFIGURATION = Path("/etc/uv/uv.toml")


@dataclass(frozen=True)
class EnclosedFolders:
    """given: files that the installer reads, made for this build. target, cache: what it writes. scratch: is empty."""

    given: Path
    target: Path
    cache: Path
    scratch: Path


@dataclass
class EnclosedProcess:
    """The sandbox's outermost process: ended, it takes all others with it."""

    process: subprocess.Popen[bytes]
    report: FileIO
    limits: SandboxLimits
    group: cgroups.ControlGroup | None

    def ended(self, printed: str) -> Ended:
        """How it ended by itself. Raises OSError when the sandbox could not be set up."""
        events = cgroups.Events() if self.group is None else self.group.events()
        outcome = outcome_of(self.report.read(), printed)
        return ended(outcome, events, output="", errors=printed, is_cut=False, limits=self.limits)


def why_no_code(sources: PackageSources, variables: Mapping[str, str]) -> str:
    """Why code of packages may not run while they are built; "" where it may: the whole sandbox is there, and nothing
    in it is a secret of the platform."""
    chosen = isolation()
    has_user = chosen.has_own_user or os.geteuid() != 0
    if not (chosen.has_namespaces and chosen.has_landlock and chosen.has_filter and has_user):
        return "Packages are not built from source on this machine, which has not all parts of the sandbox."
    if not all(map(is_open, sources.paths)):
        return "Packages are not built from source, since only the platform's own user may read MLHUB_WHEELHOUSE."
    egress = egress_of(sources, variables, ())
    has_password = any(urlsplit(url).username for url in sources.urls) or any(
        name.startswith("UV_") and name.endswith(("_PASSWORD", "_USERNAME", "_TOKEN")) and not name.startswith(LEFT_OUT)
        for name in variables
    )
    if has_password or any(_credentials(variables, egress)):
        return "Packages are not built from source, since their code could read the credentials of the package index."
    return ""


@contextlib.contextmanager
def enclosed(
    argv: Sequence[str],
    folders: EnclosedFolders,
    *,
    variables: Mapping[str, str],
    sources: PackageSources,
    egress: EgressRules,
    certificates: str,
    limits: SandboxLimits,
    max_file_bytes: int,
    runs_code: bool,
    log: BinaryIO,
) -> Iterator[EnclosedProcess]:
    """Starts the program in the sandbox; it is ended with all that it started when the context is left.

    variables: of the platform, of which it gets what is the installer's. runs_code: of packages, as a user that no
    other build is. certificates: of the authorities that it trusts, in PEM; "" = as it is configured on this machine.
    Raises OSError.
    """
    if certificates:
        trusted = folders.given / "authorities.pem"
        trusted.write_text(certificates)
        variables = {**variables, "SSL_CERT_FILE": str(trusted)}
    chosen = isolation()
    has_own_user = chosen.has_own_user and chosen.has_namespaces and all(map(is_open, sources.paths))
    uid = (chosen.uid() if runs_code else uid_of(BUILDER)) if has_own_user else None
    confinement = _confinement(argv, folders, variables, sources, egress, limits, uid)
    confinement = replace(confinement, max_file_bytes=max_file_bytes)
    if runs_code:
        confinement = replace(confinement, environment={**confinement.environment, **VERBOSE})
    report_from, report_to = os.pipe()
    with contextlib.ExitStack() as held:
        report = held.enter_context(FileIO(report_from, "rb"))
        group = held.enter_context(
            cgroups.group(
                memory_bytes=limits.memory_bytes + limits.scratch_bytes,
                n_processes=limits.n_processes,
                n_cpus=limits.n_cpus,
            )
        )
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(INIT), str(report_to)],
                cwd="/",
                env={"LANG": "C.UTF-8"},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(report_to,),
                start_new_session=True,
            )
        finally:
            os.close(report_to)
        held.callback(_end, process)
        apply_to_session(process.pid)
        if group is not None:
            group.add(process.pid)
        assert process.stdin is not None
        with process.stdin, contextlib.suppress(BrokenPipeError):
            process.stdin.write(confinement.to_json().encode())
        yield EnclosedProcess(process, report, limits, group)


def _confinement(
    argv: Sequence[str],
    folders: EnclosedFolders,
    variables: Mapping[str, str],
    sources: PackageSources,
    egress: EgressRules,
    limits: SandboxLimits,
    uid: int | None,
) -> Confinement:
    chosen = isolation()
    scratch = SCRATCH_FOLDER if chosen.has_namespaces else str(folders.scratch)
    seen = _environment(variables, folders, scratch, hosts=egress, is_proxied=chosen.has_namespaces)
    files = [seen[name] for name in (*CERTIFICATES, *FILES) if name in seen]
    if uid is not None:
        for folder in (folders.given, folders.target, folders.cache):
            give(folder, uid)
    network = () if chosen.has_namespaces else ("/etc/hosts",)
    readable = [*python_folders(), *OF_NETWORK, *network, *files, *map(str, sources.paths), str(folders.given)]
    allows_sockets = bool(egress.destinations)
    filtered = syscall_filter.compiled(has_namespaces=chosen.has_namespaces or allows_sockets)
    return Confinement(
        argv=tuple(argv),
        environment=seen,
        folder=str(folders.scratch),
        readable=tuple((path, path) for path in dict.fromkeys(readable) if os.path.exists(path)),
        writable=tuple((str(path), str(path)) for path in (folders.target, folders.cache)),
        uid=uid,
        has_namespaces=chosen.has_namespaces,
        has_landlock=chosen.has_landlock,
        egress=egress if egress.destinations else None,
        filter_hex=filtered.hex() if chosen.has_filter else "",
        timeout_s=limits.timeout_s,
        memory_bytes=limits.memory_bytes,
        scratch_bytes=limits.scratch_bytes,
        n_processes=limits.n_processes,
        n_open_files=N_OPEN_FILES,
    )


def _environment(
    variables: Mapping[str, str], folders: EnclosedFolders, scratch: str, *, hosts: EgressRules, is_proxied: bool
) -> dict[str, str]:
    """What uv sees: its own configuration, certificates and proxies of this machine, nothing else of the platform."""
    passed = {
        name: value
        for name, value in variables.items()
        if name in CERTIFICATES or (name.startswith("UV_") and not name.startswith(LEFT_OUT))
    }
    if "PIP_INDEX_URL" in variables:
        passed.setdefault("UV_DEFAULT_INDEX", variables["PIP_INDEX_URL"])
    if is_proxied and hosts.destinations:
        own = f"http://{ADDRESS}:{PORT}"
        passed |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), own)
    elif not is_proxied:
        passed |= {name: value for name, value in variables.items() if name.upper() in PROXIES}
    return {
        **passed,
        **_given_files(variables, folders.given, hosts),
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": scratch,
        "TMPDIR": scratch,
        "LANG": "C.UTF-8",
        "UV_CACHE_DIR": str(folders.cache),
    }


def _given_files(variables: Mapping[str, str], given: Path, hosts: EgressRules) -> dict[str, str]:
    """Copies uv's own files, and of the machine's credentials those for the package index; returns the variables that
    say where they are."""
    found = {"XDG_CONFIG_HOME": str(given / "user"), "XDG_CONFIG_DIRS": str(given / "system")}
    for path in configuration_files(variables):
        if "UV_CONFIG_FILE" in variables:
            copy = given / "uv.toml"
            found["UV_CONFIG_FILE"] = str(copy)
        else:
            copy = given / ("system" if path == SYSTEM_CONFIGURATION else "user") / "uv" / "uv.toml"
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    lines = list(_credentials(variables, hosts))
    if lines:
        (given / "netrc").touch(mode=0o600)
        (given / "netrc").write_text("".join(lines))
        found["NETRC"] = str(given / "netrc")
    return found


def _credentials(variables: Mapping[str, str], hosts: EgressRules) -> Iterator[str]:
    """The lines of the machine's netrc about hosts of the package index. One that cannot be read has none."""
    path = variables.get("NETRC") or f"{variables.get('HOME', '')}/.netrc"
    try:
        machines = netrc.netrc(path)
    except (OSError, netrc.NetrcParseError):
        return
    for host in dict.fromkeys(each.host for each in hosts.destinations):
        entry = machines.hosts.get(host)
        if entry is not None:
            yield f"machine {host} login {entry[0]} password {entry[2]}\n"


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()
