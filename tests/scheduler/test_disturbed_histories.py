# SPDX-License-Identifier: Apache-2.0
"""Histories in which nodes, GPUs, limits and jobs change between rounds: each round decides, and within what is there.

Jobs use every field that a snapshot has. More of them: `make bench-histories`. Guarantee G11.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scheduler import JobSnapshot, Launch, Mode, Phase, Plan, Resize, SpeedObservation, TenantSnapshot, Wait
from scheduler.api.gpu_budgets import BudgetPeriod, GpuHourBudget, OnExhausted
from scheduler.api.plan import Decision
from scheduler.api.sharing_measurements import PairObservation, PairResource
from scheduler.api.user_limits import UserLimit
from tests.scheduler.cases import GIB, Case
from tests.scheduler.invariants import exceeded_limits, held_gpus
from tests.scheduler.test_properties import any_job, cases, policies, quick

ROUND_S = 30.0
N_ROUNDS = 12
FAMILIES = ("f0", "f1", "f2")
TYPES = ("v100", "k80")
Event = tuple[str, int, int]  # what, to which one, how


@dataclass(frozen=True)
class History:
    """events: by round; a number chooses among what is there then, so that each of them has an object."""

    case: Case
    arrivals: tuple[tuple[int, JobSnapshot], ...]
    events: tuple[tuple[Event, ...], ...]


@st.composite
def rich_job(draw: st.DrawFn, id: str) -> JobSnapshot:
    """A job whose optional fields are set as often as not."""
    job = draw(any_job(id))
    largest = draw(st.sampled_from([None, None, job.batch_size, 4 * job.batch_size]))
    knows_length = draw(st.integers(0, 4)) > 0
    study = draw(st.sampled_from(["", "", "", "s1"]))
    return replace(
        job,
        hold=None,
        family=draw(st.sampled_from(["", *FAMILIES])),
        memory_per_server_bytes=draw(st.sampled_from([0, GIB])),
        requested_servers=draw(st.sampled_from([None, None, 1, 3])),
        max_batch_size=largest,
        min_local_batch=draw(st.sampled_from([1, 4])) if largest else 1,
        max_local_batch=draw(st.sampled_from([None, 4, 64])),
        noise_scale=draw(st.sampled_from([None, 0.0, 100.0])),
        noise_ahead=draw(st.sampled_from([(), ((0.0, 50.0), (500.0, 400.0))])),
        counts_examples=draw(st.booleans()),
        length_is_known=knows_length,
        steps_total=job.steps_total if knows_length else 0,
        lost_s=draw(st.sampled_from([0.0, 60.0])),
        start_error=draw(st.sampled_from([0.0, 0.5, 2.0])),
        study=study,
        study_name=study,
        user=draw(st.sampled_from(["", "ann", "ben"])),
        shares_within=draw(st.sampled_from(["", "p", "q"])),
    )


@st.composite
def rich_tenant(draw: st.DrawFn, tenant: TenantSnapshot) -> TenantSnapshot:
    """The tenant, with further limits now and then."""
    by_type = draw(st.sampled_from([(), (), (("v100", 1),), (("v100", 2), ("k80", 1))]))
    hours = draw(st.sampled_from([None, None, *OnExhausted]))
    budget = hours and GpuHourBudget(
        10.0,
        period=BudgetPeriod.DAY,
        on_exhausted=hours,
        gpu_type=draw(st.sampled_from(["", "v100"])),
        used_gpu_hours=draw(st.sampled_from([0.0, 9.99, 11.0])),
        ends_at_s=draw(st.sampled_from([1100.0, 90_000.0])),
    )
    return replace(
        tenant,
        gpus_by_type=by_type,
        guarantee_by_type=draw(st.sampled_from([(), (), (("v100", 1),)])) if tenant.guarantee else (),
        max_cpus=draw(st.sampled_from([None, None, 4])),
        max_memory_bytes=draw(st.sampled_from([None, None, 3 * GIB])),
        user_limits=draw(st.sampled_from([(), (), (UserLimit("ann", "Ann", max_gpus=1),)])),
        budgets=(budget,) if budget else (),
    )


EVENTS = st.tuples(
    st.sampled_from(
        [
            "drain",
            "return",
            "lose",
            "break",
            "cancel",
            "fail",
            "finish",
            "limit",
            "raise",
            "measure",
            "pair",
            "bound",
            "evict",
            "unknown",
        ]
    ),
    st.integers(0, 7),
    st.integers(0, 7),
)


@st.composite
def disturbed(draw: st.DrawFn) -> History:
    case = draw(cases())
    n_jobs = draw(st.integers(1, 6))
    arrivals = tuple((draw(st.integers(0, 6)), draw(rich_job(f"j{number}"))) for number in range(n_jobs))
    tenants = tuple(draw(rich_tenant(tenant)) for tenant in case.tenants)
    events = tuple(tuple(draw(st.lists(EVENTS, max_size=2))) for _ in range(N_ROUNDS))
    return History(replace(case, jobs=(), tenants=tenants), arrivals, events)


class DisturbedWorld:
    """all_nodes: also those that are gone. A job starts in the round after its launch, and trains in the next."""

    def __init__(self, history: History) -> None:
        self.case, self.all_nodes = history.case.with_cache(), history.case.nodes
        self.history = history

    def faults_of(self, policy: str) -> list[str]:
        """What is wrong with the plans of all rounds."""
        found = list[str]()
        for number in range(N_ROUNDS):
            for event in self.history.events[number]:
                self._apply(*event)
            arrived = (job for at, job in self.history.arrivals if at == number)
            self.case = self.case.waiting(*(replace(job, submitted_at_s=self.case.now_s) for job in arrived))
            plan = self.case.decide(policy)
            found += [f"round {number}: {fault}" for fault in faults_in(self.case, plan)]
            self.case = self.case.after(plan, seconds=ROUND_S)
            self._start({decision.job for decision in plan.decisions if isinstance(decision, Launch)})
            self._train()
        return found

    def _change(self, which: Any, **changes: Any) -> None:
        self.case = replace(
            self.case, jobs=tuple(replace(job, **changes) if which(job) else job for job in self.case.jobs)
        )

    def _start(self, launched: set[str]) -> None:
        self._change(lambda job: job.id in launched, phase=Phase.STARTING)

    def _train(self) -> None:
        jobs = []
        for job in self.case.jobs:
            if job.phase is Phase.RUNNING and job.allocation is not None:
                held_s = job.executed_gpu_s + ROUND_S * job.allocation.n_workers
                steps = job.steps_done + job.allocation.n_workers
                steps = min(steps, job.steps_total - 1) if job.length_is_known else steps
                since = job.training_since_s or self.case.now_s - ROUND_S
                job = replace(job, steps_done=max(0.0, steps), executed_gpu_s=held_s, training_since_s=since)
            jobs.append(job)
        self.case = replace(self.case, jobs=tuple(jobs))

    def _apply(self, what: str, which: int, how: int) -> None:
        nodes, jobs = self.case.nodes, self.case.jobs
        node = nodes[which % len(nodes)] if nodes else None
        job = jobs[which % len(jobs)] if jobs else None
        tenant = self.case.tenants[which % len(self.case.tenants)]
        if what == "return":
            self.case = replace(self.case, nodes=self.all_nodes)
        elif node is not None and what == "drain":
            self.case = self.case.with_node(node.name, is_schedulable=not node.is_schedulable)
        elif node is not None and what == "lose":
            self._end(lambda one: any(share.node == node.name for share in one.allocation.shares))
            self.case = self.case.without_node(node.name)
        elif node is not None and what == "break":
            self.case = self.case.with_node(node.name, unusable_gpus=(how % node.n_gpus,))
        elif job is not None and what in ("cancel", "finish"):
            self.case = replace(self.case, jobs=tuple(one for one in jobs if one is not job))
        elif job is not None and what == "fail":
            self._end(lambda one: one.id == job.id)
            until = self.case.now_s + 10.0 * how
            self._change(
                lambda one: one.id == job.id and one.phase is Phase.WAITING, hold="backoff", hold_until_s=until
            )
        elif what == "limit":
            self._tenant(tenant, max_gpus=how % 5, max_running_jobs=None if how > 4 else how)
        elif what == "raise":
            self._tenant(tenant, max_gpus=None, max_running_jobs=None, max_cpus=None, max_memory_bytes=None, budgets=())
        elif job is not None and what == "bound":
            types = ((), ("k80",), ("v100",))[how % 3]
            self._change(lambda one: one.id == job.id, priority=how - 4, gpu_types=types)
        elif what == "pair":
            pair = PairObservation(
                FAMILIES[which % 3], FAMILIES[how % 3], 0.2 + 0.1 * which, 0.2 + 0.1 * how, list(PairResource)[how % 4]
            )
            self.case = replace(self.case, pairs=(*self.case.pairs, pair))
        elif what == "evict":
            kept = tuple(
                one if k == which % 3 else replace(one, held=one.held[how:])
                for k, one in enumerate(self.case.input_sets)
            )
            self.case = replace(self.case, input_sets=kept)
        elif what == "unknown":
            self.case = replace(self.case, input_sets=self.case.input_sets[how % 2 :])
        elif job is not None and job.held is not None and what == "measure":
            self._measure(job, 0.01 * 4.0**how)
        self._change(lambda one: one.hold_until_s is not None and one.hold_until_s <= self.case.now_s, hold=None)

    def _tenant(self, tenant: TenantSnapshot, **changes: Any) -> None:
        changed = tuple(replace(t, **changes) if t is tenant else t for t in self.case.tenants)
        self.case = replace(self.case, tenants=changed)

    def _end(self, which: Any) -> None:
        """Jobs that hold something lose it: their pods are gone."""
        lost = {"phase": Phase.WAITING, "allocation": None, "allocated_at_s": None, "training_since_s": None}
        self._change(lambda job: job.held is not None and which(job), **lost)

    def _measure(self, job: JobSnapshot, step_s: float) -> None:
        gang = job.allocation
        assert gang is not None
        nodes = {node.name: node for node in self.case.nodes}
        seen = SpeedObservation(
            gang.mode,
            gang.n_workers,
            gang.n_servers,
            len([share for share in gang.shares if share.gpus]),
            len({nodes[share.node].rack for share in gang.shares}),
            next(nodes[share.node].gpu_type for share in gang.shares if share.gpus),
            job.batch_size,
            step_s,
            step_s * 0.7,
            step_s * 0.3,
            50,
            observed_at_s=self.case.now_s,
        )
        seen_by = (*job.observations, seen)
        self._change(
            lambda one: one.id == job.id or (job.family != "" and one.family == job.family), observations=seen_by
        )


def faults_in(before: Case, plan: Plan) -> list[str]:
    """What a plan gives that is not there to give, or not to be given to that job.

    A limit may be lower than what is held already; then nothing is added to that.
    """
    nodes, found = {node.name: node for node in before.nodes}, list[str]()
    decided = [decision.job for decision in plan.decisions]
    if decided != [job.id for job in before.jobs]:
        found.append(f"decides {decided}")
    held = {job.id for job in before.jobs if job.held is not None}
    adds = [d for d in plan.decisions if isinstance(d, Launch | Resize)]
    for decision in adds:
        job, gang = before.snapshot.by_id[decision.job], decision.allocation
        if job.hold is not None:
            found.append(f"{job.id} starts although it is on hold")
        if not job.min_workers <= gang.n_workers <= job.max_workers or gang.n_workers != sum(
            len(share.gpus) for share in gang.shares
        ):
            found.append(f"{job.id} gets {gang.n_workers} workers")
        if (gang.n_servers > 0) != (gang.mode is Mode.PARAMETER_SERVER) or job.mode not in (None, gang.mode):
            found.append(f"{job.id} gets {gang.n_servers} servers in mode {gang.mode}")
        own = {(s.node, g) for s in (job.held.shares if job.held else ()) for g in s.gpus}
        for share in gang.shares:
            node = nodes.get(share.node)
            if node is None or not node.is_schedulable:
                found.append(f"{job.id} gets {share.node}, which takes no jobs")
            elif any(g >= node.n_gpus or (g in node.unusable_gpus and (share.node, g) not in own) for g in share.gpus):
                found.append(f"{job.id} gets GPUs {share.gpus} of {share.node}, of which some cannot be used")
        types = {nodes[s.node].gpu_type for s in gang.shares if s.gpus and s.node in nodes}
        if len(types) > 1 or (job.gpu_types and not types <= set(job.gpu_types)):
            found.append(f"{job.id} gets types {types}")
    holders = dict[tuple[str, int], list[str]]()
    for job_id, slots in held_gpus(before.snapshot, plan).items():
        for slot in slots:
            holders.setdefault(slot, []).append(job_id)
    for (name, gpu), jobs in holders.items():
        if name in nodes and len(jobs) > nodes[name].max_jobs_per_gpu and not set(jobs) <= held:
            found.append(f"GPU {gpu} of {name} goes to {jobs}")
    exceeded = exceeded_limits(before, plan)
    return found + exceeded if exceeded != exceeded_limits(before, _without(plan, adds)) else found


def _without(plan: Plan, adds: Sequence[Decision]) -> Plan:
    """The plan as far as it takes away: who holds what until it is carried out."""
    ids = {decision.job for decision in adds}
    return replace(plan, decisions=tuple(Wait(d.job, ()) if d.job in ids else d for d in plan.decisions))


@quick
@given(disturbed(), policies)
def test_whatever_changes_between_rounds_plans_give_what_is_there(history: History, policy: str) -> None:
    assert DisturbedWorld(history).faults_of(policy) == []
