# SPDX-License-Identifier: Apache-2.0
"""How a sandboxed program ended, and the proof of it: no limit is named that no counter or message shows."""

from __future__ import annotations

import errno
import os
import re
import signal
from dataclasses import dataclass
from enum import StrEnum

from mlhub.runtime.sandbox.cgroups import Events
from mlhub.runtime.sandbox.supervision import SupervisedOutcome

SCRATCH_IS_FULL_BELOW_BYTES = 2**20
# the last line of Python's, NumPy's and PyTorch's own errors, and of C++ programs
OUT_OF_MEMORY = re.compile(
    r"[\w.]*MemoryError\b|RuntimeError: .*DefaultCPUAllocator|OSError: \[Errno 12\]|.*std::bad_alloc"
)
NO_SPACE_WORDS = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))
NO_PROCESS_WORDS = os.strerror(errno.EAGAIN)
NO_THREAD_WORDS = "can't start new thread"


class End(StrEnum):
    EXITED = "exited"
    SIGNAL = "signal"
    TIME = "time"
    PROCESSOR_TIME = "processor_time"
    MEMORY = "memory"
    PROCESSES = "processes"
    DISK = "disk"
    SYSTEM_CALL = "system_call"


@dataclass(frozen=True)
class Ended:
    """exit_code: negative for a signal. end: which limit ended it, as far as that is proven. proof: in words.

    output, errors: what it printed, up to a limit; is_cut when it printed more.
    """

    exit_code: int
    output: str
    errors: str
    end: End
    proof: str = ""
    is_cut: bool = False


def ended(
    outcome: SupervisedOutcome, events: Events, *, output: str, errors: str, is_cut: bool, limits: SandboxLimits
) -> Ended:
    exit_code = -signal.SIGKILL if outcome.status is None else os.waitstatus_to_exitcode(outcome.status)
    end, proof = _end(exit_code, outcome, events, errors, limits)
    return Ended(exit_code, output, errors, end, proof, is_cut)


@dataclass(frozen=True)
class SandboxLimits:
    """What one run may use, all its processes together; n_cpus only where control groups can be had."""

    timeout_s: float
    memory_bytes: int
    scratch_bytes: int = 2**32
    n_processes: int = 256
    n_cpus: float = 2.0


def _end(
    exit_code: int, outcome: SupervisedOutcome, events: Events, errors: str, limits: SandboxLimits
) -> tuple[End, str]:
    if outcome.why == "time":
        return End.TIME, f"It was ended after {limits.timeout_s:,.1f} seconds."
    if outcome.why == "memory":
        return End.MEMORY, f"Its processes used {_mib(outcome.used_bytes)} of {_mib(limits.memory_bytes)}."
    if outcome.why == "processes":
        return End.PROCESSES, f"It had {outcome.n_processes} processes and threads of {limits.n_processes}."
    if outcome.why == "disk":
        return End.DISK, f"It used more than the {_mib(limits.scratch_bytes)} of its scratch space."
    if events.n_killed_by_memory:
        return End.MEMORY, f"The kernel ended {events.n_killed_by_memory} of its processes for want of memory."
    if exit_code == 0:
        return End.EXITED, ""
    if exit_code == -signal.SIGSYS:
        return End.SYSTEM_CALL, "It ended by SIGSYS, which the filter of system calls sends."
    if exit_code == -signal.SIGXCPU:
        return End.PROCESSOR_TIME, "It ended by SIGXCPU: its processor time was used up."
    last = _last_line(errors)
    is_full = outcome.scratch_free_bytes is not None and outcome.scratch_free_bytes < SCRATCH_IS_FULL_BELOW_BYTES
    if is_full and any(words in last for words in NO_SPACE_WORDS):
        return End.DISK, f"It used up all {_mib(limits.scratch_bytes)} of its scratch space: {last[:300]}"
    is_crowded = events.n_forks_refused > 0 or outcome.n_processes >= limits.n_processes
    if NO_THREAD_WORDS in last or (is_crowded and NO_PROCESS_WORDS in last):
        return (
            End.PROCESSES,
            f"It may have {limits.n_processes} processes and threads; its last words were: {last[:300]}",
        )
    if OUT_OF_MEMORY.match(last):
        return End.MEMORY, f"Its last words were: {last[:300]}"
    return (End.SIGNAL if exit_code < 0 else End.EXITED), ""


def _last_line(errors: str) -> str:
    return next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), "")


def _mib(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:,.0f} MiB"
