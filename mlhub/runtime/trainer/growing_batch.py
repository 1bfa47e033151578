# SPDX-License-Identifier: Apache-2.0
"""A training whose batch may grow: what its workers measure in an epoch becomes the batch of the next one."""

from __future__ import annotations

import torch

from mlhub.runtime.model.hyperparameters import Settings
from mlhub.runtime.strategies.protocol import Strategy
from mlhub.runtime.strategies.synchronous.all_reduce import AllReduce
from mlhub.runtime.trainer.batch_adaptation import BatchAdapter, learning_rate_factor, memory_share
from mlhub.runtime.trainer.training_reporter import TrainingReporter


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

    def end_epoch(self, step: int) -> None:
        """Chooses the batch of the next epoch, and the learning rate by it."""
        if not self._n_steps:
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


def growing_batch(
    settings: Settings, strategy: Strategy, report: TrainingReporter, optimizer: torch.optim.Optimizer, *,
    batch_size: int,
) -> GrowingBatch | None:  # fmt: skip
    """The batch of a training that was given a range; None where it is fixed."""
    if settings.max_batch_size is None or not isinstance(strategy, AllReduce):
        return None
    by_optimizer = "adascale" if isinstance(optimizer, torch.optim.SGD) else "square_root"
    rule = by_optimizer if settings.learning_rate_scaling == "auto" else settings.learning_rate_scaling
    return GrowingBatch(strategy, report, batch_size=batch_size, max_batch_size=settings.max_batch_size, rule=rule)
