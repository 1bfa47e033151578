"""All-reduce: every worker holds the model and an optimiser; torch's DistributedDataParallel averages gradients."""

# No deferred annotations here: DDP looks at those of its hook.
import time
from contextlib import nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from mlhub.runtime.checkpoints import RESIDUALS, Checkpoint
from mlhub.runtime.optimizer_state import join, owed_by_all
from mlhub.runtime.strategies.gradient_hooks import Hook, hook_for
from mlhub.runtime.strategies.grouped import Copied, Grouped
from mlhub.runtime.strategies.protocol import Course, Losses, Meeting, StepResult


class AllReduce(Grouped):
    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: Course
    ) -> nn.Module:
        self._hook_ended_at = 0.0
        named = self.join(model, optimizer, resume=resume, course=course)
        self._trained = [p for _, p in named]
        self._wrapped: DistributedDataParallel | None = None
        self._hook: Hook | None = None
        # a mean of compressed gradients is not the workers' mean
        given = self.spec.parameters
        self._is_whole = given["compression"] in ("none", "fp16") and given["reduction"] == "mean"
        self._residuals = {} if resume is None else mean_owed(resume)
        self._scaler = torch.amp.GradScaler(self.device().type, enabled=course.scales_loss)
        if self.n_workers == 1:
            return model
        self._hook = hook_for(
            named, self.spec.parameters, self._residuals, rank=self.rank, n_workers=self.n_workers,
            seed=self.pod.spec.training.seed, start=course.start,
        )  # fmt: skip
        self._wrapped = DistributedDataParallel(model, forward_sync_buffers=False)
        self._wrapped.register_comm_hook(state=None, hook=self._timed_hook)
        return self._wrapped

    def step(self, losses: Losses, *, n: int) -> StepResult:
        self.optimizer.zero_grad(set_to_none=True)
        self._hook_ended_at = 0.0
        told, weight = 0.0, 0.0
        is_scaled = self.course.scales_loss  # enlarged gradients tell no noise scale
        self._is_judged = self._is_whole and not is_scaled and self.jury.is_due and self.is_asking
        for index in range(n):
            is_last = index == n - 1
            with nullcontext() if is_last or self._wrapped is None else self._wrapped.no_sync():
                loss, share = next(losses)
                # DDP averages over workers, the batch's mean weighs by examples
                torch.autograd.backward(self._scaler.scale(loss * (share * self.n_workers)))
                told += float(loss.detach()) * share
            weight += share
            if self._wrapped is None and not is_scaled:
                grads = [p.grad for p in self._trained]
                self.gauge.look(grads, weight=weight, is_first=index == 0, is_last=is_last)
        sync_s = max(0.0, time.perf_counter() - self._hook_ended_at) if self._hook_ended_at else 0.0
        if self._is_judged:
            self.jury.look_at_mean([p.grad for p in self._trained])
        if self.course.clip_norm is not None:
            self._scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self._trained, self.course.clip_norm)
        if self._hook is None:
            return self.conclude(told, sync_s, n_bytes=0.0)
        n_bytes, self._hook.n_bytes = self._hook.n_bytes, 0.0
        return self.conclude(told, sync_s, n_bytes=n_bytes)

    def make_step(self) -> None:
        """In half precision a step whose gradient overflowed is left out, on all workers alike."""
        self._scaler.step(self.optimizer)
        self._scaler.update()

    def gather(self, meeting: Meeting) -> None:
        """Models are alike; what has not been sent yet belongs into a checkpoint, as its mean over workers."""
        if self._hook is None or not meeting.saves:
            return
        self._residuals = {name: owed.clone() for name, owed in self._hook.owed().items()}
        for owed in self._residuals.values():
            dist.all_reduce(owed)
            owed /= self.n_workers

    def save_optimizer(self) -> Copied:
        saving = super().save_optimizer()
        if self._residuals:
            saving.files[RESIDUALS] = self._residuals
        return saving

    def _timed_hook(self, _: Any, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
        """When the last bucket is handed over, computation is done: what follows in backward is waiting."""
        assert self._hook is not None
        self.course.pulse.beat("sync")
        if self._is_judged:
            self.jury.look_at_own(bucket.buffer())
        self._hook_ended_at = time.perf_counter()
        return self._hook.reduce(bucket)


def mean_owed(saved: Checkpoint) -> dict[str, Tensor]:
    """By parameter, what each of any number of workers goes on with. Servers add up what workers send, and here it is
    averaged: what all owed to servers together is what each owes here."""
    return saved.residuals() or owed_by_all(join(saved.optimizer()))
