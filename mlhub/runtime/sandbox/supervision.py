# SPDX-License-Identifier: Apache-2.0
"""The first process of a sandbox: waits for the program, ends what exceeds its limits, and reports how it went."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import asdict, dataclass
from typing import Any

from mlhub.runtime.sandbox.confinement import Confinement

TICK_S = 0.05
LOOK_EVERY_S = 0.1
SLACK_PROCESSES = 4  # above the limit, so that a control group, which counts what it refuses, refuses first


@dataclass
class SupervisedOutcome:
    """status: of wait(2), None when the program was not waited for. why: the limit that ended it, "" = none.

    used_bytes, n_processes: the most that was seen. scratch_free_bytes: what was left at the end, None = unknown.
    """

    status: int | None = None
    why: str = ""
    used_bytes: int = 0
    n_processes: int = 0
    scratch_free_bytes: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def supervise(program: int, confinement: Confinement, *, is_namespace: bool, scratch: str) -> SupervisedOutcome:
    """Returns when the program has ended or was ended, and nothing that it started is left.

    is_namespace: this process is the first of a PID namespace, so that everything in sight belongs to the program, and
    scratch is a file system of its own; else this process is a subreaper, and its descendants do. SIGCHLD is blocked.
    """
    outcome = SupervisedOutcome()
    if confinement.is_pod:
        _wait(program, outcome)
        _end_all(program, outcome, is_namespace=is_namespace)
        return outcome
    deadline = None if confinement.timeout_s is None else time.monotonic() + confinement.timeout_s
    next_look = 0.0
    while not _reap(program, outcome):
        now = time.monotonic()
        if deadline is not None and now >= deadline:
            outcome.why = "time"
            break
        if now >= next_look:
            _look(outcome, is_namespace=is_namespace)
            outcome.scratch_free_bytes = _free_bytes(scratch, confinement.scratch_bytes, is_namespace=is_namespace)
            outcome.why = _excess(outcome, confinement)
            if outcome.why:
                break
            next_look = time.monotonic() + LOOK_EVERY_S
        signal.sigtimedwait({signal.SIGCHLD}, TICK_S)
    _look(outcome, is_namespace=is_namespace)  # what it started may be there yet
    outcome.scratch_free_bytes = _free_bytes(scratch, confinement.scratch_bytes, is_namespace=is_namespace)
    _end_all(program, outcome, is_namespace=is_namespace)
    return outcome


def _wait(program: int, outcome: SupervisedOutcome) -> None:
    """Until the program has ended; collects what else ends meanwhile."""
    while outcome.status is None:
        pid, status = os.wait()
        if pid == program:
            outcome.status = status


def _excess(outcome: SupervisedOutcome, confinement: Confinement) -> str:
    """The limit that is exceeded, where nothing in the kernel keeps it for all processes together; "" = none."""
    if confinement.memory_bytes is not None and outcome.used_bytes > confinement.memory_bytes:
        return "memory"
    if outcome.n_processes > confinement.n_processes:
        return "processes"
    return "disk" if outcome.scratch_free_bytes is not None and outcome.scratch_free_bytes < 0 else ""


def _free_bytes(scratch: str, most_bytes: int | None, *, is_namespace: bool) -> int | None:
    if not is_namespace:
        return None if most_bytes is None else most_bytes - _size_of(scratch)
    try:
        found = os.statvfs(scratch)
    except OSError:
        return None
    return min(found.f_bavail, found.f_favail) * found.f_frsize


def _size_of(folder: str) -> int:
    """Bytes on disk of all files below a folder, without following links."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_blocks * 512
    return total


def _reap(program: int, outcome: SupervisedOutcome) -> bool:
    """Collects what has ended; True once the program itself is among it."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid == 0:
            return False
        if pid == program:
            outcome.status = status
            return True


def _look(outcome: SupervisedOutcome, *, is_namespace: bool) -> None:
    used = threads = 0
    for pid in processes(is_namespace=is_namespace):
        memory, count = usage(pid)
        used, threads = used + memory, threads + count
    outcome.used_bytes = max(outcome.used_bytes, used)
    outcome.n_processes = max(outcome.n_processes, threads)


def processes(*, is_namespace: bool) -> list[int]:
    """Everything but this process itself."""
    try:
        found = {int(name) for name in os.listdir("/proc") if name.isdigit()} - {os.getpid()}
    except OSError:  # no /proc: limits of single processes still hold
        return []
    return sorted(found) if is_namespace else _descendants(found)


def _descendants(of: set[int]) -> list[int]:
    parents = {}
    for pid in of:
        with contextlib.suppress(OSError, ValueError, IndexError):
            parents[pid] = int(_read(f"/proc/{pid}/stat").rpartition(")")[2].split()[1])
    found: set[int] = set()
    front = {os.getpid()}
    while front:
        front = {pid for pid, parent in parents.items() if parent in front} - found
        found |= front
    return sorted(found)


def usage(pid: int) -> tuple[int, int]:
    """Bytes of memory that are no file's, and threads; zeros when the process is gone."""
    memory = threads = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in _read(f"/proc/{pid}/status").splitlines():
            if line.startswith(("RssAnon:", "RssShmem:")):
                memory += int(line.split()[1]) * 1024
            elif line.startswith("Threads:"):
                threads = int(line.split()[1])
    return memory, threads


def threads_of(uid: int) -> int:
    """Threads of all processes of a user that can be seen, as the kernel counts them against RLIMIT_NPROC."""
    total = 0
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == uid:
                total += usage(int(name))[1]
    return total


def _end_all(program: int, outcome: SupervisedOutcome, *, is_namespace: bool) -> None:
    """In a namespace the kernel ends the rest as this process leaves; elsewhere descendants are ended until none is."""
    if is_namespace:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    while left := processes(is_namespace=False):
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                if ended[0] == program:
                    outcome.status = ended[1]
        signal.sigtimedwait({signal.SIGCHLD}, TICK_S)


def _read(path: str) -> str:
    with open(path, errors="replace") as file:
        return file.read()
