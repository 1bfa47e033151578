# SPDX-License-Identifier: Apache-2.0
"""Jobs of one class have the same speed at the same size: their step times at the standard layouts of each size.

Axes: G gangs (a size, packed or spread), B batch sizes; see candidate_layouts.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.snapshot import JobSnapshot
from scheduler.models.speed.candidate_layouts import Gang, SizeGangs
from scheduler.models.speed.model import SpeedModel

SPREAD_MUST_GAIN = 0.03  # a gang is spread over more nodes than it needs if that is faster by this share
UNMEASURED_PAIR = 0.9  # until several workers were measured, two are assumed to need at most this part of one's time


@dataclass(frozen=True, eq=False)
class StepTimes:
    """Holds step times of gangs, each in its best mode.

    gangs: those of axis G, smaller ones first; place: of each of them; by_size: where each size is. caution_G: by how
    much a step counts as longer, as it may be. step_GB: seconds per step at batches of size_GB.
    """

    gangs: tuple[Gang, ...]
    place: Mapping[Gang, int]
    by_size: tuple[SizeGangs, ...]
    caution_G: Floats  # noqa: N815 (arrays wear their axes)
    step_GB: Floats  # noqa: N815
    size_GB: Floats  # noqa: N815


class GangPrices:
    """Holds the step times of gangs for jobs of one model, mode and range of batches on one GPU type; each gang is
    priced once, together with all that were asked for at the same time.

    job: one of these jobs. price: returns the step times of gangs. spreads: the numbers of nodes, more than needed, to
    consider for a size.
    """

    __slots__ = ("_blocks", "_price", "_sizes", "_spreads", "gpu_type", "job", "model")

    def __init__(
        self,
        job: JobSnapshot,
        model: SpeedModel,
        gpu_type: str,
        price: Callable[[tuple[Gang, ...]], StepTimes],
        spreads: Callable[[int], Iterable[int]],
    ) -> None:
        self.job, self.model, self.gpu_type, self._price, self._spreads = job, model, gpu_type, price, spreads
        self._sizes: dict[int, tuple[int, ...]] = {}
        self._blocks: dict[Gang, StepTimes] = {}

    def prepare(self, sizes: Collection[int]) -> None:
        """Prices these sizes at once, packed and spread."""
        missing = self.missing(sizes)
        if missing:
            self.add(self._price(self.gangs_of(missing)))

    def missing(self, sizes: Iterable[int]) -> set[int]:
        """Returns those of the sizes that have no price yet; a pair with the lone worker that it is held to."""
        found = {n for n in sizes if n not in self._sizes}
        if 2 in found and 1 not in self._sizes:
            found.add(1)
        return found

    def gangs_of(self, sizes: Iterable[int]) -> tuple[Gang, ...]:
        """Returns the gangs of these sizes, packed and spread."""
        return tuple([(n, k) for n in sorted(sizes) for k in (0, *self._spreads(n))])

    def add(self, times: StepTimes) -> None:
        """Adds the prices of all gangs of some sizes."""
        for n in {n for n, _ in times.gangs}:
            self._sizes[n] = tuple(self._spreads(n))
        self._blocks.update(dict.fromkeys(times.gangs, times))

    def spreads(self, n_workers: int) -> tuple[int, ...]:
        """Returns the numbers of nodes, more than needed, to consider for a size."""
        if n_workers not in self._sizes:
            self.prepare((n_workers,))
        return self._sizes[n_workers]

    def block_of(self, gang: Gang) -> StepTimes:
        """Returns the step times that contain the gang."""
        if gang not in self._blocks:
            self.prepare((gang[0],))
            if gang not in self._blocks:  # a spread that is none to consider
                self._blocks[gang] = self._price((gang,))
        return self._blocks[gang]


class LayoutTimes(NamedTuple):
    """Holds the seconds of a declared step of one gang: plain_s as predicted; step_s assumes that two workers gain.

    cautious_s is step_s made longer by its error, where this shape was not measured but others were: finding out
    costs a restart.
    """

    plain_s: float
    step_s: float
    cautious_s: float


class JobClass:
    """Holds the step times at standard layouts, by size and spread (0 = packed), of jobs that are priced alike.

    prices: of the gangs. declared_step_s: seconds of a declared step of each gang, shape (G,). assumes_pairs:
    UNMEASURED_PAIR applies.
    """

    __slots__ = (
        "_assumes_pairs",
        "_best",
        "_best_curves",
        "_curves",
        "_declared_step_s",
        "_packed_curves",
        "_times",
        "prices",
    )

    def __init__(
        self, prices: GangPrices, declared_step_s: Callable[[StepTimes], Floats], *, assumes_pairs: bool
    ) -> None:
        self.prices, self._declared_step_s, self._assumes_pairs = prices, declared_step_s, assumes_pairs
        self._times: dict[StepTimes, tuple[list[float], list[float], list[float]]] = {}  # the fields of LayoutTimes
        self._best: dict[int, tuple[float, int, float, float]] = {}  # see _at()
        self._curves: dict[tuple[int, ...], tuple[float, ...]] = {}
        self._best_curves: dict[tuple[int, ...], tuple[float, ...]] = {}
        self._packed_curves: dict[tuple[int, ...], tuple[float, ...]] = {}

    def times(self, n_workers: int, n_nodes: int = 0) -> LayoutTimes:
        """Returns the step times of n workers, packed (n_nodes 0) or spread evenly over n_nodes."""
        gang = n_workers, n_nodes
        priced = self.prices.block_of(gang)
        plain_s, steps_s, cautious_s = self._times.get(priced) or self.add(priced, self._declared_step_s(priced))
        g = priced.place[gang]
        return LayoutTimes(plain_s[g], steps_s[g], cautious_s[g])

    def curve(self, sizes: tuple[int, ...]) -> tuple[float, ...]:
        """Returns the seconds of a step at each of these sizes, at its best spread."""
        found = self._curves.get(sizes)
        if found is None:
            self.prices.prepare(sizes)
            found = self._curves[sizes] = tuple([self._at(n)[2] for n in sizes])
        return found

    def knows(self, sizes: tuple[int, ...]) -> bool:
        """Returns whether curve() of these sizes was worked out before."""
        return sizes in self._curves

    def best_curve(self, sizes: tuple[int, ...]) -> tuple[float, ...]:
        """Returns the seconds of a cautious step at each of these sizes, at its best spread."""
        found = self._best_curves.get(sizes)
        if found is None:
            self.prices.prepare(sizes)
            found = self._best_curves[sizes] = tuple([self._at(n)[0] for n in sizes])
        return found

    def packed_curve(self, sizes: tuple[int, ...]) -> tuple[float, ...]:
        """Returns the seconds of a step at each of these sizes, packed."""
        found = self._packed_curves.get(sizes)
        if found is None:
            self.prices.prepare(sizes)
            found = self._packed_curves[sizes] = tuple([self._at(n)[3] for n in sizes])
        return found

    def packed_s(self, n_workers: int) -> float:
        """Returns the seconds of a step of n workers, packed."""
        return self._at(n_workers)[3]

    def best(self, n_workers: int) -> tuple[float, int]:
        """Returns the seconds of a cautious step at the best spread, and that spread: packed, unless another one gains
        clearly.
        """
        step_s, n_nodes, _, _ = self._at(n_workers)
        return step_s, n_nodes

    def _at(self, n_workers: int) -> tuple[float, int, float, float]:
        """best(), and the seconds of a step there, and packed."""
        found = self._best.get(n_workers)
        if found is None:
            priced = self.prices.block_of((n_workers, 0))
            self.add(priced, self._declared_step_s(priced))
            found = self._best[n_workers]
        return found

    def lacks(self, priced: StepTimes) -> bool:
        """Returns whether the class has no step times of these gangs yet."""
        return priced not in self._times

    def add(self, priced: StepTimes, step_G: Floats) -> tuple[list[float], list[float], list[float]]:
        """Adds the seconds of a declared step of all gangs that were priced at once, shape (G,). Returns the fields of
        LayoutTimes, in their order.
        """
        plain_s = steps_s = step_G.tolist()
        pairs = [i for i, (n, _) in enumerate(priced.gangs) if n == 2] if self._assumes_pairs else []
        if pairs:
            lone = priced.place.get((1, 0))
            most_s = UNMEASURED_PAIR * (self.times(1).step_s if lone is None else plain_s[lone])
            step_G = step_G.copy()
            step_G[pairs] = np.minimum(step_G[pairs], most_s)
            steps_s = step_G.tolist()
        cautious_s = (step_G * priced.caution_G).tolist()
        found = self._times[priced] = plain_s, steps_s, cautious_s
        for n_workers, packed, spread in priced.by_size:
            best, best_s, n_nodes = packed, cautious_s[packed], 0
            bound_s = best_s * (1 - SPREAD_MUST_GAIN)
            for k, g in spread:
                if cautious_s[g] < bound_s:
                    bound_s = best_s = cautious_s[g]
                    best, n_nodes = g, k
            self._best[n_workers] = best_s, n_nodes, steps_s[best], steps_s[packed]
        return found
