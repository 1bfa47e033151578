# SPDX-License-Identifier: Apache-2.0
"""Reports of a pod, appended line by line to a file that the launcher ships. Standard library only."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mlhub.wire.launch import PodSpec
from mlhub.wire.report import (
    MAX_VALUES,
    FailureReport,
    MetricReport,
    PhaseReport,
    ProgressReport,
    Report,
    ResultReport,
    StalenessReport,
    metric_name,
    to_dict,
)

MAX_TRACEBACK = 16_000
REPORT_EVERY_S = 2.0


class Reporter:
    """Appends each report as one line, at once and whole. path None: reports are dropped, as of ranks other than 0."""

    def __init__(self, path: Path | None) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._file = None if path is None else os.open(path, flags, 0o644)
        self._began = time.monotonic()

    def send(self, report: Report) -> None:
        if self._file is not None:
            os.write(self._file, json.dumps(storable(to_dict(report))).encode() + b"\n")

    def metrics(self, *, step: int, epoch: float, values: dict[str, float]) -> None:
        """Reports metrics at a step. Values that are not finite are left out, since JSON cannot hold them.

        What the platform does not take in a name, such as the spaces of TensorBoard's tags, becomes "_". Raises
        TypeError, which names the metric, for a value that is no number.
        """
        named = list(reportable(values).items())
        for first in range(0, len(named), MAX_VALUES):
            part = dict(named[first : first + MAX_VALUES])
            self.send(MetricReport(step=step, epoch=epoch, at=time.time(), values=part))

    def result(self, *, steps: int, values: Mapping[str, Any], artifacts: dict[str, str]) -> None:
        """Reports what was trained, with as many of the final metrics as a report may have, named as metrics() does."""
        named = dict(list(reportable(values).items())[:MAX_VALUES])
        self.send(ResultReport(at=time.time(), steps=steps, metrics=named, artifacts=artifacts))

    def phase(self, phase: str, **detail: Any) -> None:
        self.send(PhaseReport(at=time.time(), phase=phase, since_start_s=time.monotonic() - self._began, detail=detail))

    def failure(self, cause: str, message: str, traceback: str = "") -> None:
        self.send(FailureReport(at=time.time(), cause=cause, message=message, traceback=traceback[-MAX_TRACEBACK:]))


def reportable(values: Mapping[str, Any]) -> dict[str, float]:
    """The finite values by names that the platform takes: it refuses a report with others, and with it the attempt.

    Raises TypeError, which names the metric, for a value that is no number.
    """
    numbers = {metric_name(key): _number(key, value) for key, value in values.items()}
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def _number(name: str, value: Any) -> float:
    """Also of NumPy's and torch's scalars."""
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        kind = type(value).__name__
        raise TypeError(f"The metric {name} is a {kind}; report one number for each metric: loss=0.5.") from error


def storable(value: Any) -> Any:
    """The value with every text in a form that databases store: without NUL characters and halves of surrogate pairs.

    A user's exception may hold both, and the platform refuses a report with them for good.
    """
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {storable(key): storable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [storable(inner) for inner in value]
    return value


class ReportStream(threading.Thread):
    """A thread that publishes a server's staleness every few seconds if it has changed, and once more at the end."""

    def __init__(self, report: Callable[[], StalenessReport], reporter: Reporter) -> None:
        super().__init__(name="reports", daemon=True)
        self._report, self._reporter = report, reporter
        self._is_ending = threading.Event()
        self._published: tuple[list[int], int] = ([], 0)

    def run(self) -> None:
        while not self._is_ending.wait(REPORT_EVERY_S):
            self._publish()
        self._publish()

    def end(self) -> None:
        self._is_ending.set()
        self.join()

    def _publish(self) -> None:
        current = self._report()
        if (current.counts, current.n_discarded) != self._published:
            self._published = current.counts, current.n_discarded
            self._reporter.send(current)


def script_progress(spec: PodSpec, *, steps_done: int, steps_total: int, epoch: float, step_s: float) -> ProgressReport:
    """The report of a script, of whose steps no parts are known. step_s: seconds; 0: not measured."""
    return ProgressReport(
        at=time.time(),
        steps_done=steps_done,
        steps_total=steps_total,
        epoch=epoch,
        n_workers=spec.n_workers,
        n_servers=spec.n_servers,
        batch_size=spec.training.batch_size,
        step_s=step_s,
        compute_s=step_s,
        sync_s=0.0,
        input_s=0.0,
    )
