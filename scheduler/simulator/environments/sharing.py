# SPDX-License-Identifier: Apache-2.0
"""The measured sharing environment: jobs on one GPU have the speed that was measured of that pair, which
policies do not see.

Speeds alone, by type and number of GPUs and on one server or several, and of pairs are those of Gavel's tables
(gavel_tables.py). Jobs keep their size. A start and a stop cost what the platform takes them to cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scheduler.api.sharing_measurements import PairObservation, Profile
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode, SpeedObservation, TenantSnapshot
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.simulator.environments.environment import Arrival, Segment, SimulatedGang, SteadyEnvironment
from scheduler.simulator.traces.clusters import Cluster
from scheduler.simulator.traces.gavel_tables import STANDARD_TYPE, SharingTables, Sized
from scheduler.simulator.traces.trace import BadInput, Trace, TraceJob

START_S, STOP_S = 15.0, 2.0
RETRY_S = 60.0  # a job that found no memory next to another tries again after that
UNSAID_TYPE = "gpu"  # how cluster files name GPUs that they do not name
JOBS_PER_GPU = 2


class SharingEnvironment(SteadyEnvironment):
    """Simulates jobs by measured speeds of pairs: GPUs of types of which pairs were measured take two jobs, others one.

    Of a pair that was not measured (or did not fit: the tables have 0 for both) only the one that came first trains;
    the other finds no memory until the first has left, and that is what is reported of the pair. A job type that was
    never measured in a pair, at its number of GPUs, counts as not profiled.
    knows_lengths: the scheduler knows the steps. knows_pairs: and all measured pairs, from the start; otherwise a
    pair's speeds are known once two jobs of these types, anybody's, train together.
    """

    is_coupled = True

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        tables: SharingTables,
        *,
        knows_lengths: bool = True,
        knows_pairs: bool = False,
        tenants: Sequence[TenantSnapshot] = (),
    ) -> None:
        self._tables = tables
        self.nodes: Sequence[NodeSnapshot] = tuple(self._node(node, cluster.name) for node in cluster.nodes)
        self.racks: Sequence[RackSnapshot] = cluster.racks
        self.tenants = tuple(tenants) or tuple(TenantSnapshot(t) for t in sorted({job.tenant for job in trace.jobs}))
        self._type_of = {node.name: node.gpu_type for node in self.nodes}
        self._room = {
            t: sum(n.n_gpus for n in self.nodes if n.gpu_type == t) for t in sorted(set(self._type_of.values()))
        }
        self._sized: dict[str, Sized] = {job.id: (job.model, job.n_gpus) for job in trace.jobs}
        self._observations_of: dict[Sized, tuple[SpeedObservation, ...]] = {}
        self._others: Mapping[str, SimulatedGang] = {}
        self._there: dict[tuple[str, int], list[str]] = {}
        self._seen: dict[tuple[str, str], PairObservation] = {}
        self.pairs: Sequence[PairObservation] = ()
        super().__init__([Arrival(job.submitted_at_s, self._snapshot(job, trace, knows_lengths)) for job in trace.jobs])
        if knows_pairs:
            self._report_all()

    # truth

    def step_s(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> float:
        """Returns the seconds of a step; infinite for a job that finds no memory next to the other."""
        norm = min((self._norms(gang, mate)[0] for mate in self._mates(gang, others)), default=1.0)
        return self._alone_s(gang) / norm if norm > 0 else float("inf")

    def segment(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> Segment:
        if self.step_s(gang, others) == float("inf"):
            return Segment(RETRY_S, self._done[gang.job.id], 0.0, is_last=False)
        return super().segment(gang, others)

    def goes_on(
        self,
        segment: Segment,
        gang: SimulatedGang,
        others: Mapping[str, SimulatedGang],
        *,
        elapsed_s: float,  # noqa: ARG002
    ) -> bool:
        """Returns whether its speed is what it was."""
        return segment.is_last and segment.steps_per_s == 1.0 / self.step_s(gang, others)

    def start_s(self, job: JobSnapshot, allocation: GangAllocation, *, restarts: int) -> float:  # noqa: ARG002
        return START_S

    def stop_s(self, job: JobSnapshot, allocation: GangAllocation) -> float:  # noqa: ARG002
        return STOP_S

    def observe(self, gang: SimulatedGang, segment: Segment, *, now_s: float) -> SpeedObservation | None:  # noqa: ARG002
        """Records speeds of pairs, and returns nothing of the job itself: its speeds alone are known from the start."""
        for mate in self._mates(gang, self._others):
            self._report(gang, mate)
        return None

    def _alone_s(self, gang: SimulatedGang) -> float:
        shares = [share for share in gang.allocation.shares if share.gpus]
        sized, gpu_type = self._sized[gang.job.id], self._type_of[shares[0].node]
        rate = self._tables.rate(sized, gpu_type=gpu_type, is_spread=len(shares) > 1)
        assert rate is not None, f"{sized} was placed on {gpu_type}, where its snapshot says that it may not go"
        return 1.0 / rate

    def _norms(self, gang: SimulatedGang, mate: SimulatedGang) -> tuple[float, float]:
        """Speeds of both; of those that cannot be there together, the one that came first has the GPU to itself."""
        norms = self._measured(gang, mate)
        if min(norms) > 0:
            return norms
        is_first = _came(gang.job) < _came(mate.job)
        return float(is_first), float(not is_first)

    def _measured(self, gang: SimulatedGang, mate: SimulatedGang) -> tuple[float, float]:
        if _slots(gang.allocation) != _slots(mate.allocation):
            return 0.0, 0.0
        gpu_type = self._type_of[gang.allocation.shares[0].node]
        return self._tables.together(self._sized[gang.job.id], self._sized[mate.job.id], gpu_type=gpu_type)

    def _mates(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> list[SimulatedGang]:
        """The other jobs that train on any of its GPUs."""
        if others is not self._others:
            self._others, self._there = others, {}
            for job_id, other in others.items():
                for slot in _slots(other.allocation):
                    self._there.setdefault(slot, []).append(job_id)
        there = {job_id for slot in _slots(gang.allocation) for job_id in self._there[slot]} - {gang.job.id}
        return [others[job_id] for job_id in sorted(there)]

    # what the scheduler sees

    def _report(self, gang: SimulatedGang, mate: SimulatedGang) -> None:
        key = gang.job.family, mate.job.family
        if key not in self._seen and key[::-1] not in self._seen:
            self._seen[key] = PairObservation(*key, *self._measured(gang, mate))
            self.pairs = tuple(self._seen.values())

    def _report_all(self) -> None:
        present = set(self._sized.values())
        for gpu_type in self._room:
            for (known, one, other), norms in sorted(self._tables.norms.items()):
                key = _family(one), _family(other)
                if known == gpu_type and {one, other} <= present and key[::-1] not in self._seen:
                    self._seen[key] = PairObservation(*key, *norms)
        self.pairs = tuple(self._seen.values())

    def _snapshot(self, job: TraceJob, trace: Trace, knows_length: bool) -> JobSnapshot:
        sized = self._sized[job.id]
        types = self._types_for(job, trace)
        if sized not in self._observations_of:
            self._observations_of[sized] = self._observations(sized, types)
        may_share = any((gpu_type, sized) in self._tables.sharers for gpu_type in types)
        return JobSnapshot(
            id=job.id,
            tenant=job.tenant,
            study=job.study,
            user=job.user,
            submitted_at_s=job.submitted_at_s,
            steps_total=self._steps(job, trace),
            batch_size=job.n_gpus,
            name=job.id,
            family=_family(sized),
            priority=job.priority,
            mode=Mode.ALL_REDUCE,
            min_workers=job.n_gpus,
            max_workers=job.n_gpus,
            cpus_per_worker=0.0,
            step_overhead_s=self._observations_of[sized][0].step_s,
            example_s=0.0,
            start_s=START_S,
            checkpoint_s=STOP_S,
            observations=self._observations_of[sized],
            gpu_types=() if len(types) == len(self._room) else types,
            length_is_known=knows_length,
            profile=Profile() if may_share else None,
        )

    def _observations(self, sized: Sized, types: tuple[str, ...]) -> tuple[SpeedObservation, ...]:
        """Its speeds alone were measured beforehand: on every type, on one server, and on any number of them."""
        found = []
        for gpu_type in types:
            for n_nodes in range(1, sized[1] + 1):
                rate = self._tables.rate(sized, gpu_type=gpu_type, is_spread=n_nodes > 1)
                assert rate is not None
                shape = (Mode.ALL_REDUCE, sized[1], 0, n_nodes, 1, gpu_type, sized[1])
                found.append(SpeedObservation(*shape, 1.0 / rate, 1.0 / rate, 0.0, n_steps=1000))
        return tuple(found)

    def _steps(self, job: TraceJob, trace: Trace) -> int:
        """The trace's steps; else as many as fit its duration, on the standard type if it runs there."""
        if "total_steps" in job.extra:
            return int(job.extra["total_steps"])
        if job.duration_s <= 0:
            raise BadInput(trace.name, job.row, f"job {job.id!r} has no duration; the sharing environment needs one")
        types = dict.fromkeys((STANDARD_TYPE, *self._tables.gpu_types))
        rates = (self._tables.rate(self._sized[job.id], gpu_type=t, is_spread=False) for t in types)
        return max(1, round(job.duration_s * next(rate for rate in rates if rate is not None)))

    def _types_for(self, job: TraceJob, trace: Trace) -> tuple[str, ...]:
        """Types of GPUs of the cluster on which the job runs. Raises BadInput where there is none."""
        sized = self._sized[job.id]
        if job.model not in self._tables.job_types:
            known = ", ".join(self._tables.job_types)
            problem = f"the job type {job.model!r} was not measured in {self._tables.name}; known: {known}"
            raise BadInput(trace.name, job.row, problem)
        found = [
            t
            for t, n in self._room.items()
            if n >= job.n_gpus and self._tables.rate(sized, gpu_type=t, is_spread=False)
        ]
        if not found:
            measured = (
                (t, [n for n in self._tables.sizes(job.model, t) if n <= most]) for t, most in self._room.items()
            )
            there = "; ".join(f"{', '.join(map(str, sizes)) or 'none'} of {t}" for t, sizes in measured)
            what = f"job {job.id!r}: {job.model!r} was not measured on {job.n_gpus} GPUs of this cluster"
            problem = f"{what}; measured: {there}"
            raise BadInput(trace.name, job.row, problem)
        return tuple(found)

    def _node(self, node: NodeSnapshot, cluster: str) -> NodeSnapshot:
        gpu_type = STANDARD_TYPE if node.gpu_type == UNSAID_TYPE else node.gpu_type
        if gpu_type not in self._tables.gpu_types:
            known = ", ".join(self._tables.gpu_types)
            raise BadInput(
                cluster, None, f"node {node.name} has {gpu_type!r}, which was not measured; gpu_type: {known}"
            )
        is_shared = any(gpu_type == known for known, _ in self._tables.sharers)
        return replace(node, gpu_type=gpu_type, max_jobs_per_gpu=JOBS_PER_GPU if is_shared else 1)


def _family(sized: Sized) -> str:
    job_type, n_gpus = sized
    return job_type if n_gpus == 1 else f"{n_gpus} x {job_type}"


def _came(job: JobSnapshot) -> tuple[float, float, str]:
    return job.allocated_at_s or 0.0, job.submitted_at_s, job.id


def _slots(allocation: GangAllocation) -> frozenset[tuple[str, int]]:
    return frozenset((share.node, gpu) for share in allocation.shares for gpu in share.gpus)
