# SPDX-License-Identifier: Apache-2.0
"""Progress a second where the batch may change: examples a second times what each is worth (statistical efficiency).

Source: Qiao et al., Pollux (OSDI '21), sec. 3.1; McCandlish et al., An empirical model of large-batch training (2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.snapshot import JobSnapshot

N_BATCHES = 24  # sizes that are tried between the smallest and the largest, in geometric steps
_GRAIN = 1e-8


@dataclass(frozen=True)
class BatchSizes:
    """Holds the global batch sizes that a job may use on n workers, shape (B,), and the passes per step of each."""

    size_B: Floats  # noqa: N815 (arrays wear their axes)
    passes_B: Floats  # noqa: N815


def gain_B(size_B: Floats, *, batch_size: int, noise_scale: float | Floats) -> Floats:  # noqa: N802
    """Returns the declared steps that one step at each batch size is worth, shape (B,): 1 at the declared batch.

    noise_scale: of the gradient, in examples; 0 means that a larger batch gains nothing; several as an array that
    broadcasts. Source: McCandlish et al.
    (2018); Qiao et al., Pollux (OSDI '21), sec. 3.1.
    """
    return size_B * (noise_scale + batch_size) / (batch_size * (noise_scale + size_B))


def adapts_batch(job: JobSnapshot) -> bool:
    """Returns whether the scheduler chooses the job's batch: its user allows larger ones than the declared one, and
    its noise scale is known.
    """
    return job.max_batch_size is not None and job.noise_scale is not None and job.max_batch_size > job.batch_size


def batches_of(job: JobSnapshot, n_workers: int) -> BatchSizes:
    """Returns the declared batch; or, where the job allows a range, N_BATCHES sizes of it that n workers can hold.

    A worker's share above max_local_batch is done in several passes. A lone worker with more than the declared batch
    makes two at least: gradient statistics need two samples.
    """
    if not adapts_batch(job):
        # where the range is allowed, but what it is worth is not known yet, a worker has what it needs at least
        least_local = 0 if job.max_batch_size is None else job.min_local_batch
        return _declared(job.batch_size, job.max_local_batch, least_local, n_workers)
    return _in_range(job.batch_size, job.max_batch_size, job.min_local_batch, job.max_local_batch, n_workers)


@lru_cache(maxsize=1 << 12)
def _in_range(
    batch_size: int, max_batch_size: int, min_local_batch: int, max_local_batch: int | None, n_workers: int
) -> BatchSizes:
    """The arrays are shared by all callers, and read-only."""
    least = max(batch_size, min_local_batch * n_workers)
    most = max(float(least), float(max_batch_size))
    local_B = np.geomspace(least, most, N_BATCHES) / n_workers
    passes_B = np.maximum(np.ceil(local_B / (max_local_batch or local_B.max()) - _GRAIN), 1.0)
    if n_workers == 1:
        passes_B = np.where(local_B > batch_size + _GRAIN, np.maximum(passes_B, 2), passes_B)
    pass_B = np.maximum(np.ceil(local_B / passes_B - _GRAIN), min_local_batch)
    found = BatchSizes(pass_B * passes_B * n_workers, passes_B)
    found.size_B.setflags(write=False)
    found.passes_B.setflags(write=False)
    return found


@lru_cache(maxsize=1 << 14)
def _declared(batch_size: int, max_local_batch: int | None, least_local: int, n_workers: int) -> BatchSizes:
    """The arrays are shared by all callers, and read-only."""
    local = max(batch_size / n_workers, 1.0)
    passes = max(1.0, float(np.ceil(local / max_local_batch - _GRAIN))) if max_local_batch else 1.0
    return BatchSizes(np.array([max(local, float(least_local)) * n_workers]), np.array([passes]))


@dataclass(frozen=True)
class BatchSchedule:
    """Holds the seconds of training by declared steps on one layout: at steps_K, ascending from 0, seconds_K have
    passed.

    Beyond the last of these a step takes last_step_s.
    """

    steps_K: Floats  # noqa: N815
    seconds_K: Floats  # noqa: N815
    last_step_s: float

    def mean_step_s(self, done: float, total: float) -> float:
        """Returns the mean seconds of the steps from done to total; of the next step where none are left."""
        since, until = self._at(done), self._at(max(total, done + 1.0))
        mean_s = (until - since) / (max(total, done + 1.0) - done)
        return mean_s if mean_s > 0.0 else self.last_step_s  # of steps beyond all precision

    def _at(self, steps: float) -> float:
        beyond = max(0.0, steps - float(self.steps_K[-1]))
        return float(np.interp(steps, self.steps_K, self.seconds_K)) + beyond * self.last_step_s


def declared_step_s(
    size_XB: Floats,
    step_s_XB: Floats,
    gains_XB: Floats,
    *,
    batch_size: int,
    counts_examples: bool,
) -> Floats:
    """Returns the seconds of a declared step at the batch with the best goodput, shape (X,) of arrays (X, B).

    counts_examples: as of JobSnapshot: a step at n declared batches is n declared steps, whatever it is worth.
    """
    goodput_XB = gains_XB / step_s_XB
    if not counts_examples:
        return np.asarray(1.0 / goodput_XB.max(axis=-1))
    best_X1 = goodput_XB.argmax(axis=-1)[..., None]
    seconds_XB = np.broadcast_to(step_s_XB * batch_size / size_XB, goodput_XB.shape)
    return np.asarray(np.take_along_axis(seconds_XB, best_X1, axis=-1)[..., 0])


def batch_schedule(
    noise_ahead: Sequence[tuple[float, float]],
    *,
    size_B: Floats,
    step_s_B: Floats,
    batch_size: int,
    counts_examples: bool = False,
) -> BatchSchedule:
    """Returns how long steps take while the gradient's noise scale grows and larger batches become worthwhile.

    noise_ahead: (steps done, noise scale then), ascending. size_B, step_s_B: batches and step times on one layout.
    counts_examples: as of declared_step_s. At each point the batch with the best goodput is taken; between two points
    a step takes their mean.
    """
    steps_K = np.array([steps for steps, _ in noise_ahead])
    noise_K1 = np.array([[noise] for _, noise in noise_ahead])
    gains_KB = size_B * (noise_K1 + batch_size) / (batch_size * (noise_K1 + size_B))
    each_K = declared_step_s(size_B, step_s_B, gains_KB, batch_size=batch_size, counts_examples=counts_examples)
    if steps_K[0] > 0:
        steps_K, each_K = np.insert(steps_K, 0, 0.0), np.insert(each_K, 0, each_K[0])
    seconds_K = np.concatenate([[0.0], np.cumsum(np.diff(steps_K) * (each_K[1:] + each_K[:-1]) / 2)])
    return BatchSchedule(steps_K, seconds_K, float(each_K[-1]))
