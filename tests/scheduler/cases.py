# SPDX-License-Identifier: Apache-2.0
"""Builders that read like the case: cluster(nodes=2, gpus=8).running(job("a", gpus=4)).waiting(job("b"))."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from scheduler import (
    ClusterSnapshot,
    Decision,
    GangAllocation,
    JobSnapshot,
    Keep,
    Launch,
    Mode,
    NodeAllocation,
    NodeSnapshot,
    Phase,
    Plan,
    Preempt,
    RackSnapshot,
    Resize,
    RoundCache,
    RoundMemory,
    TenantSnapshot,
    decide,
    policy_named,
)
from scheduler.api.sharing_measurements import PairObservation
from scheduler.api.topology import InputSet

GIB = 1 << 30


def job(id: str, *, gpus: int | None = None, length_s: float = 100.0, at: float = 0.0, **more: Any) -> JobSnapshot:
    """A job that is length_s long whatever its size, if gpus fixes how many it has; else elastic and perfectly so.

    Elastic: length_s on one worker, 1/n of it on n, no synchronisation to speak of.
    """
    values: dict[str, Any] = {
        "tenant": "alice",
        "submitted_at_s": at,
        "steps_total": max(1, int(length_s * 10)),
        "batch_size": 100,
        "start_s": 0.0,
        "checkpoint_s": 0.0,
    }
    if gpus is not None:
        values |= {"min_workers": gpus, "max_workers": gpus, "step_overhead_s": 0.1, "example_s": 0.0}
    else:
        values |= {"example_s": 0.001, "max_workers": 64}
    return JobSnapshot(id=id, **(values | more))


@dataclass(frozen=True)
class Case:
    """A snapshot under construction; each method returns a new one.

    input_sets: what nodes hold of jobs' inputs; each has room for cache_bytes of them, and for one more that is larger.
    cache: what rounds worked out, kept from round to round as a platform does; None = each round begins without one.
    """

    nodes: tuple[NodeSnapshot, ...]
    racks: tuple[RackSnapshot, ...]
    jobs: tuple[JobSnapshot, ...] = ()
    tenants: tuple[TenantSnapshot, ...] = (TenantSnapshot("alice"), TenantSnapshot("bob"), TenantSnapshot("charlie"))
    now_s: float = 1000.0
    memory: RoundMemory = field(default_factory=RoundMemory)
    pairs: tuple[PairObservation, ...] = ()
    input_sets: tuple[InputSet, ...] = ()
    cache_bytes: int = 1 << 60
    cache: RoundCache | None = field(default=None, repr=False, compare=False)

    def with_cache(self) -> Case:
        return replace(self, cache=RoundCache())

    def waiting(self, *jobs: JobSnapshot) -> Case:
        return replace(self, jobs=self.jobs + jobs)

    def running(self, *jobs: JobSnapshot, n: int | None = None, since: float = 0.0) -> Case:
        """Each on the first free GPUs, n of them (by default its fixed size), node after node."""
        return self._holding(Phase.RUNNING, jobs, n, since)

    def starting(self, *jobs: JobSnapshot, n: int | None = None) -> Case:
        return self._holding(Phase.STARTING, jobs, n, self.now_s)

    def stopping(self, *jobs: JobSnapshot, n: int | None = None) -> Case:
        return self._holding(Phase.STOPPING, jobs, n, 0.0)

    def quota(self, tenant: str, **limits: Any) -> Case:
        others = tuple(t for t in self.tenants if t.id != tenant)
        return replace(self, tenants=(*others, TenantSnapshot(tenant, **limits)))

    def without_node(self, name: str) -> Case:
        return replace(self, nodes=tuple(node for node in self.nodes if node.name != name))

    def with_node(self, name: str, **changes: Any) -> Case:
        return replace(self, nodes=tuple(replace(n, **changes) if n.name == name else n for n in self.nodes))

    def at(self, now_s: float) -> Case:
        return replace(self, now_s=now_s)

    @property
    def snapshot(self) -> ClusterSnapshot:
        return ClusterSnapshot(
            self.now_s,
            self.nodes,
            self.racks,
            self.jobs,
            self.tenants,
            pairs=self.pairs,
            input_sets=self.input_sets,
        )

    def decide(self, policy: str, **parameters: Any) -> Plan:
        return decide(self.snapshot, policy=policy_named(policy, parameters), memory=self.memory, cache=self.cache)

    def after(self, plan: Plan, *, seconds: float = 0.0) -> Case:
        """The plan carried out as the live loop does: launched jobs run; stopped ones wait; nothing progresses. Nodes
        hold the inputs of jobs that were launched there.
        """
        jobs = tuple(_applied(job, plan.of(job.id), self.now_s) for job in self.jobs)
        case = replace(self, jobs=jobs, memory=plan.memory, now_s=self.now_s + seconds)
        for job in self.jobs if self.input_sets else ():
            decision = plan.of(job.id)
            if isinstance(decision, Launch):
                case = case.with_fetched(job, decision.allocation)
        return case

    def with_fetched(self, job: JobSnapshot, allocation: GangAllocation) -> Case:
        """All nodes of the gang hold its inputs; one that has no room for both gives up all others."""
        names = {share.node for share in allocation.shares}
        held = {one.key: dict(one.held) for one in self.input_sets}
        for one in self.input_sets:
            if one.key == job.inputs:
                for name in names:
                    others = [key for key in held if key != one.key and name in held[key]]
                    if sum(held[key][name] for key in others) + one.size_bytes > self.cache_bytes:
                        for key in others:
                            del held[key][name]
                    held[one.key][name] = one.size_bytes
        sets = tuple(replace(one, held=tuple(sorted(held[one.key].items()))) for one in self.input_sets)
        return replace(self, input_sets=sets)

    def _holding(self, phase: Phase, jobs: tuple[JobSnapshot, ...], n: int | None, since: float) -> Case:
        case = self
        for one in jobs:
            allocation = case.first_free(n or one.fixed_workers)
            held = replace(one, phase=phase, allocation=allocation, allocated_at_s=since, training_since_s=since)
            case = replace(case, jobs=(*case.jobs, held))
        return case

    def first_free(self, n: int) -> GangAllocation:
        taken = {(s.node, g) for one in self.jobs if one.allocation for s in one.allocation.shares for g in s.gpus}
        free = [(node.name, g) for node in self.nodes for g in range(node.n_gpus) if (node.name, g) not in taken][:n]
        assert len(free) == n, "the case holds more GPUs than there are"
        names = dict.fromkeys(name for name, _ in free)
        shares = tuple(NodeAllocation(name, tuple(g for other, g in free if other == name)) for name in names)
        return GangAllocation(Mode.ALL_REDUCE, n, 0, shares)


def cluster(*, nodes: int = 1, gpus: int = 4, racks: int = 1, **more: Any) -> Case:
    """That many nodes n0, n1, ... of that many GPUs, dealt to the racks in turn; CPUs and memory are plenty."""
    values: dict[str, Any] = {"gpu_type": "v100", "cpus": 64.0, "memory_bytes": 512 * GIB, "nic_bps": 10e9} | more
    return Case(
        nodes=tuple(NodeSnapshot(f"n{i}", f"r{i % racks}", n_gpus=gpus, **values) for i in range(nodes)),
        racks=tuple(RackSnapshot(f"r{i}", 40e9) for i in range(racks)),
    )


def sizes(plan: Plan) -> dict[str, int]:
    """Workers that each launched or resized job is to have."""
    return {d.job: d.allocation.n_workers for d in plan.decisions if isinstance(d, Launch | Resize)}


def kinds(plan: Plan) -> dict[str, str]:
    return {d.job: type(d).__name__ for d in plan.decisions}


def reason(decision: Decision) -> str:
    return decision.explanations[0].reason.value


def _applied(job: JobSnapshot, decision: Decision, now_s: float) -> JobSnapshot:
    if job.phase is Phase.STOPPING:
        return replace(job, phase=Phase.WAITING, allocation=None, allocated_at_s=None)
    if isinstance(decision, Launch):
        return replace(job, phase=Phase.RUNNING, allocation=decision.allocation, allocated_at_s=now_s)
    if isinstance(decision, Resize):
        return replace(job, phase=Phase.STOPPING, last_resized_at_s=now_s)
    if isinstance(decision, Preempt):
        return replace(job, phase=Phase.STOPPING, n_preemptions=job.n_preemptions + 1)
    if isinstance(decision, Keep) and job.phase is Phase.STARTING:
        return replace(job, phase=Phase.RUNNING)
    return job
