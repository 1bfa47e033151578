# SPDX-License-Identifier: Apache-2.0
"""The network environment: gangs share NICs, uplinks and core; every change of one place changes the speed of others.

Max-min fair sharing by flows that are on for part of each step (models/flows.py), with what the scheduler's predictor
does not know: links carry less than declared, families overlap differently, places differ, latency.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode, Phase, SpeedObservation, TenantSnapshot
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.models.layout import ClusterTopology, Layout
from scheduler.models.network.bandwidth import parameter_server_wire_s
from scheduler.models.network.flows import Flow, Links, groups, settle
from scheduler.simulator.environments.environment import Arrival, Segment, SimulatedGang, SteadyEnvironment
from scheduler.simulator.environments.network_jobs import (
    REFERENCE_BPS,
    STOP_S,
    JobTruth,
    Steps,
    snapshot_of_submission,
    truth_of,
)
from scheduler.simulator.traces.clusters import Cluster
from scheduler.simulator.traces.trace import Trace

GOODPUT = (0.85, 0.95)  # the part of its declared bandwidth that a link carries, by seed
MEASURING_NOISE = 0.02
_MOST_GROUPS = 20_000
_Member = tuple[str, GangAllocation]


@dataclass(frozen=True)
class _PlacedGang:
    """A gang at a place. shape: what distinguishes its measurements from others'. alone_s: of its bytes,
    alone on its links.
    """

    member: _Member
    layout: Layout
    shape: tuple[object, ...]
    steps: Steps
    flow: Flow | None
    alone_s: float


class NetworkEnvironment(SteadyEnvironment):
    """Simulates gangs whose synchronisations share links.

    Steps are iterations at the global batch of the requested size.

    is_elastic: jobs of traces without limits may be smaller than asked for, at the same global batch; otherwise
    they are rigid. knows_speeds: the preflight is exact, and true step times alone are known. knows_lengths: the
    iterations are known. What jobs of the same model and size measured, they share.
    """

    is_coupled = True
    is_learning = True

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        *,
        tenants: Sequence[TenantSnapshot] = (),
        seed: int = 0,
        is_elastic: bool = True,
        knows_lengths: bool = True,
        knows_speeds: bool = False,
    ) -> None:
        self.nodes: Sequence[NodeSnapshot] = cluster.nodes
        self.racks: Sequence[RackSnapshot] = cluster.racks
        self.tenants = tuple(tenants) or tuple(TenantSnapshot(t) for t in sorted({job.tenant for job in trace.jobs}))
        self._topology = ClusterTopology(cluster.nodes, cluster.racks)
        self._links = Links(cluster.nodes, cluster.racks)
        self._goodput = float(np.random.default_rng([seed, 7]).uniform(*GOODPUT))
        self._capacity_L = self._links.capacity_L * self._goodput
        self.truth = {job.id: truth_of(job, seed=seed) for job in trace.jobs}
        self._owner = {job.id: (job.model or job.id, job.n_gpus) for job in trace.jobs}
        self._rng = np.random.default_rng([seed, 11])
        self._seen: dict[tuple[str, int], dict[tuple[object, ...], SpeedObservation]] = {}
        self._observed: dict[tuple[str, int], tuple[SpeedObservation, ...]] = {}
        self._shown: dict[str, tuple[JobSnapshot, JobSnapshot]] = {}
        self._placed: dict[_Member, _PlacedGang] = {}
        self._here: dict[str, _PlacedGang] = {}
        self._settled: OrderedDict[frozenset[_Member], dict[str, float]] = OrderedDict()
        self._others: Mapping[str, SimulatedGang] | None = None
        self._wire_s: dict[str, float] = {}
        arrivals = []
        for job in trace.jobs:
            shown = snapshot_of_submission(job, self.truth[job.id], is_elastic=is_elastic, is_exact=knows_speeds)
            arrivals.append(Arrival(job.submitted_at_s, replace(shown, length_is_known=knows_lengths)))
        super().__init__(arrivals)
        if knows_speeds:
            for arrival in arrivals:
                self._observe_all_sizes(arrival.job)

    def step_s(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> float:
        self._reckon(others)
        job_id = gang.job.id
        return self._placed_gang(job_id, gang.allocation).steps.step_s(self._wire_s.get(job_id, 0.0))

    def start_s(self, job: JobSnapshot, allocation: GangAllocation, *, restarts: int) -> float:  # noqa: ARG002
        return self.truth[job.id].start_s

    def stop_s(self, job: JobSnapshot, allocation: GangAllocation) -> float:  # noqa: ARG002
        return STOP_S

    def observe(self, gang: SimulatedGang, segment: Segment, *, now_s: float) -> SpeedObservation | None:
        """Records the speed by model and size, once for each shape and fifth of its links' share; the snapshots carry
        it.
        """
        job_id, placed = gang.job.id, self._placed_gang(gang.job.id, gang.allocation)
        owner, layout, share = self._owner[job_id], placed.layout, self._share(placed)
        seen = self._seen.setdefault(owner, {})
        key = (*placed.shape, round(share * 5))
        if key not in seen:
            noise = float(np.exp(self._rng.normal(0.0, MEASURING_NOISE)))
            seen[key] = self._observation(gang, layout, step_s=noise / segment.steps_per_s, share=share, now_s=now_s)
            self._observed[owner] = tuple(seen.values())
        return None

    def snapshot_of(self, job: JobSnapshot) -> JobSnapshot:
        """Returns the job as the scheduler sees it: a waiting job is the same object until something is measured."""
        observations = self._observed.get(self._owner[job.id], ())
        if observations is job.observations:
            return job
        if job.phase is not Phase.WAITING:
            return job.moved_on(observations=observations)
        known = self._shown.get(job.id)
        if known is None or known[0] is not job or known[1].observations is not observations:
            known = self._shown[job.id] = job, job.moved_on(observations=observations)
        return known[1]

    # truth

    def _reckon(self, others: Mapping[str, SimulatedGang]) -> None:
        """Wire seconds of all gangs between nodes, by groups that share links; kept by group."""
        if others is self._others:
            return
        apart = [
            self._placed_gang(job_id, gang.allocation)
            for job_id, gang in others.items()
            if len(gang.allocation.shares) > 1
        ]
        flows = [(placed.member, placed.flow) for placed in apart if placed.flow is not None]
        self._wire_s = {}
        for group in groups([flow for _, flow in flows]):
            key = frozenset([flows[i][0] for i in group])
            if key not in self._settled:
                self._settled[key] = self._settle([flows[i] for i in group])
                if len(self._settled) > _MOST_GROUPS:
                    self._settled.popitem(last=False)
            self._wire_s |= self._settled[key]
        self._others = others

    def _placed_gang(self, job_id: str, allocation: GangAllocation) -> _PlacedGang:
        """Where the job is now, at hand; where it ever was, remembered."""
        here = self._here.get(job_id)
        if here is None or here.member[1] is not allocation:
            member = (job_id, allocation)
            here = self._placed.get(member)
            if here is None or here.member[1] is not allocation:
                here = self._placed[member] = self._look_at(member) if here is None else replace(here, member=member)
            self._here[job_id] = here
        return here

    def _look_at(self, member: _Member) -> _PlacedGang:
        job_id, allocation = member
        truth, layout = self.truth[job_id], self._topology.layout_of(allocation)
        flow = self._links.flow(allocation, layout, parameters_bytes=truth.gradient_bytes)
        each = zip(flow.links, flow.bits, strict=True) if flow else ()
        alone_s = max((bits / float(self._capacity_L[link]) for link, bits in each), default=0.0)
        inside_s = self._inside_s(truth, layout, allocation.mode)
        n_messages, noise = self._n_messages(allocation), truth.noise(allocation)
        steps = truth.steps(allocation.n_workers, inside_s=inside_s, n_messages=n_messages, noise=noise)
        shape = (allocation.mode, layout.workers, layout.servers, layout.n_racks, layout.gpu_type)
        return _PlacedGang(member, layout, shape, steps, flow, alone_s)

    def _settle(self, flows: Sequence[tuple[_Member, Flow]]) -> dict[str, float]:
        members = [member for member, _ in flows]
        steps = [self._placed_gang(*member).steps for member in members]

        def stepping(wire_s: Floats) -> Floats:
            return np.array([one.step_s(w) for one, w in zip(steps, wire_s.tolist(), strict=True)])

        settled = settle([flow for _, flow in flows], self._capacity_L, stepping)
        return {job_id: float(w) for (job_id, _), w in zip(members, settled.wire_s_F, strict=True)}

    def _inside_s(self, truth: JobTruth, layout: Layout, mode: Mode) -> float:
        """Wire seconds inside nodes, or in the servers."""
        n = layout.n_workers
        if mode is Mode.PARAMETER_SERVER:
            alone = Layout((n,), (layout.n_servers,), (np.inf,), (0,), (np.inf,), layout.gpu_type)
            return parameter_server_wire_s(alone, parameters_bytes=truth.gradient_bytes)
        return 2 * (n - 1) / n * truth.gradient_bytes * 8 / REFERENCE_BPS

    def _n_messages(self, allocation: GangAllocation) -> int:
        if allocation.mode is Mode.PARAMETER_SERVER:
            return 2 * (allocation.n_workers + allocation.n_servers)
        return 2 * (allocation.n_workers - 1)

    # what the scheduler sees of it

    def _share(self, placed: _PlacedGang) -> float:
        """Of its links' goodput: what pods count in bytes and seconds, against what they had alone."""
        wire_s, inside_s = self._wire_s.get(placed.member[0]), placed.steps.inside_s
        if wire_s is None or placed.flow is None:
            return 1.0
        return min(1.0, max(placed.alone_s, inside_s) / max(wire_s, inside_s))

    def _observation(
        self, gang: SimulatedGang, layout: Layout, *, step_s: float, share: float, now_s: float = 0.0
    ) -> SpeedObservation:
        """Of one pass and its synchronisation: further passes only add their computation."""
        truth, allocation = self.truth[gang.job.id], gang.allocation
        n, passes = allocation.n_workers, truth.passes(allocation.n_workers)
        compute_s = truth.compute_s(n)
        sync_s = max(0.0, step_s - passes * compute_s)
        where = (layout.n_nodes, layout.n_racks, layout.gpu_type)
        shape = (allocation.mode, n, allocation.n_servers, *where, round(gang.job.batch_size / passes))
        return SpeedObservation(
            *shape, compute_s + sync_s, compute_s, sync_s, n_steps=100, observed_at_s=now_s, share=share
        )

    def _observe_all_sizes(self, job: JobSnapshot) -> None:
        """True step times of packed gangs, alone, at 1, 2, 4 ... workers and at the size asked for."""
        seen = self._seen.setdefault(self._owner[job.id], {})
        if seen:
            return
        for n in sorted({1 << i for i in range(job.max_workers.bit_length())} | {job.fixed_workers}):
            if not job.min_workers <= n <= job.max_workers:
                continue
            for gpu_type in self._topology.gpu_types():
                layout = self._topology.typical(gpu_type, n)
                truth = self.truth[job.id]
                wire_s = self._inside_s(truth, layout, Mode.ALL_REDUCE)
                if layout.n_nodes > 1:
                    bps = min(*layout.nic_bps, *(layout.uplink_bps if layout.n_racks > 1 else ()))
                    wire_s = max(wire_s, 2 * (n - 1) / n * truth.gradient_bytes * 8 / (bps * self._goodput))
                step_s = truth.steps(n, n_messages=2 * (n - 1)).step_s(wire_s)
                gang = SimulatedGang(job, GangAllocation(Mode.ALL_REDUCE, n, 0, ()))
                seen[n, gpu_type] = self._observation(gang, layout, step_s=step_s, share=1.0)
        self._observed[self._owner[job.id]] = tuple(seen.values())
