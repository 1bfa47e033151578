# SPDX-License-Identifier: Apache-2.0
"""The trials of a study count as one next to the other jobs of their tenant, under every policy."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler import POLICIES, Phase, Plan, Preempt, Wait
from scheduler.simulator.traces.formats import read_trace, trace_to_csv
from tests.scheduler.cases import Case, cluster, job, reason

ROUNDS = 6


def trials(n: int, *, study: str = "sweep", tenant: str = "alice", **more: object) -> list[object]:
    return [job(f"{study}-{i:03d}", gpus=1, study=study, study_name=study, tenant=tenant, **more) for i in range(n)]


def held(case: Case, prefix: str) -> int:
    jobs = [one for one in case.jobs if one.id.startswith(prefix) and one.phase in (Phase.STARTING, Phase.RUNNING)]
    return sum(one.allocation.n_workers for one in jobs if one.allocation)


def played(case: Case, policy: str, rounds: int = ROUNDS) -> tuple[Case, Plan]:
    for _ in range(rounds):
        plan = case.decide(policy)
        case = case.after(plan, seconds=120.0)
    return case, plan


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_study_of_two_hundred_trials_leaves_half_to_the_jobs_of_others_that_wait(policy: str) -> None:
    others = [job(f"other-{i}", gpus=1, at=500.0 + i) for i in range(8)]
    case, _ = played(cluster(nodes=2, gpus=4).waiting(*trials(200), *others), policy)
    assert held(case, "sweep") <= 4
    if policy not in ("gandiva", "antman", "muri"):  # share GPUs, so that less than a whole one counts for a job
        assert held(case, "sweep") + held(case, "other") == 8


@pytest.mark.parametrize("policy", ["fifo", "mlhub", "fair", "srtf", "drf"])
def test_a_study_that_holds_everything_gives_back_for_a_single_job(policy: str) -> None:
    case = cluster(gpus=4).running(*trials(4, length_s=1e5)).waiting(job("other", gpus=1, at=900.0, length_s=1e5))
    plan = case.decide(policy)
    gone = [decision for decision in plan.decisions if isinstance(decision, Preempt)]
    assert len(gone) == 1
    case, _ = played(case, policy)
    assert held(case, "other") == 1
    assert held(case, "sweep") == 3  # what the job does not need is the study's


def test_who_waits_and_who_leaves_reads_that_the_study_has_its_part() -> None:
    case = cluster(gpus=4).running(*trials(4, length_s=1e5))
    case = case.waiting(job("x", gpus=2, at=900.0), job("y", gpus=2, at=901.0), *trials(3, study="sweep-more"))
    case = replace(case, jobs=tuple(replace(one, study="sweep") if one.study else one for one in case.jobs))
    plan = case.decide("fifo")
    gone = [decision for decision in plan.decisions if isinstance(decision, Preempt)]
    assert {reason(decision) for decision in gone} == {"study_share_reached"}
    assert len(gone) == 2
    assert gone[0].explanations[0].sentence == (
        "The trials of the study sweep count as one in alice: 2 GPUs are its part while 2 other jobs wait there."
    )
    waiting = plan.of("sweep-more-000")
    assert isinstance(waiting, Wait)
    assert reason(waiting) == "study_share_reached"


def test_two_studies_have_equal_parts_however_many_trials_they_have() -> None:
    case = cluster(gpus=8).waiting(*trials(64, study="large"), *trials(6, study="small", at=900.0))
    case, _ = played(case, "fifo")
    assert (held(case, "large"), held(case, "small")) == (4, 4)


def test_without_other_jobs_a_study_has_all_that_is_idle() -> None:
    case, _ = played(cluster(gpus=8).waiting(*trials(20)), "fifo")
    assert held(case, "sweep") == 8


def test_jobs_of_other_tenants_and_of_lower_priority_are_not_its_rivals() -> None:
    case = cluster(gpus=4).running(*trials(4, length_s=1e5))
    case = case.waiting(job("bobs", gpus=1, tenant="bob"), job("later", gpus=1, priority=-1))
    assert not [d for d in case.decide("fifo").decisions if isinstance(d, Preempt)]


def test_no_trial_is_stopped_where_the_waiting_job_gains_nothing_by_it() -> None:
    """The job wants more than the study could give back; alice's limit is what keeps it waiting."""
    case = cluster(gpus=8).quota("alice", max_gpus=4).running(*trials(4, length_s=1e5)).waiting(job("x", gpus=4))
    plan = case.decide("fifo")
    assert not [d for d in plan.decisions if isinstance(d, Preempt)]


def test_the_parts_are_of_what_the_tenant_may_have() -> None:
    others = [job(f"other-{i}", gpus=1, at=500.0 + i) for i in range(8)]
    case, _ = played(cluster(gpus=8).quota("alice", max_gpus=4).waiting(*trials(50), *others), "fifo")
    assert (held(case, "sweep"), held(case, "other")) == (2, 2)


@pytest.mark.slow
@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    st.sampled_from(["fifo", "fair", "drf", "las", "srtf", "mlhub", "tiresias", "priority"]),
    st.integers(1, 40),
    st.lists(st.integers(1, 3), min_size=1, max_size=12),
    st.integers(1, 3),
    st.booleans(),
)
def test_a_study_never_has_more_than_the_jobs_that_wait_next_to_it(
    policy: str, n_trials: int, others: list[int], nodes: int, is_first: bool
) -> None:
    """Nor does it starve them: they have GPUs as soon as one of them fits next to a trial."""
    waiting = [job(f"other-{i}", gpus=n, at=500.0 + i, length_s=1e5) for i, n in enumerate(others)]
    case = cluster(nodes=nodes, gpus=4).waiting(*trials(n_trials, length_s=1e5))
    if is_first:
        case, _ = played(case, policy)
    case, _ = played(case.waiting(*waiting), policy, 8)
    blocked = [one for one in case.jobs if one.id.startswith("other") and one.phase is Phase.WAITING]
    mine, theirs = held(case, "sweep"), held(case, "other")
    total = 4 * nodes
    smallest = min((one.min_workers for one in blocked), default=total)
    if theirs + smallest <= total // 2:  # a job waits that its party's part would take
        assert mine <= total - total // 2
    assert theirs >= 1 or min(others) >= total


def test_a_trace_names_the_study_of_a_job() -> None:
    text = "job,submitted_at_s,n_gpus,duration_s,study\na,0,1,60,sweep\nb,0,1,60,\n"
    trace = read_trace(text, name="trace.csv")
    assert [one.study for one in trace.jobs] == ["sweep", ""]
    assert read_trace(trace_to_csv(trace), name="again.csv").jobs == trace.jobs
