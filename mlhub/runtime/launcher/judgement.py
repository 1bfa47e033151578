# SPDX-License-Identifier: Apache-2.0
"""Why a trainer ended, judged by its exit status and by what the kernel counted, and which lines of a pod's reports
MLHub's own reporter cannot have written: proof that the job's code wrote there. Standard library only.

The reporter writes a report as one line, in one call. What a full disk or a loss of power leaves of it begins as a
report does, or has characters in it that no report has; that proves nothing.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlhub.wire.exits import Cause, ExitCode, cause_of_signal
from mlhub.wire.report import from_dict

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
LEFT_EARLY = (
    "The process ended with exit status 0 before its work was done. The code, or a library that it uses, ended it, "
    "as os._exit() does."
)
BEGIN = '{"type": '
LOST = "�"  # of bytes that are no text, such as the NULs of a page that was never written
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


def is_forged(line: str) -> bool:
    """line: one that is no JSON, as it was decoded, without its end."""
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        return not _may_be_torn(line, error)
    except (ValueError, RecursionError):  # numbers of thousands of digits, and nesting without end
        return True
    return False


def n_before_forged(reports: Sequence[Any]) -> int | None:
    """Of parsed lines that the platform refused: how many there are before the first one that is no report by its type
    and fields; None when all are, so that what it refused may be the reporter's."""
    for place, report in enumerate(reports):
        try:
            from_dict(report if isinstance(report, dict) else {})
        except ValueError:
            return place
    return None


def _may_be_torn(line: str, error: json.JSONDecodeError) -> bool:
    """Whether it may be the beginning of a report, maybe with another report after it."""
    if LOST in line or BEGIN.startswith(line):
        return True
    is_cut = error.pos >= len(line) - 1 or error.msg.startswith("Unterminated string")
    return line.startswith(BEGIN) and (is_cut or BEGIN in line[1:])
