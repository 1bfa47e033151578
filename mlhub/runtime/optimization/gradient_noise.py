# SPDX-License-Identifier: Apache-2.0
"""The gradient noise scale: the batch size up to which larger batches still save steps, estimated during training.

It follows from gradients over few and over many examples: each worker's own against the mean of all; a micro-batch's
against the whole batch's; or, where a worker has only one gradient a step, two successive steps against their mean.

Source: McCandlish et al., An Empirical Model of Large-Batch Training, 2018, appendix A.1: the simple noise scale
trace(covariance) / |gradient|^2. Deviation: of two successive steps, as in AdaptDL, the drift between them counts as
noise.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

DECAY = 0.9  # of a sample's weight with each later sample
MAX_COST = 0.005  # of the training time
MIN_PAUSE_S = 0.5


@dataclass(frozen=True)
class NoiseSample:
    """Squared norms of mean gradients over few and over many examples. n_*: how many, as parts of the step's batch."""

    small_sq: float
    n_small: float
    large_sq: float
    n_large: float

    def in_parts_of(self, length: int) -> NoiseSample:
        """The sample of a step of so many declared batches, in parts of one of them."""
        return NoiseSample(self.small_sq, self.n_small * length, self.large_sq, self.n_large * length)


class NoiseScale:
    """The estimate over samples. Numerator and denominator are smoothed separately, since each alone is unbiased."""

    def __init__(self) -> None:
        self._trace, self._square, self._weight = 0.0, 0.0, 0.0

    def add(self, sample: NoiseSample) -> None:
        """Adds a sample. Raises ValueError when both of its gradients are of equally many examples."""
        if not 0 < sample.n_small < sample.n_large:
            raise ValueError(f"{sample.n_small} examples are not fewer than {sample.n_large}")
        trace = (sample.small_sq - sample.large_sq) / (1 / sample.n_small - 1 / sample.n_large)
        square = (sample.n_large * sample.large_sq - sample.n_small * sample.small_sq) / (
            sample.n_large - sample.n_small
        )
        self._trace = DECAY * self._trace + (1 - DECAY) * trace
        self._square = DECAY * self._square + (1 - DECAY) * square
        self._weight = DECAY * self._weight + (1 - DECAY)

    def value(self, *, batch_size: int) -> float | None:
        """The noise scale in examples. None while it is unknown: no sample yet, or too noisy an estimate."""
        if self._trace <= 0 or self._square <= 0:
            return None
        return batch_size * self._trace / self._square


class LocalNoiseEstimator:
    """Estimates from a worker's own gradients, at some steps only, so that it costs less than MAX_COST of the time."""

    def __init__(self) -> None:
        self._is_due, self._due_at, self._cost_s = False, 0.0, 0.0
        self._small: tuple[float, float] | None = None  # squared norm, part of the batch
        self._earlier: list[Tensor] | None = None  # a gradient, until the next step's
        self._sample: NoiseSample | None = None

    def observe(
        self,
        gradients: Sequence[Tensor | None],
        *,
        weight: float,
        is_first: bool,
        is_last: bool,
        scale: float = 1.0,
    ) -> None:
        """Observes the gradient after the backward pass of a micro-batch.

        gradients: sums so far of mean gradients times their fractions of the step's batch, times scale; they are not
        changed. weight: the sum of those fractions.
        """
        began = time.perf_counter()
        if is_first:
            self._is_due = began >= self._due_at
        present = [g for g in gradients if g is not None]
        if not self._is_due or weight <= 0 or not present:
            return
        if is_first and is_last:
            self._compare_steps(present, weight, 1.0 / (weight * scale))
        elif is_first:
            self._small = squared_norm(present) / (weight * scale) ** 2, weight
        elif is_last and self._small is not None and self._small[1] < weight:
            self._sample = NoiseSample(*self._small, squared_norm(present) / (weight * scale) ** 2, weight)
        now = time.perf_counter()
        self._cost_s += now - began
        if self._sample is not None:
            self._due_at = now + max(MIN_PAUSE_S, self._cost_s / MAX_COST)
            self._small, self._cost_s = None, 0.0

    def pop_sample(self) -> NoiseSample | None:
        sample, self._sample = self._sample, None
        return sample

    def _compare_steps(self, gradients: list[Tensor], weight: float, factor: float) -> None:
        """Samples every second step against the mean of two. factor: turns the gradients into mean gradients."""
        if self._earlier is None:
            self._earlier = [g.detach() * factor for g in gradients]
            return
        earlier, self._earlier = self._earlier, None
        if [g.shape for g in earlier] != [g.shape for g in gradients]:
            return
        both = squared_norm(earlier), squared_norm(gradients) * factor**2
        summed = torch._foreach_add(earlier, gradients, alpha=factor)
        self._sample = NoiseSample(sum(both) / 2, weight, squared_norm(summed) / 4, 2 * weight)


class GradientNoiseEstimator:
    """Estimates from every worker's gradient against the mean of all, where that mean is formed anyway.

    All workers observe the same steps, since they decide by numbers that they have summed.
    """

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers
        self.is_due = n_workers > 1
        self._own, self._cost_s, self._pause_s = 0.0, 0.0, 0.0
        self._mean: float | None = None
        self._sample: NoiseSample | None = None

    def observe_local(self, part: Tensor) -> None:
        """Observes a slice of this worker's gradient before it is averaged."""
        began = time.perf_counter()
        self._own += float(torch.linalg.vector_norm(part.detach(), dtype=torch.float32)) ** 2
        self._cost_s += time.perf_counter() - began

    def observe_mean(self, gradients: Sequence[Tensor | None]) -> None:
        """Observes the averaged gradient."""
        began = time.perf_counter()
        self._mean = squared_norm([g for g in gradients if g is not None])
        self._cost_s += time.perf_counter() - began

    def partial_sums(self) -> list[float]:
        """Two numbers to be summed over the workers, since the last call."""
        sums, self._own, self._cost_s = [self._own, self._cost_s], 0.0, 0.0
        return sums

    def combine(self, summed: Sequence[float], *, elapsed_s: float) -> None:
        """Takes the sums over all workers. elapsed_s: seconds since the last call, the same number on all workers."""
        own, cost_s = summed
        self._pause_s -= elapsed_s
        if self._mean is not None:
            if math.isfinite(own) and math.isfinite(self._mean):
                self._sample = NoiseSample(own / self._n_workers, 1.0 / self._n_workers, self._mean, 1.0)
            self._pause_s = max(MIN_PAUSE_S, cost_s / self._n_workers / MAX_COST)
            self._mean = None
        self.is_due = self._n_workers > 1 and self._pause_s <= 0

    def pop_sample(self) -> NoiseSample | None:
        sample, self._sample = self._sample, None
        return sample


def squared_norm(tensors: Sequence[Tensor]) -> float:
    """The squared Euclidean norm of all tensors as one vector."""
    norms = torch._foreach_norm([t.detach() for t in tensors])
    return float(torch.stack([n.float() for n in norms]).square().sum())
