"""Writes checkpoints beside training: copied in a moment, written in another thread, complete with the manifest."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from torch import Tensor, nn

from mlhub.runtime.checkpoints import step_folders
from mlhub.runtime.pod import Pod
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.strategies.protocol import Saving, Strategy
from mlhub.wire.report import CheckpointReport


class Checkpointer:
    """A worker's. An error of the other thread is raised by the next call."""

    def __init__(self, pod: Pod, reporter: Reporter) -> None:
        self._pod, self._reporter = pod, reporter
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def is_idle(self) -> bool:
        return self._thread is None or not self._thread.is_alive()

    def save(self, model: nn.Module, strategy: Strategy, *, step: int, waits: bool) -> None:
        """Rank 0's; others leave their part, where there are parts. waits: returns when it is on the disk."""
        if self._pod.spec.index > 0:
            if strategy.n_parts > 1:
                self._leave_part(strategy, step=step, waits=waits)
            return
        self.finish()
        began = time.perf_counter()
        folder = step_folders.folder_for(self._pod.checkpoints, attempt=self._pod.spec.attempt_number, step=step)
        weights = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
        saving = strategy.save_optimizer()
        stall_s = None if waits else time.perf_counter() - began
        write = (folder, weights, saving, strategy.n_parts, step, began, stall_s)
        self._thread = threading.Thread(target=self._write, args=write, name="checkpoint")
        self._thread.start()
        if waits:
            self.finish()

    def _leave_part(self, strategy: Strategy, *, step: int, waits: bool) -> None:
        self.finish()
        spec, saving = self._pod.spec, strategy.save_optimizer()
        part = step_folders.part_folder(self._pod.checkpoints, attempt=spec.attempt_number, step=step, rank=spec.index)
        self._thread = threading.Thread(target=self._write_part, args=(part, saving), name="checkpoint")
        self._thread.start()
        if waits:
            self.finish()

    def _write_part(self, folder: Path, saving: Saving) -> None:
        try:
            step_folders.leave_part(folder, saving.write)
        except BaseException as error:
            self._error = error

    def finish(self) -> None:
        """Waits for what is being written."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.raise_error()

    def raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _write(
        self, folder: Path, weights: dict[str, Tensor], saving: Saving, n_parts: int, step: int, began: float,
        stall_s: float | None,
    ) -> None:  # fmt: skip
        try:
            step_folders.write_tensors(folder / step_folders.WEIGHTS, weights)
            saving.write(folder)
            attempt, timeout_s = self._pod.spec.attempt_number, self._pod.spec.start_timeout_s
            step_folders.take_parts(folder, attempt=attempt, step=step, ranks=range(1, n_parts), timeout_s=timeout_s)
            whole = step_folders.complete(folder, step=step, attempt=attempt)
            write_s = time.perf_counter() - began
            self._reporter.send(
                CheckpointReport(
                    at=time.time(),
                    step=step,
                    name=folder.name,
                    size_bytes=whole.size_bytes,
                    write_s=write_s,
                    stall_s=write_s if stall_s is None else stall_s,
                )
            )
        except BaseException as error:
            self._error = error
