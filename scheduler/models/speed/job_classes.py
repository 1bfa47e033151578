"""Jobs of one kind have the same speed at the same size: their step times at the usual layouts, worked out together.

Axes: G gangs (a size, packed or spread), M modes, B batch sizes; see ways.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

import numpy as np

from scheduler.api.arrays import Floats, Ints
from scheduler.api.snapshot import JobSnapshot, Mode
from scheduler.models.goodput import batches_of
from scheduler.models.layout import ClusterTopology
from scheduler.models.speed.candidate_layouts import Gang, ways_of
from scheduler.models.speed.model import FEW_SERVERS, MEASURED_ERROR, PRIOR_ERROR, SERVERS_MUST_GAIN, SpeedModel

SPREAD_MUST_GAIN = 0.03  # a gang is spread over more nodes than it needs if that is faster by this share
UNTRIED_GAIN = 0.9  # until two workers were measured, they are taken to need at most this part of one worker's time


@dataclass(frozen=True)
class StepTimes:
    """Gangs in the mode that is best for each. error_G: relative. step_GB: seconds a step at batches of size_GB."""

    error_G: Floats  # noqa: N815 (arrays wear their axes)
    step_GB: Floats  # noqa: N815
    size_GB: Floats  # noqa: N815


@dataclass(frozen=True)
class StandardLayouts:
    """A gang at a usual layout. plain_s: seconds a step; step_s: with the benefit of the doubt; cautious_s: that, and
    slower by its error where the shape was not measured, but others were: finding out costs a restart."""

    plain_s: float
    step_s: float
    cautious_s: float


class JobClass:
    """Usual layouts by size and spread (0 = packed), of jobs that are priced alike.

    price: these gangs. worth: seconds a declared step of each of them, shape (G,). spreads: the numbers of nodes, more
    than needed, to consider for a size. is_doubted: two workers get the benefit of the doubt.
    """

    def __init__(
        self,
        price: Callable[[tuple[Gang, ...]], StepTimes],
        worth: Callable[[StepTimes], Floats],
        spreads: Callable[[int], Iterable[int]],
        *,
        is_doubted: bool,
    ) -> None:
        self._price, self._worth, self._spreads, self._is_doubted = price, worth, spreads, is_doubted
        self._usual: dict[Gang, StandardLayouts] = {}
        self._best: dict[int, tuple[float, int]] = {}
        self._curves: dict[tuple[int, ...], tuple[float, ...]] = {}
        self._best_curves: dict[tuple[int, ...], tuple[float, ...]] = {}

    def prepare(self, sizes: Iterable[int]) -> None:
        """Work out at once what is going to be asked."""
        missing = {n for n in sizes if n not in self._best}
        if self._is_doubted and 2 in missing and 1 not in self._best:
            missing.add(1)
        if missing:
            self._add(tuple((n, k) for n in sorted(missing) for k in (0, *self._spreads(n))))
            for n in missing:
                self._best[n] = self._best_of(n)

    def usual(self, n_workers: int, n_nodes: int = 0) -> StandardLayouts:
        found = self._usual.get((n_workers, n_nodes))
        if found is None:
            self.prepare((n_workers,))
            if (n_workers, n_nodes) not in self._usual:
                self._add(((n_workers, n_nodes),))
            found = self._usual[n_workers, n_nodes]
        return found

    def curve(self, sizes: tuple[int, ...]) -> tuple[float, ...]:
        """Seconds of a step at each of these sizes, at its best spread, with the benefit of the doubt."""
        if sizes not in self._curves:
            self.prepare(sizes)
            self._curves[sizes] = tuple(self.usual(n, self._best[n][1]).step_s for n in sizes)
        return self._curves[sizes]

    def best_curve(self, sizes: tuple[int, ...]) -> tuple[float, ...]:
        """Seconds of a cautious step at each of these sizes, at its best spread."""
        if sizes not in self._best_curves:
            self.prepare(sizes)
            self._best_curves[sizes] = tuple(self._best[n][0] for n in sizes)
        return self._best_curves[sizes]

    def best(self, n_workers: int) -> tuple[float, int]:
        """Seconds of a cautious step at the best spread; packed, unless another spread gains clearly."""
        if n_workers not in self._best:
            self.prepare((n_workers,))
        return self._best[n_workers]

    def _best_of(self, n_workers: int) -> tuple[float, int]:
        best_s, best = self._usual[n_workers, 0].cautious_s, 0
        bound_s = best_s * (1 - SPREAD_MUST_GAIN)
        for n_nodes in self._spreads(n_workers):
            step_s = self._usual[n_workers, n_nodes].cautious_s
            if step_s < bound_s:
                bound_s, best_s, best = step_s, step_s, n_nodes
        return best_s, best

    def _add(self, gangs: tuple[Gang, ...]) -> None:
        priced = self._price(gangs)
        for gang, plain_s, error in zip(gangs, self._worth(priced).tolist(), priced.error_G.tolist(), strict=True):
            step_s = plain_s
            if self._is_doubted and gang[0] == 2:
                step_s = min(plain_s, UNTRIED_GAIN * self._usual[1, 0].step_s)
            cautious_s = step_s * (1 + error) if MEASURED_ERROR < error < PRIOR_ERROR else step_s
            self._usual[gang] = StandardLayouts(plain_s, step_s, cautious_s)


def price(
    job: JobSnapshot, model: SpeedModel, terrain: ClusterTopology, gpu_type: str, gangs: tuple[Gang, ...]
) -> StepTimes:
    """The gangs, each in the mode that is best at the smallest batch; remembered with the model."""
    adapts = job.max_batch_size is not None and job.noise_scale is not None
    batch = (job.batch_size, job.max_batch_size, job.min_local_batch, job.max_local_batch, adapts)
    key = ("priced", terrain.serial, gpu_type, gangs, job.mode, *batch)
    if key not in model.memo:
        ways = ways_of(terrain, gpu_type, gangs)
        batches = {n: batches_of(job, n) for n in {n for n, _ in gangs}}
        size_GB = np.concatenate([batches[n].size_B for n, _ in gangs]).reshape(len(gangs), -1)
        passes_GB = np.concatenate([batches[n].passes_B for n, _ in gangs]).reshape(len(gangs), -1)
        step_GM = model.step_s_GM(ways, batch_G=np.round(size_GB[:, 0]), passes_G=np.round(passes_GB[:, 0]))
        way_G = _best_way_G(step_GM, ways.size_G, pinned=job.mode)
        error_G = np.take_along_axis(model.error_GM(ways), way_G[:, None], axis=1)[:, 0]
        if adapts:
            step_GB = model.step_s_GB(ways, way_G, batch_GB=size_GB, passes_GB=passes_GB)
        else:
            step_GB = np.take_along_axis(step_GM, way_G[:, None], axis=1)
        model.memo[key] = StepTimes(error_G, step_GB, size_GB)
    return cast("StepTimes", model.memo[key])


def _best_way_G(step_GM: Floats, size_G: Ints, *, pinned: Mode | None) -> Ints:  # noqa: N802
    """As SpeedModel.best_mode."""
    if pinned is Mode.ALL_REDUCE:
        return np.zeros(len(size_G), dtype=np.int64)
    fastest_G1 = step_GM[:, 1:].min(axis=1, keepdims=True)
    served_G = 1 + np.argmax(step_GM[:, 1:] <= fastest_G1 * FEW_SERVERS, axis=1)
    if pinned is Mode.PARAMETER_SERVER:
        return np.asarray(served_G, dtype=np.int64)
    rings_G = (step_GM[:, 0] <= fastest_G1[:, 0] * (1 + SERVERS_MUST_GAIN)) | (size_G == 1)
    return np.asarray(np.where(rings_G, 0, served_G), dtype=np.int64)
