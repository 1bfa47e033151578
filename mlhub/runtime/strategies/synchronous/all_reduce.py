# SPDX-License-Identifier: Apache-2.0
"""All-reduce: every worker holds the model and an optimiser; torch's DistributedDataParallel averages gradients."""

# No deferred annotations here: DDP looks at those of its hook.
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.autograd import Variable
from torch.nn.parallel import DistributedDataParallel
from torch.utils.hooks import RemovableHandle

from mlhub.runtime.checkpoints.step_folders import RESIDUALS, StepCheckpoint
from mlhub.runtime.optimization.without_compiler import replicas_without_compiler
from mlhub.runtime.strategies.protocol import Barrier, Losses, StepResult, TrainingPlan
from mlhub.runtime.strategies.toolkit.gradient_hooks import Hook, hook_for, ring_bytes
from mlhub.runtime.strategies.toolkit.process_group import CopiedState, ProcessGroupStrategy
from mlhub.runtime.strategies.toolkit.residual import ErrorFeedbackResidual, mean_residual

# Torch's own first bucket is of 1 MB, to begin early; gloo computes on the same processors, and each exchange costs it
# tens of wake-ups: a small model is sent at once.
BUCKET_MB = 25


class AllReduce(ProcessGroupStrategy):
    """Gradients are averaged by DDP, or by a hook that compresses them."""

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        self._waits_from = 0.0
        named = self.join_gang(model, optimizer, resume=resume, plan=plan)
        self._named, self._trained = named, [p for _, p in named]
        self._ring_bytes = ring_bytes(sum(p.nbytes for p in self._trained), self.n_workers)
        self._wrapped: DistributedDataParallel | None = None
        self._hook: Hook | None = None
        # the noise scale needs the true mean, not one of compressed gradients
        given = self.spec.parameters
        self._is_whole = given["compression"] in ("none", "fp16") and given["reduction"] == "mean"
        self._residuals = {} if resume is None else mean_residual(resume)
        self._carried_residual = ErrorFeedbackResidual({})
        self._scaler = torch.amp.GradScaler(self.device().type, enabled=plan.scales_loss)
        if self.n_workers == 1:
            self._carried_residual, self._residuals = ErrorFeedbackResidual(self._residuals), {}
            return model
        self._hook = hook_for(
            named, self.spec.parameters, self._residuals, rank=self.rank, n_workers=self.n_workers,
            seed=self.pod.spec.training.seed, start=plan.start,
        )  # fmt: skip
        if self._hook is None or not self._hook.has_residual:
            self._carried_residual, self._residuals = ErrorFeedbackResidual(self._residuals), {}
        # gradients are views of the buckets, so nothing is copied back
        with replicas_without_compiler():
            self._wrapped = DistributedDataParallel(
                model,
                forward_sync_buffers=False,
                gradient_as_bucket_view=True,
                bucket_cap_mb=None if self.device().type == "cuda" else BUCKET_MB,
            )
        if self._hook is not None:
            self._wrapped.register_comm_hook(state=None, hook=self._timed_hook)
        return self._wrapped

    def step(self, losses: Losses, *, n: int) -> StepResult:
        self.optimizer.zero_grad(set_to_none=True)
        self._waits_from = 0.0
        weighted: list[Tensor] = []
        weight = 0.0
        is_scaled = self.plan.scales_loss  # scaled gradients give no noise scale
        self._is_observed = self._is_whole and not is_scaled and self.noise_estimator.is_due and self.is_agreement_due
        for index in range(n):
            is_last = index == n - 1
            with nullcontext() if is_last or self._wrapped is None else self._wrapped.no_sync():
                loss, share = next(losses)
                weighted.append(loss.detach().float() * share)
                # DDP averages over workers, while the mean of the batch weights by examples
                factor = share * self.n_workers
                self._backward(self._scaler.scale(loss if factor == 1.0 else loss * factor), is_last=is_last)
            weight += share
            if self._wrapped is None and not is_scaled:
                grads = [p.grad for p in self._trained]
                self.local_noise.observe(grads, weight=weight, is_first=index == 0, is_last=is_last)
        sync_s = max(0.0, time.perf_counter() - self._waits_from) if self._waits_from else 0.0
        if self._is_observed:
            self.noise_estimator.observe_mean([p.grad for p in self._trained])
        if self.plan.clip_norm is not None or self._carried_residual:
            self._scaler.unscale_(self.optimizer)
        if self.plan.clip_norm is not None:
            nn.utils.clip_grad_norm_(self._trained, self.plan.clip_norm)
        self._carried_residual.add_to((name, 0, p.grad) for name, p in self._named)
        return self.apply_gradient(sum(weighted[1:], weighted[0]), sync_s, n_bytes=self._n_bytes())

    def set_batch(self, *, length: int, passes: int, learning_rate_factor: float) -> None:
        """Makes further steps on so many declared batches at once; called by all workers at the end of an epoch."""
        self.length, self.passes = length, passes
        self.scheduler.scale = learning_rate_factor

    def optimizer_step(self) -> None:
        """Skips a step whose gradient overflowed in half precision; all workers skip the same ones."""
        before = self._scaler.get_scale() if self._carried_residual else 0.0
        self._scaler.step(self.optimizer)
        self._scaler.update()
        if self._carried_residual and self._scaler.get_scale() >= before:
            self._carried_residual.clear()

    def before_barrier(self, barrier: Barrier) -> None:
        """Replicas are equal already; residuals go into a checkpoint as their mean over workers."""
        if self._hook is None or not barrier.saves:
            return
        self._residuals = {name: residual.clone() for name, residual in self._hook.residuals().items()}
        for residual in self._residuals.values():
            dist.all_reduce(residual)
            residual /= self.n_workers

    def save_optimizer(self) -> CopiedState:
        saving = super().save_optimizer()
        if self._residuals or self._carried_residual:
            saving.files[RESIDUALS] = self._residuals or self._carried_residual.by_name
        return saving

    def _backward(self, loss: Tensor, *, is_last: bool) -> None:
        if self._wrapped is None or self._hook is not None or not is_last:
            torch.autograd.backward(loss)
            return
        handles = [_after(p, self._observe) for p in self._trained] if self._is_observed else []
        # called before DDP's callback, which waits for the last bucket
        loss.register_hook(lambda _: Variable._execution_engine.queue_callback(self._mark_sync))  # type: ignore[no-untyped-call]
        torch.autograd.backward(loss)
        for handle in handles:
            handle.remove()

    def _observe(self, parameter: Tensor) -> None:
        """Observes a gradient before it is averaged."""
        assert parameter.grad is not None
        self.noise_estimator.observe_local(parameter.grad)

    def _mark_sync(self) -> None:
        """Marks the end of computation: the rest of the backward pass is waiting."""
        self.plan.heartbeat.record("sync")
        self._waits_from = time.perf_counter()

    def _timed_hook(self, _: Any, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
        assert self._hook is not None
        if self._is_observed:
            self.noise_estimator.observe_local(bucket.buffer())
        self._mark_sync()
        return self._hook.reduce(bucket)

    def _n_bytes(self) -> float:
        if self._hook is None:
            return self._ring_bytes
        n_bytes, self._hook.n_bytes = self._hook.n_bytes, 0.0
        return n_bytes


def _after(parameter: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Registers a hook that is called when the parameter's gradient is complete."""
    handle: RemovableHandle = parameter.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]
    return handle
