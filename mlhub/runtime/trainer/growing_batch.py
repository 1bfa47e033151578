# SPDX-License-Identifier: Apache-2.0
"""A training whose batch may grow: what its workers measure in an epoch becomes the batch of the next one.

On a platform its scheduler decides: worker 0 reads what the launcher received, and all workers make the same change.
Each step is of whole declared batches.
"""

from __future__ import annotations

import json

import torch

from mlhub.runtime.model.hyperparameters import Settings
from mlhub.runtime.pod import Pod
from mlhub.runtime.strategies.protocol import Strategy
from mlhub.runtime.strategies.synchronous.all_reduce import AllReduce
from mlhub.runtime.trainer.batch_adaptation import (
    BatchAdapter,
    PassLimit,
    learning_rate_factor,
    memory_share,
)
from mlhub.runtime.trainer.training_reporter import TrainingReporter
from mlhub.wire.launch import BatchDecision


class GrowingBatch:
    """Changes the batch at the end of an epoch; every worker makes the same calls, and comes to the same choice."""

    def __init__(
        self, strategy: AllReduce, report: TrainingReporter, *, batch_size: int, max_batch_size: int, rule: str
    ) -> None:
        self._strategy, self._report, self._batch_size, self._rule = strategy, report, batch_size, rule
        self._adapter = BatchAdapter(batch_size=batch_size, max_batch_size=max_batch_size)
        self._seconds, self._n_steps = 0.0, 0
        report.plot(strategy.done, {"train/batch_size": float(batch_size)})

    def observe(self, seconds: float) -> None:
        """Observes a step that took so long."""
        self._seconds += seconds
        self._n_steps += 1

    def at_boundary(self, step: int, *, is_epoch_end: bool) -> None:
        """Chooses the batch of the next epoch, and the learning rate by it."""
        if not self._n_steps or not is_epoch_end:
            return
        before = self._adapter.current
        step_s, noise, share = self._agree()
        choice = self._adapter.choose(step_s=step_s, noise_scale=noise, memory_share=share)
        self._seconds, self._n_steps = 0.0, 0
        if choice == before or noise is None:
            return
        factor = learning_rate_factor(choice.length, batch_size=self._batch_size, noise_scale=noise, rule=self._rule)
        self._strategy.set_batch(length=choice.length, passes=choice.passes, learning_rate_factor=factor)
        self._report.report_batch_change(
            step, was=before.length * self._batch_size, batch_size=choice.length * self._batch_size,
            learning_rate_factor=factor, reason=choice.reason,
        )  # fmt: skip

    def _agree(self) -> tuple[float, float | None, float]:
        """Means over the workers of the seconds of a step and of the noise scale, and their largest share of memory."""
        strategy, noise = self._strategy, self._report.noise_scale
        n, device = strategy.n_workers, strategy.device()
        shares = [memory_share(device) if rank == strategy.rank else 0.0 for rank in range(n)]
        values = [self._seconds / self._n_steps, noise or 0.0, float(noise is not None), *shares]
        step_s, total, n_known, *shares = strategy.sum_over_workers(values)
        return step_s / n, total / n if n_known == n else None, max(shares)


class DecidedBatch:
    """Follows the scheduler at epochs and checkpoints; every worker makes the same calls.

    rule: of the learning rate (batch_adaptation.py).
    """

    def __init__(
        self, strategy: AllReduce, report: TrainingReporter, *, pod: Pod, first: BatchDecision, max_batch_size: int,
        rule: str,
    ) -> None:  # fmt: skip
        self._strategy, self._report, self._pod, self._rule = strategy, report, pod, rule
        self._declared = pod.spec.training.batch_size
        self._most = max(1, max_batch_size // self._declared)
        self._limit = PassLimit()
        self._decision, self._length = first, self._length_of(first)
        self._passes = self._length  # a declared batch at a time, until memory was measured
        report.report_first_batch(self._length * self._declared, self._apply())

    def observe(self, seconds: float) -> None:
        """The scheduler learns the time of steps from progress reports."""

    def at_boundary(self, step: int, *, is_epoch_end: bool) -> None:  # noqa: ARG002 (every boundary will do)
        """Follows the newest decision from this step on, in as few passes as memory allows."""
        was_unknown = self._decision.noise_scale is None
        self._decision, share = self._agree()
        before, length = self._length, self._length_of(self._decision)
        passes = self._limit.passes(length, share)
        if (length, passes) == (before, self._passes):
            if was_unknown and self._decision.noise_scale is not None and length > 1:
                self._apply()  # the rule for the rate knows more than before
            return
        self._length, self._passes = length, passes
        factor = self._apply()
        if length != before:
            self._report.report_batch_change(
                step, was=before * self._declared, batch_size=length * self._declared, learning_rate_factor=factor,
                reason=self._decision.reason + (f" In {passes} passes, by memory." if passes > 1 else ""),
            )  # fmt: skip

    def _apply(self) -> float:
        """Returns the factor of the learning rate."""
        noise = self._decision.noise_scale
        rule = "square_root" if noise is None and self._rule == "adascale" else self._rule
        factor = learning_rate_factor(self._length, batch_size=self._declared, noise_scale=noise or 0.0, rule=rule)
        self._strategy.set_batch(length=self._length, passes=self._passes, learning_rate_factor=factor)
        return factor

    def _length_of(self, decision: BatchDecision) -> int:
        """In declared batches; within the range, whatever was decided."""
        return max(1, min(decision.batch_size // self._declared, self._most))

    def _agree(self) -> tuple[BatchDecision, float]:
        """Worker 0's decision, and the largest share of memory that any worker has taken."""
        strategy, rank = self._strategy, self._strategy.rank
        own = self._read() if rank == 0 else BatchDecision(0)
        shares = [memory_share(strategy.device()) if i == rank else 0.0 for i in range(strategy.n_workers)]
        summed = strategy.sum_over_workers([float(own.batch_size), own.noise_scale or 0.0, *shares])
        size, noise, *shares = summed
        return BatchDecision(round(size), noise or None, own.reason), max(shares)

    def _read(self) -> BatchDecision:
        """The newest decision; the one before where there is none yet."""
        try:
            return BatchDecision.from_json(json.loads(self._pod.batch_decision.read_text()))
        except FileNotFoundError:
            return self._decision


def growing_batch(
    settings: Settings, strategy: Strategy, report: TrainingReporter, optimizer: torch.optim.Optimizer, *, pod: Pod
) -> GrowingBatch | DecidedBatch | None:
    """The batch of a training that was given a range; None where it is fixed."""
    if settings.max_batch_size is None or not isinstance(strategy, AllReduce):
        return None
    by_optimizer = "adascale" if isinstance(optimizer, torch.optim.SGD) else "square_root"
    rule = by_optimizer if settings.learning_rate_scaling == "auto" else settings.learning_rate_scaling
    spec, most = pod.spec.training, settings.max_batch_size
    if spec.batch is not None:
        return DecidedBatch(strategy, report, pod=pod, first=spec.batch, max_batch_size=most, rule=rule)
    return GrowingBatch(strategy, report, batch_size=spec.batch_size, max_batch_size=most, rule=rule)
