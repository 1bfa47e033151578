# SPDX-License-Identifier: Apache-2.0
"""Jobs of one class have the same speed at the same size: their step times at the standard layouts of each size.

Axes: G gangs (a size, packed or spread), B batch sizes; see candidate_layouts.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scheduler.api.arrays import Floats
from scheduler.models.speed.candidate_layouts import Gang
from scheduler.models.speed.model import MEASURED_ERROR, PRIOR_ERROR

SPREAD_MUST_GAIN = 0.03  # a gang is spread over more nodes than it needs if that is faster by this share
UNMEASURED_PAIR = 0.9  # until several workers were measured, two are assumed to need at most this part of one's time


@dataclass(frozen=True, eq=False)
class StepTimes:
    """Holds step times of gangs, each in its best mode.

    error_G: relative errors. step_GB: seconds per step at batches of size_GB.
    """

    error_G: Floats  # noqa: N815 (arrays wear their axes)
    step_GB: Floats  # noqa: N815
    size_GB: Floats  # noqa: N815


@dataclass(frozen=True)
class LayoutTimes:
    """Holds the seconds of a declared step of one gang: plain_s as predicted; step_s assumes that two workers gain.

    cautious_s is step_s made longer by its error, where this shape was not measured but others were: finding out
    costs a restart.
    """

    plain_s: float
    step_s: float
    cautious_s: float


class JobClass:
    """Holds the step times at standard layouts, by size and spread (0 = packed), of jobs that are priced alike.

    price: returns the step times of gangs. declared_step_s: seconds of a declared step of each gang, shape (G,).
    spreads: the numbers of nodes, more than needed, to consider for a size. assumes_pairs: UNMEASURED_PAIR applies.
    """

    def __init__(
        self,
        price: Callable[[tuple[Gang, ...]], StepTimes],
        declared_step_s: Callable[[StepTimes], Floats],
        spreads: Callable[[int], Iterable[int]],
        *,
        assumes_pairs: bool,
    ) -> None:
        self._price, self._declared_step_s, self._spreads = price, declared_step_s, spreads
        self._assumes_pairs = assumes_pairs
        self._times: dict[Gang, LayoutTimes] = {}
        self._best: dict[int, tuple[float, int]] = {}
        self._curves: dict[tuple[int, ...], tuple[float, ...]] = {}
        self._best_curves: dict[tuple[int, ...], tuple[float, ...]] = {}

    def prepare(self, sizes: Iterable[int]) -> None:
        """Works out at once what is going to be asked for."""
        missing = {n for n in sizes if n not in self._best}
        if self._assumes_pairs and 2 in missing and 1 not in self._best:
            missing.add(1)
        if missing:
            self._add(tuple((n, k) for n in sorted(missing) for k in (0, *self._spreads(n))))
            for n in missing:
                self._best[n] = self._best_of(n)

    def times(self, n_workers: int, n_nodes: int = 0) -> LayoutTimes:
        """Returns the step times of n workers, packed (n_nodes 0) or spread evenly over n_nodes."""
        found = self._times.get((n_workers, n_nodes))
        if found is None:
            self.prepare((n_workers,))
            if (n_workers, n_nodes) not in self._times:
                self._add(((n_workers, n_nodes),))
            found = self._times[n_workers, n_nodes]
        return found

    def curve(self, sizes: tuple[int, ...]) -> tuple[float, ...]:
        """Returns the seconds of a step at each of these sizes, at its best spread."""
        if sizes not in self._curves:
            self.prepare(sizes)
            self._curves[sizes] = tuple(self.times(n, self._best[n][1]).step_s for n in sizes)
        return self._curves[sizes]

    def best_curve(self, sizes: tuple[int, ...]) -> tuple[float, ...]:
        """Returns the seconds of a cautious step at each of these sizes, at its best spread."""
        if sizes not in self._best_curves:
            self.prepare(sizes)
            self._best_curves[sizes] = tuple(self._best[n][0] for n in sizes)
        return self._best_curves[sizes]

    def best(self, n_workers: int) -> tuple[float, int]:
        """Returns the seconds of a cautious step at the best spread, and that spread: packed, unless another one gains
        clearly.
        """
        if n_workers not in self._best:
            self.prepare((n_workers,))
        return self._best[n_workers]

    def _best_of(self, n_workers: int) -> tuple[float, int]:
        best_s, best = self._times[n_workers, 0].cautious_s, 0
        bound_s = best_s * (1 - SPREAD_MUST_GAIN)
        for n_nodes in self._spreads(n_workers):
            step_s = self._times[n_workers, n_nodes].cautious_s
            if step_s < bound_s:
                bound_s, best_s, best = step_s, step_s, n_nodes
        return best_s, best

    def _add(self, gangs: tuple[Gang, ...]) -> None:
        priced = self._price(gangs)
        declared = self._declared_step_s(priced).tolist()
        for gang, plain_s, error in zip(gangs, declared, priced.error_G.tolist(), strict=True):
            step_s = plain_s
            if self._assumes_pairs and gang[0] == 2:
                step_s = min(plain_s, UNMEASURED_PAIR * self._times[1, 0].step_s)
            cautious_s = step_s * (1 + error) if MEASURED_ERROR < error < PRIOR_ERROR else step_s
            self._times[gang] = LayoutTimes(plain_s, step_s, cautious_s)
