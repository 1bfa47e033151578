# SPDX-License-Identifier: Apache-2.0
"""Why a trainer ended, judged by its exit status and by what the kernel counted. Standard library only."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path

from mlhub.wire.exits import Cause, ExitCode, cause_of_signal

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
LEFT_EARLY = (
    "The process ended with exit status 0 before its work was done. The code, or a library that it uses, ended it, "
    "as os._exit() does."
)
CGROUP_ROOT = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class TrainerEnd:
    """exit_code: the pod's. cause: to be reported by the launcher; None when the trainer could report it itself."""

    exit_code: int
    cause: Cause | None = None
    message: str = ""


def judge_end(status: int, *, is_asked_to_stop: bool, was_oom_killed: bool, is_complete: bool = True) -> TrainerEnd:
    """status: of the trainer, negative for the signal that ended it. was_oom_killed: the kernel's killer was at work.
    is_complete: the trainer has left word that its work is done.

    SIGKILL alone proves nothing: a person or the node may have sent it, and another attempt may well succeed. Exit
    status 0 alone proves nothing either: code of users may end the process, and there is no model then.
    """
    if status == ExitCode.DONE and not is_complete:
        return TrainerEnd(ExitCode.USER_CODE, Cause.USER_CODE, LEFT_EARLY)
    if status >= 0:
        return TrainerEnd(status)
    if -status in STOP_SIGNALS and is_asked_to_stop:
        return TrainerEnd(ExitCode.PREEMPTED)  # it had not begun yet, and has nothing to save
    name = signal.Signals(-status).name
    if -status == signal.SIGKILL and was_oom_killed:
        return TrainerEnd(
            ExitCode.OUT_OF_MEMORY, Cause.OUT_OF_MEMORY, "The kernel ended the trainer because its memory was used up."
        )
    return TrainerEnd(128 - status, cause_of_signal(-status), f"The trainer was ended by {name}.")


class OomKillCounter:
    """Counts processes of this control group (version 2) that the kernel ended for want of memory.

    A group may be shared with other pods, as on the local backend; so only a kill since the last but one call of
    sample() counts for a trainer that died just now.
    """

    def __init__(self, events: Path | None = None) -> None:
        """events: the group's memory.events file; this process's own unless given. A missing file counts nothing."""
        self._events = events or _memory_events_file()
        self._before = self._last = self._count()

    def sample(self) -> None:
        """Called every few seconds while the trainer runs."""
        self._before, self._last = self._last, self._count()

    def has_grown(self) -> bool:
        return self._count() > self._before

    def _count(self) -> int:
        try:
            lines = self._events.read_text().splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def _memory_events_file() -> Path:
    """In a container the group of process 1 is the root of what can be seen."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    own = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), "/")
    return CGROUP_ROOT / own.lstrip("/") / "memory.events"
