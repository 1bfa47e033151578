# SPDX-License-Identifier: Apache-2.0
"""Writes checkpoints while training continues: state is copied at a barrier and written in another thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from mlhub.runtime.checkpoints import step_folders
from mlhub.runtime.pod import Pod
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.strategies.protocol import OptimizerSnapshot, Strategy
from mlhub.wire.report import CheckpointReport

MOST_WRITING = 0.1  # of the time: a checkpoint that takes 30 s to write is followed by the next after 300 s


class CheckpointWriter:
    """Writes a worker's part of each checkpoint. An error of the other thread is raised by the next call."""

    def __init__(self, pod: Pod, reporter: Reporter, *, n_kept: int = step_folders.N_KEPT) -> None:
        self._n_kept = n_kept
        self._pod, self._reporter = pod, reporter
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._write_s = 0.0  # of the newest one

    @property
    def is_idle(self) -> bool:
        return self._thread is None or not self._thread.is_alive()

    @property
    def least_interval_s(self) -> float:
        """Returns the seconds from the start of one checkpoint to that of the next, so that writing them, which takes
        processors and the disk from the training, takes at most a tenth of the time.
        """
        return self._write_s / MOST_WRITING

    def save(
        self, model: nn.Module, strategy: Strategy, *, step: int, waits: bool,
        state: Mapping[str, Any] | None = None, average: Mapping[str, Tensor] | None = None,
    ) -> None:  # fmt: skip
        """Copies and writes this worker's part: rank 0 all but other workers' parts of the optimiser, if there are any.

        waits: whether to return only when it is on the disk. state: of the loop. average: of the weights, if any.
        """
        if self._pod.spec.index == 0:
            self._save_whole(model, strategy, step=step, waits=waits, state=state, average=average)
        elif strategy.n_parts > 1:
            self._save_part(strategy.save_optimizer, step=step)
        if waits:
            self.finish()

    def finish(self) -> None:
        """Waits for what is being written."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.raise_error()

    def raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _save_whole(
        self, model: nn.Module, strategy: Strategy, *, step: int, waits: bool,
        state: Mapping[str, Any] | None, average: Mapping[str, Tensor] | None,
    ) -> None:  # fmt: skip
        self.finish()
        began, attempt = time.perf_counter(), self._pod.spec.attempt_number
        folder = step_folders.folder_for(self._pod.checkpoints, attempt=attempt, step=step)
        weights = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
        snapshot, n_parts = strategy.save_optimizer(), strategy.n_parts
        copy_s = time.perf_counter() - began

        def write() -> None:
            step_folders.write_tensors(folder / step_folders.WEIGHTS, weights)
            if average is not None:
                step_folders.write_tensors(folder / step_folders.AVERAGE, average)
            snapshot.write(folder)
            timeout_s = self._pod.spec.start_timeout_s
            step_folders.take_parts(folder, attempt=attempt, step=step, ranks=range(1, n_parts), timeout_s=timeout_s)
            checkpoint = step_folders.complete(folder, step=step, attempt=attempt, state=state, n_kept=self._n_kept)
            self._write_s = write_s = time.perf_counter() - began
            self._report(checkpoint, write_s=write_s, stall_s=write_s if waits else copy_s)

        self._start(write)

    def _save_part(self, copy: Callable[[], OptimizerSnapshot], *, step: int) -> None:
        self.finish()
        spec, snapshot = self._pod.spec, copy()
        folder: Path = step_folders.part_folder(
            self._pod.checkpoints, attempt=spec.attempt_number, step=step, rank=spec.index
        )
        self._start(lambda: step_folders.leave_part(folder, snapshot.write))

    def _start(self, write: Callable[[], None]) -> None:
        def run() -> None:
            try:
                write()
            except BaseException as error:
                self._error = error

        self._thread = threading.Thread(target=run, name="checkpoint")
        self._thread.start()

    def _report(self, checkpoint: step_folders.StepCheckpoint, *, write_s: float, stall_s: float) -> None:
        """write_s: from the start of the copy to the manifest. stall_s: how long training was stalled, in seconds."""
        self._reporter.send(
            CheckpointReport(
                at=time.time(),
                step=checkpoint.step,
                name=checkpoint.folder.name,
                size_bytes=checkpoint.size_bytes,
                write_s=write_s,
                stall_s=stall_s,
                present=step_folders.names(self._pod.checkpoints),
            )
        )
