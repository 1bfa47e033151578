# SPDX-License-Identifier: Apache-2.0
"""What speed models worked out, in one object that the caller of decide() keeps from round to round.

Nothing here changes a decision: each entry is a pure function of its key and can be worked out again at any time.
Limits: the MAX_CLUSTERS clusters (a cluster is its nodes and racks; one whose nodes changed is another one) and the
MAX_MODELS models that were used last stay; a model's tables go when KEPT_ROUNDS rounds did without them, since a family
that was fitted anew never asks for them again; all other tables are emptied when they are full.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Set
from dataclasses import dataclass, field

import numpy as np

from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode, SpeedObservation
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.models.bounded_tables import BoundedTable, RecentTable
from scheduler.models.goodput import BatchSchedule, adapts_batch, batches_of
from scheduler.models.layout import ClusterTopology
from scheduler.models.speed.candidate_layouts import AskedGangs, CandidateLayouts, Gang, candidate_layouts
from scheduler.models.speed.fitting import Floats
from scheduler.models.speed.gpu_factors import NO_FACTORS, GpuFactors, Levels, learn_gpu_factors, levels_of
from scheduler.models.speed.job_classes import GangPrices, JobClass
from scheduler.models.speed.link_demand import LinkDemand
from scheduler.models.speed.model import SpeedModel
from scheduler.models.speed.observation_means import ObservationMeans
from scheduler.models.speed.sync_terms import SyncTerms
from scheduler.models.standing_order import StandingOrder

MAX_CLUSTERS = 4
MAX_MODELS = 2048
KEPT_ROUNDS = 8
MAX_JOBS = 20_000  # with an entry of their own
MAX_ENTRIES = 10_000  # in a table of one model
MAX_BATCHES = 1_000  # arrays of batches of gangs

Observations = tuple[SpeedObservation, ...]
_Family = tuple[str, float | None, float]  # name, seconds an example, seconds a step
_Profile = tuple[float | None, float, int, float, GpuFactors]  # seconds an example, a step; bytes; links; types


@dataclass(eq=False)
class ModelTables:
    """Holds results of one speed model on one cluster; most keys hold a layout, a mode and a batch_key().

    job_classes: by GPU type. round_number: of the newest round that used them, as the cluster counts.
    """

    model: SpeedModel
    round_number: int = 0
    step_s: BoundedTable[Hashable, float] = field(default_factory=lambda: BoundedTable(MAX_ENTRIES))
    step_and_pass_s: BoundedTable[Hashable, tuple[float, float]] = field(
        default_factory=lambda: BoundedTable(MAX_ENTRIES)
    )
    modes: BoundedTable[Hashable, tuple[Mode, int]] = field(default_factory=lambda: BoundedTable(MAX_ENTRIES))
    batches: BoundedTable[Hashable, tuple[Floats, Floats, Floats]] = field(
        default_factory=lambda: BoundedTable(MAX_ENTRIES)
    )
    schedules: BoundedTable[Hashable, BatchSchedule] = field(default_factory=lambda: BoundedTable(MAX_ENTRIES))
    gang_schedules: BoundedTable[Hashable, tuple[BatchSchedule, ...]] = field(
        default_factory=lambda: BoundedTable(MAX_ENTRIES)
    )
    gang_prices: BoundedTable[Hashable, GangPrices] = field(default_factory=lambda: BoundedTable(MAX_ENTRIES))
    job_classes: BoundedTable[Hashable, dict[str, JobClass]] = field(default_factory=lambda: BoundedTable(MAX_ENTRIES))
    link_demands: BoundedTable[Hashable, LinkDemand | None] = field(default_factory=lambda: BoundedTable(MAX_ENTRIES))


class ClusterStepTimes:
    """Holds the results for one cluster: its topology, and tables by model and by job, and its queues.

    fixed_s: a waiting job's time at its fixed size, valid for that very snapshot of it: a long queue is seen again
    unchanged in many rounds. placed_s: a running job's step time, valid for that very allocation and model: what others
    show of GPU types changes models, too.
    orders: waiting jobs in order, by the name of the order (policies/toolkit/strict_order.py).
    """

    def __init__(self, topology: ClusterTopology, models: SpeedModelCache) -> None:
        self.topology = topology
        self.fixed_s = BoundedTable[str, tuple[JobSnapshot, float]](MAX_JOBS)
        self.placed_s = BoundedTable[str, tuple[GangAllocation, SpeedModel, float]](MAX_JOBS)
        self.orders: dict[str, StandingOrder] = {}
        self._candidates = BoundedTable[AskedGangs, CandidateLayouts](MAX_ENTRIES)
        self._batches = BoundedTable[tuple[Hashable, tuple[Gang, ...]], tuple[Floats, Floats]](MAX_BATCHES)
        self._models = models
        self._gpu_factors = NO_FACTORS
        self._tables = RecentTable[SpeedModel, ModelTables](MAX_MODELS)
        self._n_rounds = 0

    def begin_round(self) -> None:
        """Counts a round, and drops the tables of models that the last rounds did without."""
        self._n_rounds += 1
        while self._tables:
            model, oldest = next(iter(self._tables.items()))
            if oldest.round_number >= self._n_rounds - KEPT_ROUNDS:
                return
            del self._tables[model]

    def gpu_factors(self, jobs: Iterable[JobSnapshot]) -> GpuFactors:
        """Returns what these jobs show of the cluster's GPU types, where there are several, and of dry runs.

        When that changes, waiting jobs take another time than before, though nothing was measured of themselves.
        """
        found = self._models.gpu_factors(jobs, has_types=len(self.topology.gpu_types()) > 1)
        if found != self._gpu_factors:
            self._gpu_factors = found
            self.fixed_s.clear()
            self.orders.clear()
        return found

    def tables(self, job: JobSnapshot, *, gpu_factors: GpuFactors = NO_FACTORS) -> ModelTables:
        """Returns the tables of the job's model; jobs with the same measurements and profile share them."""
        if gpu_factors is not NO_FACTORS and self._models.types_of(job) >= set(self.topology.gpu_types()):
            gpu_factors = NO_FACTORS  # its own measurements count
        model = self._models.model(job, nic_bps=self.topology.nic_bps, gpu_factors=gpu_factors)
        found = self._tables.find(model) or self._tables.store(model, ModelTables(model))
        found.round_number = self._n_rounds
        return found

    def candidates(self, asked: AskedGangs) -> CandidateLayouts:
        """Returns all modes of these gangs on nodes of their types, from the table where they are known."""
        found = self._candidates.get(asked)
        return self._candidates.store(asked, candidate_layouts(self.topology, asked)) if found is None else found

    def gang_batches(self, job: JobSnapshot, gangs: tuple[Gang, ...]) -> tuple[Floats, Floats]:
        """Returns the batches that such a job may use on each of these gangs, and their passes, shape (G, B)."""
        key = (batch_key(job), gangs)
        found = self._batches.get(key)
        if found is None:
            each = [batches_of(job, n) for n, _ in gangs]
            size_GB, passes_GB = np.array([one.size_B for one in each]), np.array([one.passes_B for one in each])
            found = self._batches.store(key, (size_GB, passes_GB))
        return found


class _FitKey:
    """What a model is fitted to. Its hash is that of the newest measurement: those before it mostly follow from it."""

    __slots__ = ("_fitted_to", "_hash")

    def __init__(self, observations: Observations, profile: _Profile) -> None:
        self._fitted_to = observations, profile
        self._hash = hash((len(observations), observations[-1:], profile))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FitKey) and self._fitted_to == other._fitted_to


class SpeedModelCache:
    """Keeps fitted models by measurements and profile.

    The newest model of each family is found without comparing measurements, as long as they are the same object.
    """

    def __init__(self) -> None:
        self._terms, self._means = SyncTerms(), ObservationMeans()
        self._models = RecentTable[_FitKey, SpeedModel](MAX_MODELS)
        self._newest = BoundedTable[tuple[str, _Profile], tuple[Observations, SpeedModel]](MAX_MODELS)
        self._levels = BoundedTable[_Family, tuple[Observations, Levels]](MAX_MODELS)
        self._learnt_of: tuple[dict[_Family, Levels], bool] = {}, False
        self._factors = NO_FACTORS

    def gpu_factors(self, jobs: Iterable[JobSnapshot], *, has_types: bool) -> GpuFactors:
        """Returns the factors of GPU types over the families of these jobs, each family counted once."""
        families: dict[_Family, Levels] = {}
        for job in jobs:
            if job.observations and (key := _family(job)) not in families:
                families[key] = self._levels_of(job)
        if (families, has_types) != self._learnt_of:
            tried_out = [levels for (_, example_s, _), levels in families.items() if example_s is not None]
            self._factors = learn_gpu_factors(families.values() if has_types else (), tried_out)
            self._learnt_of = families, has_types
        return self._factors

    def types_of(self, job: JobSnapshot) -> Set[str]:
        """Returns the GPU types on which the job's family was measured."""
        return self._levels_of(job).keys()

    def _levels_of(self, job: JobSnapshot) -> Levels:
        key = _family(job)
        known = self._levels.get(key)
        if known is None or known[0] is not job.observations:
            known = self._levels.store(key, (job.observations, levels_of(job)))
        return known[1]

    def model(self, job: JobSnapshot, *, nic_bps: float, gpu_factors: GpuFactors = NO_FACTORS) -> SpeedModel:
        """Returns the job's model, fitted if it is not there."""
        profile = (job.example_s, job.step_overhead_s, job.parameters_bytes, nic_bps, gpu_factors)
        newest = self._newest.get((job.family, profile))
        if newest is not None and newest[0] is job.observations:
            return newest[1]
        found = self._model(job, profile)
        self._newest.store((job.family, profile), (job.observations, found))
        return found

    def _model(self, job: JobSnapshot, profile: _Profile) -> SpeedModel:
        """A model is fitted once to its measurements, whatever other families show of GPU types."""
        key = _FitKey(job.observations, profile)
        found = self._models.find(key)
        if found is not None:
            return found
        example_s, step_s, n_bytes, nic_bps, gpu_factors = profile
        if gpu_factors is NO_FACTORS:
            return self._models.store(key, speed_model(job, nic_bps=nic_bps, terms=self._terms, means=self._means))
        fitted = self._model(job, (example_s, step_s, n_bytes, nic_bps, NO_FACTORS))
        return self._models.store(key, fitted.with_factors(gpu_factors))


class StepTimeCache:
    """Keeps the step times of the clusters and models that its owner asked for lately."""

    def __init__(self) -> None:
        self._models = SpeedModelCache()
        self._clusters: list[
            tuple[tuple[NodeSnapshot, ...], tuple[RackSnapshot, ...], ClusterStepTimes]
        ] = []  # last used first

    def cluster(self, nodes: tuple[NodeSnapshot, ...], racks: tuple[RackSnapshot, ...]) -> ClusterStepTimes:
        """Returns the tables of the cluster of these nodes and racks."""
        for i, (known_nodes, known_racks, cluster) in enumerate(self._clusters):
            if known_nodes == nodes and known_racks == racks:
                self._clusters.insert(0, self._clusters.pop(i))
                return cluster
        cluster = ClusterStepTimes(ClusterTopology(nodes, racks), self._models)
        self._clusters.insert(0, (nodes, racks, cluster))
        del self._clusters[MAX_CLUSTERS:]
        return cluster


def speed_model(
    job: JobSnapshot,
    *,
    nic_bps: float,
    terms: SyncTerms | None = None,
    means: ObservationMeans | None = None,
) -> SpeedModel:
    """Returns a model fitted to the job's measurements and profile."""
    return SpeedModel(
        job.observations,
        example_s=job.example_s,
        overhead_s=job.step_overhead_s,
        parameters_bytes=job.parameters_bytes,
        nic_bps=nic_bps,
        terms=terms,
        means=means,
    )


def _family(job: JobSnapshot) -> _Family:
    return job.family, job.example_s, job.step_overhead_s


def batch_key(job: JobSnapshot) -> tuple[int, int | None, int, int | None, bool, bool]:
    """Returns all that decides which batches a job may use, as a key."""
    return (
        job.batch_size, job.max_batch_size, job.min_local_batch, job.max_local_batch, adapts_batch(job),
        job.counts_examples,
    )  # fmt: skip
