"""The gradient noise scale: up to which batch size larger batches still save steps. Measured now and then, in passing.

Gradients over few and over many examples tell it: each worker's own against the mean of all; a micro-batch's against
the whole batch's; or, where a worker has only one gradient a step, two steps after each other against their mean.

Source: McCandlish et al., An Empirical Model of Large-Batch Training, 2018, appendix A.1: the simple noise scale
trace(covariance) / |gradient|^2. Deviation: of two steps after each other, as in AdaptDL, the way between them counts
as noise.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

DECAY = 0.9  # of a sample's weight with each one that follows
COST = 0.005  # of the time at most
LEAST_PAUSE_S = 0.5


@dataclass(frozen=True)
class Sample:
    """Squared norms of mean gradients over few and over many examples; n_*: how many, as parts of the step's batch."""

    small_sq: float
    n_small: float
    large_sq: float
    n_large: float


class NoiseScale:
    """Smoothed over samples; numerator and denominator apart, since each of them alone is unbiased."""

    def __init__(self) -> None:
        self._trace, self._square, self._weight = 0.0, 0.0, 0.0

    def add(self, sample: Sample) -> None:
        """Raises ValueError when both gradients are of equally many examples."""
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
        """In examples. None while it is not known: no sample yet, or the noise of the measurement is larger."""
        if self._trace <= 0 or self._square <= 0:
            return None
        return batch_size * self._trace / self._square


class LocalNoiseEstimator:
    """Looks at a worker's own gradients, at some steps only, so that it costs less than COST of the time."""

    def __init__(self) -> None:
        self._is_due, self._due_at, self._cost_s = False, 0.0, 0.0
        self._small: tuple[float, float] | None = None  # squared norm, part of the batch
        self._earlier: list[Tensor] | None = None  # a gradient, until the next step's
        self._sample: Sample | None = None

    def look(
        self,
        gradients: Sequence[Tensor | None],
        *,
        weight: float,
        is_first: bool,
        is_last: bool,
        scale: float = 1.0,
    ) -> None:
        """After the backward pass of a micro-batch. gradients: sums so far of mean gradients times their parts of the
        step's batch, times scale; weight: the sum of those parts. They are not changed."""
        began = time.perf_counter()
        if is_first:
            self._is_due = began >= self._due_at
        there = [g for g in gradients if g is not None]
        if not self._is_due or weight <= 0 or not there:
            return
        if is_first and is_last:
            self._compare_steps(there, weight, 1.0 / (weight * scale))
        elif is_first:
            self._small = squared_norm(there) / (weight * scale) ** 2, weight
        elif is_last and self._small is not None and self._small[1] < weight:
            self._sample = Sample(*self._small, squared_norm(there) / (weight * scale) ** 2, weight)
        now = time.perf_counter()
        self._cost_s += now - began
        if self._sample is not None:
            self._due_at = now + max(LEAST_PAUSE_S, self._cost_s / COST)
            self._small, self._cost_s = None, 0.0

    def take(self) -> Sample | None:
        sample, self._sample = self._sample, None
        return sample

    def _compare_steps(self, gradients: list[Tensor], weight: float, factor: float) -> None:
        """factor: makes mean gradients of them."""
        if self._earlier is None:
            self._earlier = [g.detach() * factor for g in gradients]
            return
        earlier, self._earlier = self._earlier, None
        if [g.shape for g in earlier] != [g.shape for g in gradients]:
            return
        both = squared_norm(earlier), squared_norm(gradients) * factor**2
        summed = torch._foreach_add(earlier, gradients, alpha=factor)
        self._sample = Sample(sum(both) / 2, weight, squared_norm(summed) / 4, 2 * weight)


class GradientNoiseEstimator:
    """Every worker's gradient against the mean of all, where that mean is formed anyway. All workers look at the same
    steps, since they decide by what they have told each other."""

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers
        self.is_due = n_workers > 1
        self._own, self._cost_s, self._pause_s = 0.0, 0.0, 0.0
        self._mean: float | None = None
        self._sample: Sample | None = None

    def look_at_own(self, part: Tensor) -> None:
        """A stretch of this worker's gradient, before it is averaged: as large as the mean is in the end."""
        began = time.perf_counter()
        self._own += float(torch.linalg.vector_norm(part.detach(), dtype=torch.float32)) ** 2
        self._cost_s += time.perf_counter() - began

    def look_at_mean(self, gradients: Sequence[Tensor | None]) -> None:
        began = time.perf_counter()
        self._mean = squared_norm([g for g in gradients if g is not None])
        self._cost_s += time.perf_counter() - began

    def told(self) -> list[float]:
        """To be summed over the workers."""
        told, self._own, self._cost_s = [self._own, self._cost_s], 0.0, 0.0
        return told

    def hear(self, summed: Sequence[float], *, elapsed_s: float) -> None:
        """summed: all workers' words. elapsed_s: since the last time, the same number on all workers."""
        own, cost_s = summed
        self._pause_s -= elapsed_s
        if self._mean is not None:
            if math.isfinite(own) and math.isfinite(self._mean):
                self._sample = Sample(own / self._n_workers, 1.0 / self._n_workers, self._mean, 1.0)
            self._pause_s = max(LEAST_PAUSE_S, cost_s / self._n_workers / COST)
            self._mean = None
        self.is_due = self._n_workers > 1 and self._pause_s <= 0

    def take(self) -> Sample | None:
        sample, self._sample = self._sample, None
        return sample


def squared_norm(tensors: Sequence[Tensor]) -> float:
    """Of all of them as one vector."""
    norms = torch._foreach_norm([t.detach() for t in tensors])
    return float(torch.stack([n.float() for n in norms]).square().sum())
