# SPDX-License-Identifier: Apache-2.0
"""What finishing a job costs all present jobs: the weights with which an elastic policy shares GPUs out.

Finishing the job that is k-th from last shortens k completion times; if all of the cluster worked for it, it would be
worth k seconds a second. Only a part does, and others will come: k^0.75 times what the job takes is what served best
over many workloads, between shortest first (an exponent of 1) and the equal shares that unknown lengths would call
for (0). For speeds that are powers of the GPUs heSRPT (Berg et al., 2020) lies between these two in the same way.
Prices that are exact without further arrivals (the maximum principle) let long jobs wait too long with them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

EXPONENT = 0.75  # of the rank; from 0.65 to 0.85 the mean completion time changes by less than 0.5 %


class SpeedCurve(NamedTuple):
    """Holds a job's sizes in GPUs, ascending, and its remaining seconds at each."""

    sizes: Sequence[int]
    left_s: Sequence[float]

    @property
    def least_gpu_s(self) -> float:
        """Returns the GPU-seconds at the least size."""
        return self.sizes[0] * self.left_s[0]

    def fair_gpu_s(self, share: float) -> float:
        """Returns the seconds with at most share GPUs, times the least size: what an equal share of the cluster
        gives.
        """
        return self.sizes[0] * min(self.left_s[: bisect_right(self.sizes, share) or 1])


def prices(curves: Sequence[SpeedCurve], *, n_gpus: float) -> list[float]:
    """Returns the prices of jobs that share n_gpus, in seconds of all together, in the order of the curves.

    The rank is that of the time at an equal share, the longest first; of equals the first. What a job takes is
    half-way (a geometric mean) between its least GPU-seconds and the time at an equal share: more of the latter alone
    serves jobs that scale badly sooner, at the cost of the longest.
    """
    share = n_gpus / max(1, len(curves))
    fair = [curve.fair_gpu_s(share) for curve in curves]
    found = [0.0] * len(curves)
    for rank, i in enumerate(sorted(range(len(curves)), key=lambda i: -fair[i]), start=1):
        found[i] = rank**EXPONENT * (curves[i].least_gpu_s * fair[i]) ** 0.5
    return found


def prices_in_line(curves: Sequence[SpeedCurve], *, n_gpus: float) -> list[float]:
    """Returns the prices of jobs that have one size each, in the order of the curves, from the last to end to the
    first.

    They are exact for many jobs that are small for the cluster: a GPU-second delays those behind by k / n_gpus, and
    itself. For few jobs, exact prices are a staircase with steps as wide as the cluster. Jobs on one step are worth the
    same, and a job that passes another moves the edges for all others: the running jobs would change all the time.
    """
    return [max(curve.least_gpu_s, 1e-9) * (0.5 + k / max(n_gpus, 1.0)) for k, curve in enumerate(curves)]
