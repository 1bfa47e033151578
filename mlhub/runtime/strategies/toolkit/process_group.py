# SPDX-License-Identifier: Apache-2.0
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

from mlhub.runtime.checkpoints.optimizer_state import EMPTY_STATE, ParameterSlice, collect, merge, restore
from mlhub.runtime.checkpoints.step_folders import StepCheckpoint, optimizer_file, write_tensors
from mlhub.runtime.devices import training_device
from mlhub.runtime.errors import GangTimeoutError
from mlhub.runtime.optimization.gradient_noise import GradientNoiseEstimator, LocalNoiseEstimator
from mlhub.runtime.optimization.learning_rates import LearningRateScheduler
from mlhub.runtime.pod import Pod
from mlhub.runtime.strategies.catalogue.schema import StrategySpec
from mlhub.runtime.strategies.protocol import ControlFlags, LockstepStrategy, StepResult, TrainingPlan
from mlhub.runtime.strategies.toolkit import flat_parameters

AGREE_EVERY_S = 0.5  # how often workers agree on whether to stop or save
MAX_STEPS_BETWEEN = 50


class ProcessGroupStrategy(LockstepStrategy):
    """Joining, agreement on flags, sums and checkpoints. A strategy adds prepare() and step()."""

    def __init__(self, pod: Pod, spec: StrategySpec) -> None:
        super().__init__(rank=pod.spec.index, n_workers=pod.spec.n_workers)
        self.pod, self.spec = pod, spec
        self._pending_flags = [False, False]  # stop, checkpoint: raised since the last agreement
        self._loss_sum: Tensor | float = 0.0
        self._n_losses, self._sync_s = 0, 0.0
        self._steps_until_agreement = 1
        self._agreed_at: float | None = None
        self.local_noise, self.noise_estimator = LocalNoiseEstimator(), GradientNoiseEstimator(self.n_workers)

    def device(self) -> torch.device:
        return training_device()

    def join_gang(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> list[tuple[str, nn.Parameter]]:
        """Creates the process group and restores the optimiser. Returns the trained parameters by name."""
        self.begin(plan)
        self.optimizer = optimizer
        self.scheduler = LearningRateScheduler(optimizer.param_groups, plan.rates)
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        self._slices = [ParameterSlice(name, 0, p) for name, p in named]
        if resume is not None:
            restore(optimizer, self._slices, merge(resume.optimizer()))
        if self.n_workers > 1:
            self.create_process_group()
        return named

    def apply_gradient(self, loss: Tensor | float, sync_s: float, *, n_bytes: float) -> StepResult:
        """Makes the optimiser's step with the gradient that is ready.

        loss: weighted by this worker's share of the batch. A tensor is read only when the workers agree, so that the
        host need not wait for a GPU.
        """
        self.scheduler.set(self.done)
        self.optimizer_step()
        return self.step_result(loss, sync_s, n_bytes=n_bytes)

    def optimizer_step(self) -> None:
        self.optimizer.step()

    def step_result(
        self, loss: Tensor | float, sync_s: float, *, n_bytes: float, bytes_received: float | None = None
    ) -> StepResult:
        """Ends a step. n_bytes: bytes sent, and also received unless bytes_received is given."""
        self._pending_flags[0] |= self.flags.stop
        self._pending_flags[1] |= self.flags.checkpoint
        self._loss_sum = self._loss_sum + loss
        self._sync_s += sync_s
        self._n_losses += 1
        agreed, mean, wait_s = self._agree()
        self.finish_step(agreed)
        received = n_bytes if bytes_received is None else bytes_received
        noise = self.noise_estimator.pop_sample() or self.local_noise.pop_sample()
        return StepResult(mean, sync_s, n_bytes, received, wait_s=wait_s, noise=noise)

    @property
    def is_agreement_due(self) -> bool:
        """Whether this step ends with the small sum over workers in which they agree."""
        return self._steps_until_agreement == 1

    def sum_over_workers(self, values: Sequence[float]) -> list[float]:
        if self.n_workers == 1:
            return list(values)
        self.plan.heartbeat.record("sync")
        summed = torch.tensor(values, dtype=torch.float64, device=self.device())
        dist.all_reduce(summed)
        return [float(v) for v in summed.tolist()]

    def average_buffers(self, model: nn.Module) -> None:
        flat_parameters.average_buffers(model, self.sum_over_workers, self.n_workers)

    def save_optimizer(self) -> CopiedState:
        return CopiedState({optimizer_file(0, 1): collect(self.optimizer, self._slices)})

    def close(self) -> None:
        if dist.is_initialized():
            dist.destroy_process_group()

    def create_process_group(self) -> None:
        """Raises GangTimeoutError when not all workers come in time.

        The limit also holds for what they exchange later: a worker that others wait for is named and ended by the
        platform's own limit, which a job may set, and not by them before that.
        """
        spec = self.pod.spec
        self.plan.heartbeat.record("sync")
        timeout = timedelta(seconds=max(spec.start_timeout_s, spec.stall_limit_s))
        backend = "nccl" if self.device().type == "cuda" else "gloo"
        try:
            dist.init_process_group(
                backend,
                init_method=f"tcp://{spec.master_address}",
                rank=self.rank,
                world_size=self.n_workers,
                timeout=timeout,
            )
        except (RuntimeError, TimeoutError) as error:
            raise GangTimeoutError(f"Not all {self.n_workers} workers came within {timeout}: {error}") from error

    def _agree(self) -> tuple[ControlFlags, float | None, float]:
        """Every few steps the workers sum a few numbers; in between no flag has an effect, so all act after one step.

        Returns the agreed flags, the mean loss, and the seconds that this worker has waited for others since the last
        agreement: the last worker to arrive spends its time on communication only, so any excess is waiting.
        """
        self._steps_until_agreement -= 1
        if self._steps_until_agreement > 0:
            return ControlFlags(), None, 0.0
        now = time.perf_counter()
        step_s = AGREE_EVERY_S if self._agreed_at is None else (now - self._agreed_at) / self._n_losses
        self._agreed_at = now
        values = [*map(float, self._pending_flags), float(self._loss_sum), step_s]
        values += self.noise_estimator.partial_sums()
        values += [self._sync_s if rank == self.rank else 0.0 for rank in range(self.n_workers)]
        stop, checkpoint, loss_sum, step_s, squares, cost_s, *syncs_s = self.sum_over_workers(values)
        mean_loss, wait_s = loss_sum / self._n_losses, self._sync_s - min(syncs_s)
        mean_step_s = max(1e-6, step_s / self.n_workers)
        self.noise_estimator.combine((squares, cost_s), elapsed_s=step_s / self.n_workers * self._n_losses)
        self._pending_flags, self._loss_sum, self._n_losses, self._sync_s = [False, False], 0.0, 0, 0.0
        self._steps_until_agreement = max(1, min(MAX_STEPS_BETWEEN, int(AGREE_EVERY_S / mean_step_s)))
        return ControlFlags(stop > 0, checkpoint > 0), mean_loss, wait_s


@dataclass(frozen=True)
class CopiedState:
    """An OptimizerSnapshot of tensors in memory, by file name."""

    files: dict[str, dict[str, Tensor]]

    def write(self, folder: Path) -> None:
        for name, tensors in self.files.items():
            write_tensors(folder / name, tensors or {EMPTY_STATE: torch.zeros(1)})
