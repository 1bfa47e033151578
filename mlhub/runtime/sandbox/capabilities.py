# SPDX-License-Identifier: Apache-2.0
"""Which protections this machine has for code of strangers, found by trying: for the log, the cluster page, operators.

`python -m mlhub.runtime.sandbox.capabilities` prints it.
"""

from __future__ import annotations

import functools
import logging
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlhub.runtime.sandbox import cgroups, landlock
from mlhub.runtime.sandbox.isolation import SCOPES_SIGNALS_FROM, Isolation, candidates
from mlhub.runtime.sandbox.runner import run_isolated
from mlhub.runtime.sandbox.verdicts import SandboxLimits

LIMITS = SandboxLimits(timeout_s=30.0, memory_bytes=2**30, scratch_bytes=2**24, n_processes=32)
# what a machine without a protection allows uploaded code to do, by the protection's name
CONSEQUENCES: Mapping[str, str] = {
    "namespaces": "Uploaded code sees the machine's host name, and its mounts and processes unless another protection "
    "hides them.",
    "user": "All uploads run with one user id, so that only the other protections keep them apart.",
    "landlock": "Files are hidden by namespaces alone.",
    "seccomp": "Uploaded code may make every system call, and reach what only a filter keeps it from.",
    "files": "Uploaded code may read files of the platform and of other organisations.",
    "processes": "Uploaded code may signal and inspect processes of the platform and of other organisations.",
    "cgroup_memory": "Memory is limited for each process, and not for all processes of an upload together.",
    "cgroup_pids": "Processes are limited for each user id, and not for each upload.",
    "cgroup_cpu": "An upload may use all processors of the machine while it is validated.",
}

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Protection:
    """is_separating: without it, code of one organisation may reach another's or the platform's files and processes.

    detail: what is there, or why it is missing and how to get it.
    """

    name: str
    is_present: bool
    is_separating: bool
    detail: str


@dataclass(frozen=True)
class Capabilities:
    protections: tuple[Protection, ...]

    @property
    def separates_tenants(self) -> bool:
        return not self.missing_to_separate

    @property
    def missing_to_separate(self) -> tuple[str, ...]:
        return tuple(p.detail for p in self.protections if p.is_separating and not p.is_present)

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(p.detail for p in self.protections if not p.is_present)


@functools.cache
def capabilities() -> Capabilities:
    """Found out once a process, by running a program that does nothing. Raises OSError when no sandbox works at all."""
    report = report_of(isolation(), cgroups.available_controllers(), landlock_version=landlock.version())
    for sentence in report.missing:
        logger.warning("sandbox.protection_missing %s", sentence)
    return report


@functools.cache
def isolation() -> Isolation:
    """The strongest isolation that works on this machine; tried once a process. Raises OSError when none works."""
    problems = []
    for candidate in candidates():
        problem = failure_of(candidate)
        if problem is None:
            return candidate
        problems.append(f"{candidate}: {problem}")
        logger.warning("sandbox.isolation_unavailable %s", problems[-1])
    raise OSError("No sandbox works on this machine: " + "; ".join(problems))


def failure_of(candidate: Isolation) -> str | None:
    """Why this isolation does not work here; None when it does."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            ended = run_isolated(["-I", "-c", "print('works')"], folder=Path(folder), limits=LIMITS, within=candidate)
        except OSError as error:
            return str(error)
    if ended.output.strip() != "works":
        return (ended.errors.strip() or f"exit status {ended.exit_code}")[-500:]
    return None


def report_of(found: Isolation, controllers: Sequence[str], *, landlock_version: int) -> Capabilities:
    abi = landlock_version if found.has_landlock else 0
    hides_processes = found.has_namespaces or found.has_own_user or abi >= SCOPES_SIGNALS_FROM or found.has_filter
    return Capabilities(
        (
            _protection(
                "namespaces", found.has_namespaces,
                "Own namespaces of mounts, processes, network, IPC and host name.",
                "No namespaces: allow user namespaces (sysctl user.max_user_namespaces) or give MLHub CAP_SYS_ADMIN.",
            ),
            _protection(
                "user", found.has_own_user,
                "Every run has a user id of its own.",
                "Runs have MLHub's own user id: only root can give each another one.",
            ),
            _protection(
                "landlock", abi > 0,
                f"Landlock, version {abi}.",
                "No Landlock: it needs Linux 5.13 or later, with landlock in the list of security modules (lsm=).",
            ),
            _protection(
                "seccomp", found.has_filter,
                "A filter of system calls.",
                "No filter of system calls: install libseccomp2 and the Python package pyseccomp.",
                is_separating=True,
            ),
            _protection(
                "files", found.has_namespaces or abi > 0,
                "Files of the platform and of other runs are hidden.",
                "Files of the platform cannot be hidden: neither namespaces nor Landlock are there.",
                is_separating=True,
            ),
            _protection(
                "processes", hides_processes,
                "Processes of the platform and of other runs are out of reach.",
                "Processes of the platform are in reach: no namespaces, no own user id, no filter of system calls.",
                is_separating=True,
            ),
            _protection(
                "cgroup_memory", "memory" in controllers,
                "A control group limits memory of each run.",
                "No control group limits memory: delegate one to MLHub and name it in MLHUB_CGROUP.",
            ),
            _protection(
                "cgroup_pids", "pids" in controllers,
                "A control group limits processes of each run.",
                "No control group limits processes: delegate one to MLHub and name it in MLHUB_CGROUP.",
            ),
            _protection(
                "cgroup_cpu", "cpu" in controllers,
                "A control group limits processors of each run.",
                "No control group limits processors: delegate one to MLHub and name it in MLHUB_CGROUP.",
            ),
        )
    )  # fmt: skip


def _protection(name: str, is_present: bool, there: str, missing: str, *, is_separating: bool = False) -> Protection:
    return Protection(name, is_present, is_separating, there if is_present else missing)


if __name__ == "__main__":
    for each in capabilities().protections:
        print(f"{each.name:<14} {'yes' if each.is_present else 'NO ':<4} {each.detail}")
