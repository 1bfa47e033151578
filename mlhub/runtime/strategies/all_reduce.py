"""All-reduce: every worker holds the model and an optimiser; torch's DistributedDataParallel averages gradients."""

# No deferred annotations here: DDP looks at those of its hook.
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

from mlhub.runtime.checkpoints import Checkpoint, optimizer_file, write_tensors
from mlhub.runtime.errors import GangTimeoutError
from mlhub.runtime.optimizer_state import Owned, collect, join, restore
from mlhub.runtime.pod import Pod
from mlhub.runtime.strategies.protocol import Saving, StepResult, Wishes

AGREE_EVERY_S = 0.1  # how often workers ask each other whether to stop or save
MAX_STEPS_BETWEEN = 50


class AllReduce:
    def __init__(self, pod: Pod) -> None:
        self._pod = pod
        self._n_workers = pod.spec.n_workers
        self._bytes_per_step = 0.0
        self._hook_ended_at = 0.0
        self._wishes = [False, False]
        self._loss_sum, self._n_losses = 0.0, 0
        self._steps_until_asking = 1
        self._asked_at: float | None = None

    def device(self) -> torch.device:
        return torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")

    def prepare(self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None) -> nn.Module:
        self._optimizer = optimizer
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        self._owned = [Owned(name, 0, p) for name, p in named]
        if resume is not None:
            restore(optimizer, self._owned, join(resume.optimizer()))
        if self._n_workers == 1:
            return model
        self._join()
        wrapped = DistributedDataParallel(model, forward_sync_buffers=False)
        wrapped.register_comm_hook(state=None, hook=self._timed_all_reduce)
        size_bytes = sum(p.numel() * p.element_size() for _, p in named)
        self._bytes_per_step = 2.0 * size_bytes * (self._n_workers - 1) / self._n_workers
        return wrapped

    def step(self, loss: Tensor, *, share: float, wishes: Wishes) -> StepResult:
        self._optimizer.zero_grad(set_to_none=True)
        # DDP averages over workers, the batch's mean weighs by examples
        torch.autograd.backward(loss * (share * self._n_workers))
        backward_ended_at = time.perf_counter()
        sync_s = max(0.0, backward_ended_at - self._hook_ended_at) if self._n_workers > 1 else 0.0
        self._optimizer.step()
        self._wishes[0] |= wishes.stop
        self._wishes[1] |= wishes.checkpoint
        self._loss_sum += float(loss.detach()) * share
        self._n_losses += 1
        agreed, mean = self._agree()
        return StepResult(agreed, mean, sync_s, self._bytes_per_step, self._bytes_per_step)

    def total(self, values: Sequence[float]) -> list[float]:
        if self._n_workers == 1:
            return list(values)
        summed = torch.tensor(values, dtype=torch.float64, device=self.device())
        dist.all_reduce(summed)
        return [float(v) for v in summed]

    def average_buffers(self, model: nn.Module) -> None:
        if self._n_workers > 1:
            for buffer in model.buffers():
                if buffer.is_floating_point():
                    dist.all_reduce(buffer)
                    buffer /= self._n_workers

    def save_optimizer(self, folder: Path) -> Saving:
        return _Saving(folder / optimizer_file(0, 1), collect(self._optimizer, self._owned))

    def close(self) -> None:
        if dist.is_initialized():
            dist.destroy_process_group()

    def _join(self) -> None:
        timeout = timedelta(seconds=self._pod.spec.start_timeout_s)
        backend = "nccl" if self.device().type == "cuda" else "gloo"
        try:
            dist.init_process_group(
                backend,
                init_method=f"tcp://{self._pod.spec.master_address}",
                rank=self._pod.spec.index,
                world_size=self._n_workers,
                timeout=timeout,
            )
        except (RuntimeError, TimeoutError) as error:
            raise GangTimeoutError(f"Not all {self._n_workers} workers came within {timeout}: {error}") from error

    def _timed_all_reduce(self, _: Any, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
        """When the last bucket is handed over, computation is done: what follows in backward is waiting."""
        self._hook_ended_at = time.perf_counter()
        return allreduce_hook(dist.distributed_c10d._get_default_group(), bucket)

    def _agree(self) -> tuple[Wishes, float | None]:
        """Every few steps one small sum over workers; between them nobody acts, so that all act after the same step."""
        self._steps_until_asking -= 1
        if self._steps_until_asking > 0:
            return Wishes(), None
        now = time.perf_counter()
        step_s = AGREE_EVERY_S if self._asked_at is None else (now - self._asked_at) / self._n_losses
        self._asked_at = now
        told = [float(self._wishes[0]), float(self._wishes[1]), self._loss_sum, step_s]
        stop, checkpoint, loss_sum, step_s = self.total(told)
        mean = loss_sum / self._n_losses
        self._wishes, self._loss_sum, self._n_losses = [False, False], 0.0, 0
        mean_step_s = max(1e-6, step_s / self._n_workers)
        self._steps_until_asking = max(1, min(MAX_STEPS_BETWEEN, int(AGREE_EVERY_S / mean_step_s)))
        return Wishes(stop > 0, checkpoint > 0), mean


@dataclass(frozen=True)
class _Saving:
    path: Path
    tensors: dict[str, Tensor]

    def write(self) -> None:
        write_tensors(self.path, self.tensors)
