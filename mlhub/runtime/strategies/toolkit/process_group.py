"""Workers of one torch process group, without servers: each holds the model and an optimiser of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn

from mlhub.runtime.checkpoints.optimizer_state import NOTHING, Owned, collect, join, restore
from mlhub.runtime.checkpoints.step_folders import Checkpoint, optimizer_file, write_tensors
from mlhub.runtime.errors import GangTimeoutError
from mlhub.runtime.optimization.gradient_noise import GradientNoiseEstimator, LocalNoiseEstimator
from mlhub.runtime.optimization.learning_rates import Scheduled
from mlhub.runtime.pod import Pod
from mlhub.runtime.strategies.catalogue.schema import StrategySpec
from mlhub.runtime.strategies.protocol import ControlFlags, Lockstep, StepResult, TrainingPosition
from mlhub.runtime.strategies.toolkit import flat_parameters

AGREE_EVERY_S = 0.5  # how often workers ask each other whether to stop or save
MAX_STEPS_BETWEEN = 50


class ProcessGroupStrategy(Lockstep):
    """Joining, agreeing, totals and checkpoints; a strategy adds prepare() and step()."""

    def __init__(self, pod: Pod, spec: StrategySpec) -> None:
        super().__init__(rank=pod.spec.index, n_workers=pod.spec.n_workers)
        self.pod, self.spec = pod, spec
        self._wishes = [False, False]
        self._loss_sum: Tensor | float = 0.0
        self._n_losses, self._sync_s = 0, 0.0
        self._steps_until_asking = 1
        self._asked_at: float | None = None
        self.gauge, self.jury = LocalNoiseEstimator(), GradientNoiseEstimator(self.n_workers)

    def device(self) -> torch.device:
        return torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")

    def join(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: TrainingPosition
    ) -> list[tuple[str, nn.Parameter]]:
        """The trained parameters; afterwards the group is there, and the optimiser is as it was saved."""
        self.begin(course)
        self.optimizer = optimizer
        self.scheduled = Scheduled(optimizer.param_groups, course.rates)
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        self._owned = [Owned(name, 0, p) for name, p in named]
        if resume is not None:
            restore(optimizer, self._owned, join(resume.optimizer()))
        if self.n_workers > 1:
            self.join_group()
        return named

    def conclude(self, loss: Tensor | float, sync_s: float, *, n_bytes: float) -> StepResult:
        """The gradient is ready: one step of the optimiser. loss: weighed by this worker's share of the batch; a tensor
        is not looked at before the workers ask each other, so that a GPU need not be waited for."""
        self.scheduled.set(self.done)
        self.make_step()
        return self.told(loss, sync_s, n_bytes=n_bytes)

    def make_step(self) -> None:
        self.optimizer.step()

    def told(
        self, loss: Tensor | float, sync_s: float, *, n_bytes: float, n_received: float | None = None
    ) -> StepResult:
        """n_bytes: sent; and received, unless n_received says otherwise."""
        self._wishes[0] |= self.wishes.stop
        self._wishes[1] |= self.wishes.checkpoint
        self._loss_sum = self._loss_sum + loss
        self._sync_s += sync_s
        self._n_losses += 1
        agreed, mean, wait_s = self._agree()
        self.advance(agreed)
        noise = self.jury.take() or self.gauge.take()
        return StepResult(
            mean, sync_s, n_bytes, n_bytes if n_received is None else n_received, wait_s=wait_s, noise=noise
        )

    @property
    def is_asking(self) -> bool:
        """Whether this step ends with a small sum over the workers."""
        return self._steps_until_asking == 1

    def total(self, values: Sequence[float]) -> list[float]:
        if self.n_workers == 1:
            return list(values)
        self.course.pulse.beat("sync")
        summed = torch.tensor(values, dtype=torch.float64, device=self.device())
        dist.all_reduce(summed)
        return [float(v) for v in summed.tolist()]

    def average_buffers(self, model: nn.Module) -> None:
        flat_parameters.average_buffers(model, self.total, self.n_workers)

    def save_optimizer(self) -> Copied:
        return Copied({optimizer_file(0, 1): collect(self.optimizer, self._owned)})

    def close(self) -> None:
        if dist.is_initialized():
            dist.destroy_process_group()

    def join_group(self) -> None:
        timeout = timedelta(seconds=self.pod.spec.start_timeout_s)
        backend = "nccl" if self.device().type == "cuda" else "gloo"
        try:
            dist.init_process_group(
                backend,
                init_method=f"tcp://{self.pod.spec.master_address}",
                rank=self.rank,
                world_size=self.n_workers,
                timeout=timeout,
            )
        except (RuntimeError, TimeoutError) as error:
            raise GangTimeoutError(f"Not all {self.n_workers} workers came within {timeout}: {error}") from error

    def _agree(self) -> tuple[ControlFlags, float | None, float]:
        """Every few steps one small sum over workers; between them nobody acts, so that all act after the same step.

        Also the mean loss, and the seconds that this worker waited for others since the last time: whoever comes last
        only communicates, so what others took longer was waiting.
        """
        self._steps_until_asking -= 1
        if self._steps_until_asking > 0:
            return ControlFlags(), None, 0.0
        now = time.perf_counter()
        step_s = AGREE_EVERY_S if self._asked_at is None else (now - self._asked_at) / self._n_losses
        self._asked_at = now
        told = [float(self._wishes[0]), float(self._wishes[1]), float(self._loss_sum), step_s, *self.jury.told()]
        told += [self._sync_s if rank == self.rank else 0.0 for rank in range(self.n_workers)]
        stop, checkpoint, loss_sum, step_s, own, cost_s, *syncs_s = self.total(told)
        mean = loss_sum / self._n_losses
        wait_s = self._sync_s - min(syncs_s)
        self.jury.hear((own, cost_s), elapsed_s=step_s / self.n_workers * self._n_losses)
        self._wishes, self._loss_sum, self._n_losses, self._sync_s = [False, False], 0.0, 0, 0.0
        mean_step_s = max(1e-6, step_s / self.n_workers)
        self._steps_until_asking = max(1, min(MAX_STEPS_BETWEEN, int(AGREE_EVERY_S / mean_step_s)))
        return ControlFlags(stop > 0, checkpoint > 0), mean, wait_s


@dataclass(frozen=True)
class Copied:
    """A Saving of tensors in memory."""

    files: dict[str, dict[str, Tensor]]

    def write(self, folder: Path) -> None:
        for name, tensors in self.files.items():
            write_tensors(folder / name, tensors or {NOTHING: torch.zeros(1)})
