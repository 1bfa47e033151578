# SPDX-License-Identifier: Apache-2.0
"""Random histories to their end, under every policy: each job that fits starts within a bound, and ends.

More of them: `make bench-histories`. Guarantee G11.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import JobSnapshot, Launch, Mode, Phase
from scheduler.api.plan import Reason
from scheduler.api.topology import FETCH_BPS
from scheduler.placement.input_fetching import InputFetching
from tests.scheduler.cases import GIB, Case, cluster, job, kinds
from tests.scheduler.invariants import exceeded_limits, restless
from tests.scheduler.test_properties import LOADS, cases, policies, quick

ROUND_S = 30.0
# Rounds that a job may take apart from its training: to be launched, to leave, and what others' restarts cost it.
SPARE_ROUNDS = 12
# Taking turns makes each job wait for the others' turns and restarts.
TURNS = 3
LAST_ARRIVAL = 12  # the round


@dataclass(frozen=True)
class Arrival:
    """A job, when it is submitted, and the GPU-seconds that it trains, which the scheduler does not know."""

    job: JobSnapshot
    round: int
    work_s: float


@st.composite
def histories(draw: st.DrawFn) -> tuple[Case, list[Arrival]]:
    """A cluster whose jobs come one after the other."""
    case = draw(cases())
    arrivals = [
        Arrival(job, draw(st.integers(0, LAST_ARRIVAL)), draw(st.sampled_from([10.0, 60.0, 400.0])))
        for job in case.jobs
    ]
    return replace(case, jobs=()), arrivals


def fits(case: Case, job: JobSnapshot, policy: str) -> bool:
    """Alone on the cluster it is launched, as it is or without the workers that it requests: these are a wish. One
    whose wish needs nodes that take no new jobs waits for them.
    """
    for asked in dict.fromkeys((job.requested_workers, None)):
        one = replace(job, submitted_at_s=case.now_s, requested_workers=asked)
        alone = replace(case, jobs=(one,))
        for _ in range(4):
            plan = alone.decide(policy)
            if isinstance(plan.of(job.id), Launch):
                return True
            if plan.of(job.id).explanations[0].reason is Reason.NODES_CORDONED:
                return False
            alone = alone.after(plan, seconds=ROUND_S)
    return False


class World:
    """The jobs of a history as they train; case: what the scheduler sees of them. exceeded: limits that plans broke."""

    def __init__(self, case: Case, arrivals: list[Arrival]) -> None:
        self.case, self.work_s = case.with_cache(), {one.job.id: one.work_s for one in arrivals}
        self.trained_s = dict.fromkeys(self.work_s, 0.0)
        self.exceeded: list[str] = []
        self.fetching_until_s: dict[str, float] = {}

    def round(self, policy: str, arrived: list[JobSnapshot]) -> None:
        """One decision, and what follows of it until the next."""
        case = self.case.waiting(*(replace(job, submitted_at_s=self.case.now_s) for job in arrived))
        plan = case.decide(policy)
        self.exceeded += exceeded_limits(case, plan)
        fetching = InputFetching(case.snapshot)
        for one in plan.decisions:
            if isinstance(one, Launch):
                fetch_s = fetching.fetch_s(case.snapshot.by_id[one.job], one.allocation)
                self.fetching_until_s[one.job] = case.now_s + fetch_s
        case = case.after(plan, seconds=ROUND_S)
        self.case = replace(
            case, jobs=tuple(job for job in map(self._trained, case.jobs) if not self.has_ended(job.id))
        )

    def _trained(self, job: JobSnapshot) -> JobSnapshot:
        if job.phase is not Phase.RUNNING or job.allocation is None:
            return job
        if self.case.now_s < self.fetching_until_s.get(job.id, 0.0):
            return replace(job, phase=Phase.STARTING)
        self.trained_s[job.id] += job.allocation.n_workers * ROUND_S
        share = self.trained_s[job.id] / self.work_s[job.id]
        return replace(job, steps_done=min(job.steps_total - 1, int(share * job.steps_total)))

    def has_ended(self, job_id: str) -> bool:
        return self.trained_s[job_id] >= self.work_s[job_id]


def faults(case: Case, arrivals: list[Arrival], policy: str) -> list[str]:
    """Limits that were exceeded in a round, and jobs that fit and have not ended in TURNS times what it takes to fetch
    their inputs and train them alone, one after the other: they starve, or others and they preempt each other without
    end.
    """
    fitting = [one.job.id for one in arrivals if fits(case, one.job, policy)]
    size_s = {one.key: 8 * one.size_bytes / FETCH_BPS for one in case.input_sets}
    one_by_one = sum(
        (one.work_s / one.job.min_workers + size_s.get(one.job.inputs, 0.0)) / ROUND_S + SPARE_ROUNDS
        for one in arrivals
    )
    world = World(case, arrivals)
    for number in range(LAST_ARRIVAL + 1 + int(TURNS * one_by_one)):
        world.round(policy, [one.job for one in arrivals if one.round == number])
        if all(map(world.has_ended, fitting)):
            break
    return world.exceeded + [f"{job_id} has not ended" for job_id in fitting if not world.has_ended(job_id)]


def faults_at_rest(case: Case, arrivals: list[Arrival], policy: str) -> list[str]:
    """What still changes where all jobs are there from the beginning and none makes progress."""
    return [repr(decision) for decision in restless(replace(case, jobs=tuple(one.job for one in arrivals)), policy)]


@quick
@given(histories(), policies)
def test_every_job_that_fits_ends_within_a_bound(history: tuple[Case, list[Arrival]], policy: str) -> None:
    case, arrivals = history
    assert faults(case, arrivals, policy) == []


def test_a_job_does_not_move_for_ever_between_types_where_its_servers_find_no_place() -> None:
    """Its servers had a place next to the workers in the reckoning, on the type that it was not on, and on no node."""
    case = cluster(nodes=2, cpus=8.0, memory_bytes=4 * GIB, nic_bps=1e9).with_node("n1", gpu_type="k80")
    gang = JobSnapshot(
        "gang",
        "alice",
        0.0,
        10,
        8,
        mode=Mode.PARAMETER_SERVER,
        min_workers=4,
        max_workers=4,
        cpus_per_worker=2.0,
        parameters_bytes=400_000_000,
        start_s=0.0,
    )
    assert restless(case.waiting(gang), "mlhub") == []


def test_a_job_grows_only_once_the_one_that_it_displaces_has_left_its_tenant_s_limit() -> None:
    """Where GPUs may be shared, it would stop for its new size while the other one, which leaves, still counts."""
    case = cluster(nodes=2, gpus=1, max_jobs_per_gpu=1).with_node("n0", max_jobs_per_gpu=4)
    case = case.quota("bob", max_gpus=2)
    small = job("grows", tenant="bob", length_s=900.0, max_workers=2, priority=1, profile=LOADS)
    case = case.running(small, n=1).running(job("leaves", gpus=1, tenant="bob", length_s=90_000.0))
    for _ in range(6):
        plan = case.decide("mlhub")
        assert exceeded_limits(case, plan) == []
        case = case.after(plan, seconds=ROUND_S)
    grown = case.snapshot.by_id["grows"].allocation
    assert grown is not None
    assert grown.n_workers == 2


@pytest.mark.parametrize("policy", ["mlhub", "muri"])
def test_a_job_starts_once_the_one_that_it_displaces_has_left_its_tenant_s_limit(policy: str) -> None:
    """Where GPUs may be shared, plans are placed as they are once all preempted jobs have left."""
    case = cluster(nodes=2, gpus=1, max_jobs_per_gpu=2).quota("bob", max_running_jobs=1)
    ended, first = job("ended", gpus=1), job("first", gpus=1, tenant="bob", length_s=600.0, profile=LOADS)
    case = case.running(ended, first)
    case = replace(case, jobs=case.jobs[1:]).waiting(
        job("urgent", gpus=1, tenant="bob", length_s=60.0, priority=1, at=900.0, profile=LOADS)
    )
    leaving = starting = None
    for _ in range(4):
        plan = case.decide(policy)
        assert exceeded_limits(case, plan) == []
        leaving = leaving or kinds(plan)["first"] == "Preempt"
        starting = starting or kinds(plan)["urgent"] == "Launch"
        case = case.after(plan, seconds=ROUND_S)
    assert (leaving, starting) == (True, True)
