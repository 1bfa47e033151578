# SPDX-License-Identifier: Apache-2.0
"""The measurements that a speed model is fitted to: of each shape and batch, the mean of the newest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from scheduler.api.snapshot import SpeedObservation
from scheduler.models.bounded_tables import BoundedTable

NEWEST = 3  # measurements of one shape and batch that count
MAX_ENTRIES = 10_000


class ObservationMeans:
    """Keeps the means of measurements: when a family reports anew, those of most shapes stay as they were. Speed models
    of one cache share it.
    """

    def __init__(self) -> None:
        self._means = BoundedTable[tuple[SpeedObservation, ...], SpeedObservation](MAX_ENTRIES)

    def newest(self, observations: Sequence[SpeedObservation]) -> list[SpeedObservation]:
        """Returns one observation by shape and batch: the mean of the newest, weighted by their steps."""
        groups: dict[tuple[object, ...], list[SpeedObservation]] = {}
        for o in sorted(observations, key=lambda o: o.observed_at_s):
            groups.setdefault(o.like, []).append(o)
        return [group[0] if len(group) == 1 else self._mean(tuple(group[-NEWEST:])) for group in groups.values()]

    def _mean(self, group: tuple[SpeedObservation, ...]) -> SpeedObservation:
        found = self._means.get(group)
        if found is None:
            weights = np.array([max(1, o.n_steps) for o in group], dtype=float)
            times = np.array([[o.step_s, o.compute_s, o.sync_s] for o in group])
            step_s, compute_s, sync_s = (float(t) for t in weights @ times / weights.sum())
            mean = replace(group[-1], step_s=step_s, compute_s=compute_s, sync_s=sync_s, n_steps=int(weights.sum()))
            found = self._means.store(group, mean)
        return found
