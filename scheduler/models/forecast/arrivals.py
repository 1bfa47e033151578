# SPDX-License-Identifier: Apache-2.0
"""How much later jobs end because of jobs that will still arrive and overtake them, learnt from earlier arrivals.

Every arrival is recorded with its depth in the policy's order, the share of all other work that was before it, and its
own work. Work that is put before a job at a rate of rho (of what the cluster does) makes its time 1 / (1 - rho) times
as long, as in queues that serve the shortest first (Schrage and Miller, 1966); rho grows with a job's depth in the
order: no job overtakes the first one, and under first come, first served none is overtaken, however short the queue
was to whose end others came. How long arrivals go on is not known; they went on for H seconds so far: as likely as not
for H more, and in one of ten cases for nine times H (any length as likely as its double). Work is in GPU-seconds;
axes: J jobs, A arrivals, by depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from scheduler.api.arrays import Floats

NEWEST = 200  # arrivals count
MOST_RHO = 0.98
GOES_ON_P90 = 9.0


class ArrivalEffects:
    """Estimates how later arrivals delay present jobs, from depths and works of the newest arrivals; it is part of the
    plan's memory.
    """

    def __init__(self, memory: Mapping[str, Any]) -> None:
        self._newest: list[list[float]] = list(memory.get("newest", ()))

    def record(self, arrivals: Iterable[tuple[float, float]], *, now_s: float) -> None:
        """Records of each arrival the share of the other work before it in the order, and its own in GPU-seconds."""
        self._newest = [*self._newest, *([now_s, depth, work] for depth, work in arrivals)][-NEWEST:]

    def delayed(
        self, left_J: Floats, most_J: Floats, depth_J: Floats, *, n_gpus: int, now_s: float
    ) -> tuple[Floats, Floats]:
        """Returns left_J and most_J, each of shape (J,), with the expected arrivals.

        left_J, most_J: seconds until each job ends, P50 and P90, without further arrivals. depth_J: the share of all
        work that is before the middle of the job's own. Arrivals of the oldest instant only mark when the count began.
        """
        came = [one for one in self._newest if one[0] > self._newest[0][0]]
        if not came or n_gpus < 1:
            return left_J, most_J
        span_s = max(now_s - self._newest[0][0], 1.0)
        depth_A, work_A = np.array(sorted(one[1:] for one in came)).T
        rho_A = work_A.cumsum() / (n_gpus * span_s)
        stretch_J = _mean_stretch(depth_A, rho_A, np.maximum(depth_J, 1e-9))
        rho_J = 1 - 1 / stretch_J
        half_J = np.minimum(left_J * stretch_J, left_J + rho_J * span_s)
        late_J = np.minimum(left_J * stretch_J, left_J + rho_J * GOES_ON_P90 * span_s)
        return half_J, np.maximum(half_J, late_J * np.maximum(1.0, most_J / np.maximum(left_J, 1e-9)))

    def to_json(self) -> dict[str, Any]:
        """Returns the newest arrivals as JSON values, from which the constructor continues."""
        return {"newest": self._newest}


def _mean_stretch(depth_A: Floats, rho_A: Floats, depth_J: Floats) -> Floats:
    """1 / (1 - rho), which rises by a step at the depth of each arrival, on average over the depths before each job."""
    edge_A = np.concatenate(([0.0], depth_A))
    stretch_A = 1 / (1 - np.minimum(np.concatenate(([0.0], rho_A)), MOST_RHO))
    total_A = np.concatenate(([0.0], np.cumsum(np.diff(edge_A) * stretch_A[:-1])))
    at_J = np.searchsorted(edge_A, depth_J, side="right") - 1
    found: Floats = (total_A[at_J] + (depth_J - edge_A[at_J]) * stretch_A[at_J]) / depth_J
    return found
