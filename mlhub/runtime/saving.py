"""Writes checkpoints beside training: copied in a moment, written in another thread, complete with the manifest."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from torch import Tensor, nn

from mlhub.runtime import checkpoints
from mlhub.runtime.pod import Pod
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.strategies.protocol import Saving, Strategy
from mlhub.wire.report import CheckpointReport


class Checkpointer:
    """Rank 0's. An error of the other thread is raised by the next call."""

    def __init__(self, pod: Pod, reporter: Reporter) -> None:
        self._pod, self._reporter = pod, reporter
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def is_idle(self) -> bool:
        return self._thread is None or not self._thread.is_alive()

    def save(self, model: nn.Module, strategy: Strategy, *, step: int, waits: bool) -> None:
        """waits: returns when it is on the disk."""
        self.finish()
        began = time.perf_counter()
        folder = checkpoints.folder_for(self._pod.checkpoints, attempt=self._pod.spec.attempt_number, step=step)
        weights = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
        saving = strategy.save_optimizer(folder)
        stall_s = None if waits else time.perf_counter() - began
        write = (folder, weights, saving, step, began, stall_s)
        self._thread = threading.Thread(target=self._write, args=write, name="checkpoint")
        self._thread.start()
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

    def _write(
        self, folder: Path, weights: dict[str, Tensor], saving: Saving, step: int, began: float, stall_s: float | None
    ) -> None:
        try:
            checkpoints.write_tensors(folder / checkpoints.WEIGHTS, weights)
            saving.write()
            whole = checkpoints.complete(folder, step=step, attempt=self._pod.spec.attempt_number)
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
