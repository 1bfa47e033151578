"""The first process of a sandbox: waits for the program, ends what exceeds its limits, and says how it went."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import asdict, dataclass
from typing import Any

TICK_S = 0.02
LOOK_EVERY_S = 0.1


@dataclass
class Outcome:
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


def supervise(
    program: int, *, timeout_s: float | None, memory_bytes: int | None, is_namespace: bool, scratch: str
) -> Outcome:
    """Returns when the program has ended or was ended, and nothing that it started is left.

    is_namespace: this process is the first of a PID namespace, so that everything in sight belongs to the program;
    else it is a subreaper, and its descendants do.
    """
    outcome = Outcome()
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    next_look = 0.0
    while not _reap(program, outcome):
        now = time.monotonic()
        if deadline is not None and now >= deadline:
            outcome.why = "time"
            break
        if now >= next_look:
            _look(outcome, is_namespace=is_namespace)
            next_look = now + LOOK_EVERY_S
            if memory_bytes is not None and outcome.used_bytes > memory_bytes:
                outcome.why = "memory"
                break
        time.sleep(TICK_S)
    with contextlib.suppress(OSError):
        found = os.statvfs(scratch)
        outcome.scratch_free_bytes = min(found.f_bavail * found.f_frsize, found.f_favail * found.f_frsize)
    _end_all(program, outcome, is_namespace=is_namespace)
    return outcome


def _reap(program: int, outcome: Outcome) -> bool:
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


def _look(outcome: Outcome, *, is_namespace: bool) -> None:
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


def _end_all(program: int, outcome: Outcome, *, is_namespace: bool) -> None:
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
        time.sleep(TICK_S)


def _read(path: str) -> str:
    with open(path, errors="replace") as file:
        return file.read()
