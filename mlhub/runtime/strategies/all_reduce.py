"""All-reduce: every worker holds the model and an optimiser; torch's DistributedDataParallel averages gradients."""

# No deferred annotations here: DDP looks at those of its hook.
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook, fp16_compress_hook
from torch.nn.parallel import DistributedDataParallel

from mlhub.runtime.checkpoints import Checkpoint
from mlhub.runtime.strategies.grouped import Grouped
from mlhub.runtime.strategies.protocol import Course, Losses, StepResult

Hook = Callable[[Any, dist.GradBucket], torch.futures.Future[Tensor]]
HOOKS: Mapping[str, Hook] = {"none": allreduce_hook, "fp16": fp16_compress_hook}


class AllReduce(Grouped):
    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: Course
    ) -> nn.Module:
        self._bytes_per_step, self._hook_ended_at = 0.0, 0.0
        named = self.join(model, optimizer, resume=resume, course=course)
        self._trained = [p for _, p in named]
        self._wrapped: DistributedDataParallel | None = None
        if self.n_workers == 1:
            return model
        compression = str(self.spec.parameters.get("compression", "none"))
        self._hook = HOOKS[compression]
        self._wrapped = DistributedDataParallel(model, forward_sync_buffers=False)
        self._wrapped.register_comm_hook(state=None, hook=self._timed_all_reduce)
        size_bytes = sum(p.numel() * p.element_size() for p in self._trained) / (2 if compression == "fp16" else 1)
        self._bytes_per_step = 2.0 * size_bytes * (self.n_workers - 1) / self.n_workers
        return self._wrapped

    def step(self, losses: Losses, *, n: int) -> StepResult:
        self.optimizer.zero_grad(set_to_none=True)
        self._hook_ended_at = 0.0
        told = 0.0
        for index in range(n):
            is_last = index == n - 1
            with nullcontext() if is_last or self._wrapped is None else self._wrapped.no_sync():
                loss, share = next(losses)
                # DDP averages over workers, the batch's mean weighs by examples
                torch.autograd.backward(loss * (share * self.n_workers))
                told += float(loss.detach()) * share
        sync_s = max(0.0, time.perf_counter() - self._hook_ended_at) if self._hook_ended_at else 0.0
        if self.course.clip_norm is not None:
            nn.utils.clip_grad_norm_(self._trained, self.course.clip_norm)
        return self.conclude(told, sync_s, n_bytes=self._bytes_per_step)

    def _timed_all_reduce(self, _: Any, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
        """When the last bucket is handed over, computation is done: what follows in backward is waiting."""
        self._hook_ended_at = time.perf_counter()
        return self._hook(dist.distributed_c10d._get_default_group(), bucket)
