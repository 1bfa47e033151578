# SPDX-License-Identifier: Apache-2.0
"""What is reported for a script that does not do it itself: its progress, by the epochs that it prints, and result."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from mlhub.runtime.reporting import script_progress
from mlhub.runtime.scripts.lines.epochs import REPORTS_PROGRESS, EpochProgress, announced_epochs
from mlhub.wire.launch import PodSpec
from mlhub.wire.report import MAX_VALUES, ProgressReport, ResultReport

LEAST_S = 5.0  # between two reports: the log is looked at once a second, which would be much of a shorter time


class EpochReports:
    """Reports of progress whose steps are epochs. clock: seconds since the epoch."""

    def __init__(self, work: Path, spec: PodSpec, *, clock: Callable[[], float] = time.time) -> None:
        self._work, self._spec, self._clock = work, spec, clock
        # epochs done, and when that was seen: at the last look, in the last report, and when one was last completed
        self._seen = self._sent = self._completed = (-1.0, 0.0)

    def report(self, progress: EpochProgress, *, is_final: bool = False) -> ProgressReport | None:
        """None when there is nothing new, or the number of epochs is not known, or the script reports by itself."""
        announced = announced_epochs(self._work)
        if announced == REPORTS_PROGRESS:
            return None
        progress.total = progress.total or announced or 0
        if progress.place is None:
            return None
        (done, total), now = progress.place, self._clock()
        if done != self._seen[0]:
            self._seen = done, now
        if done < self._completed[0] or self._completed[0] < 0:  # the start says nothing of speed
            self._completed = self._seen
        elif done == self._sent[0] or (now - self._sent[1] < LEAST_S and not is_final):
            return None
        n_new, passed_s = done - self._completed[0], self._seen[1] - self._completed[1]
        if int(done) != int(self._completed[0]):
            self._completed = self._seen
        self._sent = done, now
        epoch_s = passed_s / n_new if n_new > 0 else 0.0
        return script_progress(self._spec, steps_done=int(done), steps_total=total, epoch=done, step_s=epoch_s)


def result_of(reports: Path) -> ResultReport | None:
    """None when the script reported a result itself, or no metric at all. reports: the pod's file, a line each."""
    done, last, metrics = None, 0, dict[str, float]()
    for line in reports.read_bytes().splitlines() if reports.exists() else ():
        try:
            found = json.loads(line)
            match found.get("type"):
                case "result":
                    return None
                case "progress":
                    done = max(done or 0, int(found["steps_done"]))
                case "metrics":
                    last = max(last, int(found["step"]))
                    metrics |= found["values"]
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            continue  # half a line, of a process that was killed, or what the script wrote there
    newest = dict(list(metrics.items())[:MAX_VALUES])
    steps = last if done is None else done  # those of its metrics may count something else
    return ResultReport(at=time.time(), steps=steps, metrics=newest) if newest else None
