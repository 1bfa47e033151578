# SPDX-License-Identifier: Apache-2.0
"""The speed of every job of a round at any size and spread: what policies, placement and forecasts ask for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.models.cost import restart_cost_s
from scheduler.models.goodput import (
    BatchSchedule,
    adapts_batch,
    batch_schedule,
    batches_of,
    declared_step_s,
    gain_B,
)
from scheduler.models.layout import Layout
from scheduler.models.progress import remaining_s, steps_left
from scheduler.models.speed.job_classes import UNMEASURED_PAIR, GangPrices, JobClass, StepTimes
from scheduler.models.speed.model import SpeedModel
from scheduler.models.speed.pricing import gang_prices, price_together
from scheduler.models.speed.step_time_cache import ModelTables, StepTimeCache, batch_key

_Tables = tuple[object, ModelTables]  # measurements, and the tables of the model that was fitted to them


class _Kind(NamedTuple):
    """Holds what speeds of a job are looked up by: its model's tables, and its classes by GPU type.

    standard_type: the one that its speed is quoted for where none is given.
    """

    tables: ModelTables
    classes: dict[str, JobClass]
    assumes_pairs: bool
    standard_type: str


class JobSpeeds:
    """Predicts the step times of jobs on one cluster, in seconds.

    A step is always one at the job's declared batch size.

    Where the batch may change, it is that of the batch with the highest goodput, divided by what that batch is worth;
    and where it is known how that will change, the mean over the rest of the job. cache: keeps what was worked out for
    the next round; None = nothing is kept. jobs: what their families show of GPU types serves those that were
    not measured on all of them.
    """

    def __init__(
        self,
        nodes: tuple[NodeSnapshot, ...],
        racks: tuple[RackSnapshot, ...],
        *,
        cache: StepTimeCache | None = None,
        jobs: Iterable[JobSnapshot] = (),
    ) -> None:
        self.cluster = (cache or StepTimeCache()).cluster(nodes, racks)
        self.cluster.begin_round()
        self._gpu_factors = self.cluster.gpu_factors(jobs)
        self.topology = self.cluster.topology
        self._types = self.topology.gpu_types()
        self._tables: dict[str, _Tables] = {}
        self._kinds: dict[str, _Kind] = {}
        self._steps_s: dict[tuple[str, int, str, int], float] = {}
        self._by_family: dict[tuple[object, ...], _Tables] = {}

    def tables(self, job: JobSnapshot) -> ModelTables:
        """Returns the tables of the job's model."""
        found = self._tables.get(job.id)
        if found is None or found[0] is not job.observations:
            found = self._tables[job.id] = self._family_tables(job)
        return found[1]

    def _family_tables(self, job: JobSnapshot) -> _Tables:
        """The tables with the measurements that they belong to; jobs of one family mostly share both."""
        key = (job.family, job.example_s, job.step_overhead_s, job.parameters_bytes)
        found = self._by_family.get(key)
        if found is None or found[0] is not job.observations:
            found = job.observations, self.cluster.tables(job, gpu_factors=self._gpu_factors)
            self._by_family[key] = found
        return found

    def model(self, job: JobSnapshot) -> SpeedModel:
        """Returns the job's speed model."""
        return self.tables(job).model

    def classes(
        self, jobs: Sequence[JobSnapshot], sizes: Sequence[tuple[int, ...]], *, types: Sequence[str]
    ) -> list[JobClass]:
        """Returns the classes of these jobs, each on one type of GPU ("" = the one that its speed is quoted for), and
        works out at once what is going to be asked of them, each at its sizes; like jobs together.
        """
        found = list(map(self._job_class, jobs, types))
        asked: dict[GangPrices, set[int]] = {}
        adaptive: dict[GangPrices, list[tuple[JobSnapshot, JobClass]]] = {}
        for job, own_sizes, job_class in zip(jobs, sizes, found, strict=True):
            if job_class.knows(own_sizes):
                continue
            asked.setdefault(job_class.prices, set()).update(own_sizes)
            if adapts_batch(job) and not job.noise_ahead:
                adaptive.setdefault(job_class.prices, []).append((job, job_class))
        price_together(asked, self.cluster)
        for prices, each in adaptive.items():
            for priced in dict.fromkeys(prices.block_of((n, 0)) for n in asked[prices]):
                _declare_together([(job, one) for job, one in each if one.lacks(priced)], priced)
        return found

    def curve(self, job: JobSnapshot, sizes: tuple[int, ...], *, gpu_type: str = "") -> tuple[float, ...]:
        """Returns step_s() at each of these sizes, at its best spread."""
        return self._job_class(job, gpu_type).curve(sizes)

    def packed_curve(self, job: JobSnapshot, sizes: tuple[int, ...], *, gpu_type: str = "") -> tuple[float, ...]:
        """Returns step_s() at each of these sizes, packed."""
        return self._job_class(job, gpu_type).packed_curve(sizes)

    def best_spread(self, job: JobSnapshot, n_workers: int, *, gpu_type: str = "") -> int:
        """Returns the number of nodes to spread n workers over; packed (0), unless another spread gains clearly."""
        return self._job_class(job, gpu_type).best(n_workers)[1]

    def best_step_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str = "") -> float:
        """Returns the step time of n workers at their best spread, longer by its error where the shape was not
        measured: finding out costs a restart.
        """
        return self._job_class(job, gpu_type).best(n_workers)[0]

    def step_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str = "", n_nodes: int = 0) -> float:
        """Returns the step time of n workers in the better mode; packed, or spread evenly over n_nodes.

        Two workers are assumed to gain until several were measured, where the job may have one (UNMEASURED_PAIR).
        """
        key = (job.id, n_workers, gpu_type, n_nodes)
        found = self._steps_s.get(key)
        if found is None:
            job_class = self._job_class(job, gpu_type)
            found = job_class.times(n_workers, n_nodes).step_s if n_nodes else job_class.packed_s(n_workers)
            self._steps_s[key] = found
        return found

    def plain_step_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str, n_nodes: int = 0) -> float:
        """Returns step_s() without the assumption on two workers."""
        return self._job_class(job, gpu_type).times(n_workers, n_nodes).plain_s

    def remaining_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str = "") -> float:
        """Returns the remaining time at that size, packed."""
        return remaining_s(job, step_s=self.step_s(job, n_workers, gpu_type=gpu_type))

    def waiting_s(self, job: JobSnapshot) -> float:
        """Returns a waiting job's time from its start to its end at its fixed size, packed, with the cost of a
        restart.
        """
        found = self.cluster.fixed_s.get(job.id)
        if found is None or found[0] is not job:
            total_s = self.remaining_s(job, job.fixed_workers) + restart_cost_s(job)
            found = self.cluster.fixed_s.store(job.id, (job, total_s))
        return found[1]

    def step_s_on(self, job: JobSnapshot, allocation: GangAllocation) -> float:
        """Returns the step time on this very allocation."""
        if job.max_batch_size is not None:
            return self._declared_step_s(job, self.topology.layout_of(allocation), allocation.mode)
        known, model = self.cluster.placed_s.get(job.id), self.model(job)
        if known is None or known[0] is not allocation or known[1] is not model:
            step_s = self._declared_step_s(job, self.topology.layout_of(allocation), allocation.mode)
            known = self.cluster.placed_s.store(job.id, (allocation, model, step_s))
        return known[2]

    def least_step_s(self, job: JobSnapshot, n_workers: int, *, gpu_type: str) -> float:
        """Returns a time that step_s_on() is not below on any allocation of so many workers of that type; 0 where
        none is known without looking at it.
        """
        if adapts_batch(job):
            return 0.0
        batch, passes = _smallest_batch(job, n_workers)
        return self.model(job).least_step_s(n_workers, gpu_type, batch_size=batch, passes=passes)

    def step_and_pass_s(self, job: JobSnapshot, allocation: GangAllocation) -> tuple[float, float]:
        """Returns the seconds of an optimiser step on this very allocation, at its batch, and of the computation of one
        pass.
        """
        layout, mode, tables = self.topology.layout_of(allocation), allocation.mode, self.tables(job)
        key = (layout, mode, batch_key(job), job.noise_scale)
        found = tables.step_and_pass_s.get(key)
        if found is not None:
            return found
        if adapts_batch(job):
            batch, passes = self.best_batch(job, allocation)
        else:
            batch, passes = _smallest_batch(job, layout.n_workers)
        step_s = tables.model.step_s(layout, mode, batch_size=batch, passes=passes)
        pass_s = tables.model.pass_s(batch / layout.n_workers / passes, layout, mode)
        return tables.step_and_pass_s.store(key, (step_s, pass_s))

    def present_step_s(self, job: JobSnapshot) -> float:
        """Returns the step time on what the job holds; two workers as in step_s().

        Raises ValueError if it holds nothing.
        """
        if job.allocation is None:
            raise ValueError(f"job {job.id!r} holds nothing")
        found = self.step_s_on(job, job.allocation)
        if job.allocation.n_workers == 2 > job.min_workers and not self.model(job).is_measured_on_several:
            gpu_type = self.topology.layout_of(job.allocation).gpu_type
            return min(found, UNMEASURED_PAIR * self.step_s(job, 1, gpu_type=gpu_type))
        return found

    def error_on(self, job: JobSnapshot, allocation: GangAllocation) -> float:
        """Returns the relative error of the step time on this very allocation."""
        return self.model(job).error(self.topology.layout_of(allocation), allocation.mode)

    def best_mode(self, job: JobSnapshot, layout: Layout) -> tuple[Mode, int]:
        """Returns the faster mode and its number of servers on such a layout."""
        tables = self.tables(job)
        key = (layout, job.mode, batch_key(job))
        found = tables.modes.get(key)
        if found is None:
            batches = batches_of(job, layout.n_workers)
            batch, passes = int(batches.size_B[0]), int(batches.passes_B[0])
            best = tables.model.best_mode(layout, pinned=job.mode, batch_size=batch, passes=passes)
            found = tables.modes.store(key, best)
        mode, n_servers = found
        if mode is Mode.PARAMETER_SERVER and job.requested_servers:
            n_servers = job.requested_servers
        return mode, n_servers

    def standard_type(self, job: JobSnapshot) -> str:
        """Returns the GPU type that a job's speed is quoted for where none is given: the first that it may use."""
        return next((t for t in self._types if not job.gpu_types or t in job.gpu_types), "")

    def best_batch(self, job: JobSnapshot, allocation: GangAllocation) -> tuple[int, int]:
        """Returns the global batch size and the passes per step with the highest goodput on this allocation."""
        goodput_B, size_B, passes_B = self._goodputs(job, self.topology.layout_of(allocation), allocation.mode)
        best = int(np.argmax(goodput_B))
        return round(float(size_B[best])), round(float(passes_B[best]))

    def goodput_of(self, job: JobSnapshot, allocation: GangAllocation, batch_size: int) -> float:
        """Returns the declared steps' worth of progress a second on this very allocation, at one global batch size.

        A worker's share above max_local_batch is done in several passes.
        """
        layout = self.topology.layout_of(allocation)
        passes = math.ceil(batch_size / layout.n_workers / (job.max_local_batch or batch_size))
        step_s = self.model(job).step_s(layout, allocation.mode, batch_size=batch_size, passes=passes)
        noise_scale = job.noise_scale or 0.0
        gain = gain_B(np.array([float(batch_size)]), batch_size=job.batch_size, noise_scale=noise_scale)
        return float(gain[0]) / step_s

    def _job_class(self, job: JobSnapshot, gpu_type: str) -> JobClass:
        kind = self._kinds.get(job.id) or self._new_kind(job)
        own_type = gpu_type or kind.standard_type
        return kind.classes.get(own_type) or self._new_job_class(job, own_type, kind)

    def _new_job_class(self, job: JobSnapshot, gpu_type: str, kind: _Kind) -> JobClass:
        prices = gang_prices(job, kind.tables, self.cluster, gpu_type)
        declared = partial(_declared_step_s_G, job, kind.tables) if adapts_batch(job) else _smallest_step_s_G
        found = kind.classes[gpu_type] = JobClass(prices, declared, assumes_pairs=kind.assumes_pairs)
        return found

    def _new_kind(self, job: JobSnapshot) -> _Kind:
        """The classes are shared by all jobs that are priced alike, over rounds; a job with a noise scale has its own
        for this round.
        """
        tables = self.tables(job)
        assumes_pairs = job.min_workers < 2 and not tables.model.is_measured_on_several
        classes: dict[str, JobClass] = {}
        if not adapts_batch(job):
            alike = job.mode, batch_key(job), assumes_pairs
            known = tables.job_classes.get(alike)
            classes = tables.job_classes.store(alike, classes) if known is None else known
        found = self._kinds[job.id] = _Kind(tables, classes, assumes_pairs, self.standard_type(job))
        return found

    def _declared_step_s(self, job: JobSnapshot, layout: Layout, mode: Mode) -> float:
        """Seconds of a declared step on one layout."""
        if adapts_batch(job):
            if job.noise_ahead:
                return self._mean_step_s(job, layout, mode)
            step_s_B, size_B, _ = self._batches(job, layout, mode)
            return float(_best_step_s(job, size_B, step_s_B))
        tables, key = self.tables(job), (layout, mode, batch_key(job))
        found = tables.step_s.get(key)
        if found is None:
            batch, passes = _smallest_batch(job, layout.n_workers)
            found = tables.step_s.store(key, tables.model.step_s(layout, mode, batch_size=batch, passes=passes))
        return found

    def _mean_step_s(self, job: JobSnapshot, layout: Layout, mode: Mode) -> float:
        """The mean over the rest of the job, as its noise scale is expected to develop."""
        table, key = self.tables(job).schedules, (layout, mode, batch_key(job), job.noise_ahead)
        schedule = table.get(key)
        if schedule is None:
            step_s_B, size_B, _ = self._batches(job, layout, mode)
            schedule = table.store(key, _schedule(job, size_B, step_s_B))
        return schedule.mean_step_s(job.steps_done, job.steps_done + steps_left(job))

    def _goodputs(self, job: JobSnapshot, layout: Layout, mode: Mode) -> tuple[Floats, Floats, Floats]:
        """Declared steps a second by batch, shape (B,); the batch sizes and their passes."""
        step_s_B, size_B, passes_B = self._batches(job, layout, mode)
        gains_B = gain_B(size_B, batch_size=job.batch_size, noise_scale=job.noise_scale or 0.0)
        return gains_B / step_s_B, size_B, passes_B

    def _batches(self, job: JobSnapshot, layout: Layout, mode: Mode) -> tuple[Floats, Floats, Floats]:
        """Step times by batch, shape (B,); the batch sizes and their passes."""
        tables, key = self.tables(job), (layout, mode, batch_key(job))
        found = tables.batches.get(key)
        if found is None:
            batches = batches_of(job, layout.n_workers)
            step_s_B = tables.model.step_s_B(layout, mode, batch_B=batches.size_B, passes_B=batches.passes_B)
            found = tables.batches.store(key, (step_s_B, batches.size_B, batches.passes_B))
        return found


def _declared_step_s_G(job: JobSnapshot, tables: ModelTables, gangs: StepTimes) -> Floats:  # noqa: N802
    """Seconds of a declared step of each gang of a job whose batch may change, shape (G,)."""
    if not job.noise_ahead:
        return _best_step_s(job, gangs.size_GB, gangs.step_GB)
    table, key = tables.gang_schedules, (gangs, job.batch_size, job.noise_ahead, job.counts_examples)
    schedules = table.get(key)
    if schedules is None:
        each = zip(gangs.size_GB, gangs.step_GB, strict=True)
        schedules = table.store(key, tuple(_schedule(job, size_B, step_s_B) for size_B, step_s_B in each))
    until = job.steps_done + steps_left(job)
    return np.array([schedule.mean_step_s(job.steps_done, until) for schedule in schedules])


def _declare_together(each: Sequence[tuple[JobSnapshot, JobClass]], priced: StepTimes) -> None:
    """Works out the declared steps of jobs that differ in their noise scale alone; axis J."""
    if not each:
        return
    like = each[0][0]
    noise_J = np.array([job.noise_scale or 0.0 for job, _ in each])
    gains_JGB = gain_B(priced.size_GB, batch_size=like.batch_size, noise_scale=noise_J[:, None, None])
    step_JG = declared_step_s(
        priced.size_GB,
        priced.step_GB,
        gains_JGB,
        batch_size=like.batch_size,
        counts_examples=like.counts_examples,
    )
    for (_, job_class), step_G in zip(each, step_JG, strict=True):
        job_class.add(priced, step_G)


def _smallest_step_s_G(gangs: StepTimes) -> Floats:  # noqa: N802 (arrays wear their axes)
    """Seconds of a step of each gang at its smallest batch, shape (G,)."""
    return gangs.step_GB[:, 0]


def _smallest_batch(job: JobSnapshot, n_workers: int) -> tuple[int, int]:
    """The smallest global batch that the job may use on n workers, and its passes."""
    batches = batches_of(job, n_workers)
    return round(float(batches.size_B[0])), round(float(batches.passes_B[0]))


def _schedule(job: JobSnapshot, size_B: Floats, step_s_B: Floats) -> BatchSchedule:
    return batch_schedule(
        job.noise_ahead,
        size_B=size_B,
        step_s_B=step_s_B,
        batch_size=job.batch_size,
        counts_examples=job.counts_examples,
    )


def _best_step_s(job: JobSnapshot, size_XB: Floats, step_s_XB: Floats) -> Floats:
    """Seconds of a declared step at the batch with the best goodput, shape (X,)."""
    gains_XB = gain_B(size_XB, batch_size=job.batch_size, noise_scale=job.noise_scale or 0.0)
    return declared_step_s(size_XB, step_s_XB, gains_XB, batch_size=job.batch_size, counts_examples=job.counts_examples)
