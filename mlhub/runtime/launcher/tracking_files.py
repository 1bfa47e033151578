# SPDX-License-Identifier: Apache-2.0
"""Picks up what a script writes for others as metrics of the job: TensorBoard's event files, MLflow's file store, and
what it prints.

A script that writes `SummaryWriter` scalars, calls `mlflow.log_metric` or prints `step=1 loss=0.5` needs no line of
ours. Only what is written in this attempt counts, by the time in each entry: a package, or the checkpoint of an earlier
attempt, may bring old files along.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mlhub.runtime.launcher.checkpoint_listing import CheckpointListing
from mlhub.runtime.launcher.printed_metrics import PrintedFile
from mlhub.runtime.launcher.script_result import EpochReports
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.scripts.working_checkpoints import WorkingCheckpoints
from mlhub.wire.masking import NO_SECRETS, SecretMask
from mlhub.wire.report import MAX_STEP

PERIOD_S = 1.0
END_S = 120.0  # for the last look of a script that ended by itself: on a busy machine imports alone take many seconds
FLOATS = (1, 2)  # DT_FLOAT and DT_DOUBLE of TensorFlow's types
MLFLOW_STORE = "mlruns"
EVENT_FILES = "events.out.tfevents."
MAX_REASON = 300  # characters of an error, in the log
VARIABLES = {
    "MLFLOW_ALLOW_FILE_STORE": "true",  # MLflow asks for it since 3.7; the store's address is added per pod
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # addresses that pods alone reach
    "PYTHONUNBUFFERED": "1",  # else what a script prints into a file arrives in blocks of 8 KiB, minutes late
}

Point = tuple[int, str, float]  # step, name, value


def variables(work: Path) -> dict[str, str]:
    """What the script's environment must contain, so that plain MLflow calls write where they are found."""
    return {**VARIABLES, "MLFLOW_TRACKING_URI": (work / MLFLOW_STORE).as_uri()}


class Pickup(threading.Thread):
    """Looks below `work` and the other `folders` once a second until it is asked to end; then once more."""

    def __init__(
        self,
        work: Path,
        reporter: Reporter,
        *,
        folders: Sequence[Path] = (),
        log: Path | None = None,
        checkpoints: Path | None = None,
        working: WorkingCheckpoints | None = None,
        epochs: EpochReports | None = None,
        mask: SecretMask = NO_SECRETS,
    ) -> None:
        """log: what the script prints into; what cannot be picked up is reported there, once.
        folders: where else event files may be, such as the folder of checkpoints, whether it exists yet or not.
        checkpoints: the job's folder of checkpoints, whose new ones are reported.
        working: those of the working folder, which are copied into it.
        epochs: makes reports of progress of the epochs that the script prints.
        mask: of the lines that it prints, so that no part of a secret becomes the name of a metric.
        """
        super().__init__(name="pickup", daemon=True)
        self._work, self._reporter, self._log = work, reporter, log
        self._folders = (work, *folders)
        self._checkpoints = None if checkpoints is None else CheckpointListing(checkpoints, reporter)
        self._working = working
        self._printed = None if log is None else PrintedFile(log, mask)
        self._epochs = epochs
        self._unread: set[str] = set()
        self._since_s = time.time()
        self._events: dict[Path, Any] = {}
        self._offsets: dict[Path, int] = {}
        self._is_ending = threading.Event()

    def run(self) -> None:
        while not self._is_ending.wait(PERIOD_S):
            self._look()
        self._look(is_final=True)

    def end(self, *, timeout_s: float = END_S) -> None:
        self._is_ending.set()
        self.join(timeout_s)

    def _look(self, *, is_final: bool = False) -> None:
        """What cannot be read at one source leaves the others, and the next look, as they are."""
        with self._apart("What the script prints"):
            for step, values in self._printed.new(is_final=is_final) if self._printed is not None else ():
                self._reporter.metrics(step=step, epoch=0.0, values={_named(name): x for name, x in values.items()})
        with self._apart("The epochs that the script prints"):
            if self._epochs is not None and self._printed is not None:
                report = self._epochs.report(self._printed.progress, is_final=is_final)
                if report is not None:
                    self._reporter.send(report)
        with self._apart("The checkpoints of the working folder"):
            if self._working is not None:
                for name in self._working.look(now_s=time.time(), is_final=is_final):
                    self._log_once(f"{name} is not kept for later attempts: write large checkpoints into output/.")
        with self._apart("The list of checkpoints"):
            if self._checkpoints is not None:
                self._checkpoints.look(is_final=is_final)
        by_step: dict[int, dict[str, float]] = {}
        for what, points in (("TensorBoard's files", self._tensorboard()), ("MLflow's files", self._mlflow())):
            with self._apart(what):
                for step, name, value in points:
                    if step <= MAX_STEP:  # time.time_ns() as a step: the platform would refuse all that follows
                        by_step.setdefault(max(0, step), {})[_named(name)] = value
        for step in sorted(by_step):
            self._reporter.metrics(step=step, epoch=0.0, values=by_step[step])

    def _tensorboard(self) -> Iterator[Point]:
        for path in sorted({path for folder in self._folders for path in _event_files(folder)}):
            if path not in self._events:
                try:
                    # late: only pods that need it pay for the import
                    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
                except ImportError:
                    self._log_once("TensorBoard's files are not read: this image has no package tensorboard.")
                    return
                self._events[path] = EventFileLoader(str(path))
            with self._apart("A file of TensorBoard's"):
                for event in self._events[path].Load():
                    if event.wall_time >= self._since_s:
                        yield from _scalars(event)

    def _mlflow(self) -> Iterator[Point]:
        """<store>/<experiment>/<run>/metrics/<name>, a line each: milliseconds, value, step."""
        for metrics in sorted((self._work / MLFLOW_STORE).glob("*/*/metrics")):
            for path in sorted(path for path in metrics.rglob("*") if path.is_file()):
                with self._apart("A file of MLflow's"):
                    for line in self._new_lines(path):
                        point = _point(line, str(path.relative_to(metrics)), since_s=self._since_s - 1)
                        if point is not None:
                            yield point

    @contextmanager
    def _apart(self, what: str) -> Iterator[None]:
        """Whatever a stranger's files raise within it is in the log, the first time, and ends no more than that."""
        try:
            yield
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".replace("\n", " ")[:MAX_REASON]
            self._log_once(f"{what} could not be read whole: {reason}", key=what)

    def _log_once(self, words: str, *, key: str = "") -> None:
        """key: what is logged once, when it is not these words."""
        if self._log is not None and (key or words) not in self._unread:
            self._unread.add(key or words)
            with suppress(OSError), self._log.open("a") as file:
                file.write(f"mlhub: {words}\n")

    def _new_lines(self, path: Path) -> list[bytes]:
        """Whole lines since the last look."""
        offset = self._offsets.get(path, 0)
        with path.open("rb") as file:
            file.seek(offset)
            whole, end, _ = file.read().rpartition(b"\n")
        self._offsets[path] = offset + len(whole) + len(end)
        return whole.splitlines()


def _event_files(folder: Path) -> Iterator[Path]:
    """Those below the folder; folders that vanish meanwhile are passed over, as rglob() does not."""
    for parent, _, names in os.walk(folder):
        yield from (Path(parent) / name for name in names if name.startswith(EVENT_FILES))


def _point(line: bytes, name: str, *, since_s: float) -> Point | None:
    """None: it is older, or no line of MLflow's."""
    at_ms, value, *step = [*line.split(), b"", b""]
    try:
        return (int(step[0] or 0), name, float(value)) if float(at_ms) / 1000 >= since_s else None
    except ValueError:
        return None


def _scalars(event: Any) -> Iterator[Point]:
    """EventFileLoader gives every summary in TensorBoard's newer form, a tensor: torch writes its numbers into
    float_val, Keras into tensor_content."""
    from tensorboard.util.tensor_util import make_ndarray

    for value in event.summary.value:
        if value.HasField("tensor") and value.tensor.dtype in FLOATS and not value.tensor.tensor_shape.dim:
            yield int(event.step), str(value.tag), float(make_ndarray(value.tensor))


def _named(name: str) -> str:
    """As report() does: "loss" is train/loss, a name with a slash stays."""
    return name if "/" in name else f"train/{name}"
