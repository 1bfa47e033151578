# SPDX-License-Identifier: Apache-2.0
"""The sizes of many jobs as flat arrays, so that what depends on job and size is worked out for all of them at once.

Axes: J jobs, F pairs of a job and one of its sizes, job after job.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scheduler.api.arrays import Floats, Ints

Flags = NDArray[np.bool_]


class SizeArrays:
    """Holds the sizes of jobs, at least one each, the least one first. size_F: in GPUs; job_F: whose."""

    def __init__(self, sizes: Sequence[Collection[int]]) -> None:
        count_J = np.array([len(own) for own in sizes], dtype=np.int64)
        self.size_F: Ints = np.array(list(chain.from_iterable(sizes)), dtype=np.int64)
        self.job_F: Ints = np.repeat(np.arange(len(sizes)), count_J)
        self._first_J = count_J.cumsum() - count_J
        self.is_least_F: Flags = np.zeros(len(self.size_F), dtype=np.bool_)
        self.is_least_F[self._first_J] = True

    def fastest_J(self, step_F: Floats, *, among_F: Flags, share: float) -> Ints:  # noqa: N802 (arrays wear their axes)
        """Returns, as index into axis F, the first of each job's fastest sizes of at most share GPUs, or its least one.

        step_F: seconds of a step. among_F: the sizes that count; the least ones always do.
        """
        if not len(step_F):
            return self._first_J
        step_F = np.where((among_F & (self.size_F <= share)) | self.is_least_F, step_F, np.inf)
        best_F = np.flatnonzero(step_F == np.minimum.reduceat(step_F, self._first_J)[self.job_F])
        return best_F[np.searchsorted(self.job_F[best_F], np.arange(len(self._first_J)))]

    def rows(self, value_F: NDArray[Any], among_F: Flags) -> list[list[Any]]:
        """Returns the values of each job, at those of its sizes that count."""
        values, found, at = value_F[among_F].tolist(), [], 0
        for n in np.bincount(self.job_F[among_F], minlength=len(self._first_J)).tolist():
            found.append(values[at : at + n])
            at += n
        return found


def flat(rows: Iterable[Iterable[float]]) -> Floats:
    """Returns the values of all jobs, one after the other, shape (F,)."""
    return np.array(list(chain.from_iterable(rows)), dtype=np.float64)
