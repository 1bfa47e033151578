# SPDX-License-Identifier: Apache-2.0
"""What speed models worked out, in one object that the caller of decide() keeps from round to round.

Nothing here changes a decision: each entry is a pure function of its key and can be worked out again at any time.
Limits: the MAX_CLUSTERS clusters (a cluster is its nodes and racks; one whose nodes changed is another one) and the
MAX_MODELS models that were used last stay; all other tables are emptied when they are full.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode, SpeedObservation
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.models.bounded_tables import BoundedTable, RecentTable
from scheduler.models.goodput import BatchSchedule, adapts_batch
from scheduler.models.layout import ClusterTopology
from scheduler.models.speed.candidate_layouts import CandidateLayouts, Gang, candidate_layouts
from scheduler.models.speed.fitting import Floats
from scheduler.models.speed.job_classes import JobClass, StepTimes
from scheduler.models.speed.link_demand import LinkDemand
from scheduler.models.speed.model import SpeedModel
from scheduler.models.speed.sync_terms import SyncTerms

MAX_CLUSTERS = 4
MAX_MODELS = 2048
MAX_JOBS = 20_000  # with an entry of their own
MAX_ENTRIES = 10_000  # in a table of one model

Observations = tuple[SpeedObservation, ...]
_Profile = tuple[float | None, float, int, float]  # seconds an example, seconds a step, bytes, links


@dataclass(eq=False)
class ModelTables:
    """Holds results of one speed model on one cluster; most keys hold a layout, a mode and a batch_key()."""

    model: SpeedModel
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
    step_times: BoundedTable[Hashable, StepTimes] = field(default_factory=lambda: BoundedTable(MAX_ENTRIES))
    job_classes: BoundedTable[Hashable, JobClass] = field(default_factory=lambda: BoundedTable(MAX_ENTRIES))
    link_demands: BoundedTable[Hashable, LinkDemand | None] = field(default_factory=lambda: BoundedTable(MAX_ENTRIES))


class ClusterStepTimes:
    """Holds the results for one cluster: its topology, and tables by model, by job and by order of the queue.

    fixed_s: a waiting job's time at its fixed size, valid for that very snapshot of it: a long queue is seen again
    unchanged in many rounds. placed_s: a running job's step time, valid for that very allocation and observations.
    queues: waiting jobs with their sort keys, by the name of the order (policies/toolkit/strict_order.py).
    """

    def __init__(self, topology: ClusterTopology, models: SpeedModelCache) -> None:
        self.topology = topology
        self.fixed_s = BoundedTable[str, tuple[JobSnapshot, float]](MAX_JOBS)
        self.placed_s = BoundedTable[str, tuple[GangAllocation, Observations, float]](MAX_JOBS)
        self.queues: dict[str, list[tuple[tuple[Any, ...], JobSnapshot]]] = {}
        self._candidates = BoundedTable[tuple[str, tuple[Gang, ...]], CandidateLayouts](MAX_ENTRIES)
        self._models = models
        self._tables = RecentTable[SpeedModel, ModelTables](MAX_MODELS)

    def tables(self, job: JobSnapshot) -> ModelTables:
        """Returns the tables of the job's model; jobs with the same measurements and profile share them."""
        model = self._models.model(job, nic_bps=self.topology.nic_bps)
        return self._tables.find(model) or self._tables.store(model, ModelTables(model))

    def candidates(self, gpu_type: str, gangs: tuple[Gang, ...]) -> CandidateLayouts:
        """Returns all modes of these gangs on nodes of that type, from the table where they are known."""
        found = self._candidates.get((gpu_type, gangs))
        if found is None:
            found = self._candidates.store((gpu_type, gangs), candidate_layouts(self.topology, gpu_type, gangs))
        return found


class SpeedModelCache:
    """Keeps fitted models by measurements and profile.

    The newest model of each family is found without comparing measurements, as long as they are the same object.
    """

    def __init__(self) -> None:
        self._terms = SyncTerms()
        self._models = RecentTable[tuple[Observations, _Profile], SpeedModel](MAX_MODELS)
        self._newest = BoundedTable[tuple[str, _Profile], tuple[Observations, SpeedModel]](MAX_MODELS)

    def model(self, job: JobSnapshot, *, nic_bps: float) -> SpeedModel:
        """Returns the job's model, fitted if it is not there."""
        profile = (job.example_s, job.step_overhead_s, job.parameters_bytes, nic_bps)
        newest = self._newest.get((job.family, profile))
        if newest is not None and newest[0] is job.observations:
            return newest[1]
        key = (job.observations, profile)
        found = self._models.find(key)
        if found is None:
            found = self._models.store(key, speed_model(job, nic_bps=nic_bps, terms=self._terms))
        self._newest.store((job.family, profile), (job.observations, found))
        return found


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


def speed_model(job: JobSnapshot, *, nic_bps: float, terms: SyncTerms | None = None) -> SpeedModel:
    """Returns a model fitted to the job's measurements and profile."""
    return SpeedModel(
        job.observations,
        example_s=job.example_s,
        overhead_s=job.step_overhead_s,
        parameters_bytes=job.parameters_bytes,
        nic_bps=nic_bps,
        terms=terms,
    )


def batch_key(job: JobSnapshot) -> tuple[int, int | None, int, int | None, bool]:
    """Returns all that decides which batches a job may use, as a key."""
    return job.batch_size, job.max_batch_size, job.min_local_batch, job.max_local_batch, adapts_batch(job)
