# SPDX-License-Identifier: Apache-2.0
"""What if: the same decide on a changed snapshot, and nothing else. What is asked has no effect on what is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import JobSnapshot, Launch, Wait
from tests.scheduler.cases import Case, cluster, job
from tests.scheduler.invariants import rounds
from tests.scheduler.test_properties import any_job, cases, policies, quick


@pytest.mark.slow
@quick
@given(cases(), policies, any_job("supposed"))
def test_a_supposed_job_is_decided_as_if_it_had_been_submitted_and_the_question_leaves_no_trace(
    case: Case, policy: str, supposed: JobSnapshot
) -> None:
    before = rounds(case, policy, 2)[-1][0]
    plan = before.decide(policy)
    asked = before.waiting(supposed).decide(policy)
    assert before.waiting(supposed).decide(policy) == asked  # the real submission
    assert before.decide(policy) == plan
    assert [d.job for d in asked.decisions] == [*(d.job for d in plan.decisions), "supposed"]


@pytest.mark.slow
@quick
@given(cases(), policies, st.data())
def test_a_question_that_changes_nothing_has_the_same_answer(case: Case, policy: str, data: st.DataObject) -> None:
    before = rounds(case, policy, 2)[-1][0]
    same = replace(
        before,
        nodes=tuple(replace(node) for node in before.nodes),
        tenants=tuple(replace(tenant) for tenant in before.tenants),
        jobs=tuple(replace(one) for one in before.jobs),
    )
    assert same.decide(policy) == before.decide(policy)
    if before.jobs:  # cancelled and submitted again at its place: nothing has changed either
        at = data.draw(st.integers(0, len(before.jobs) - 1))
        without = replace(before, jobs=(*before.jobs[:at], *before.jobs[at + 1 :]))
        without.decide(policy)
        again = replace(without, jobs=(*without.jobs[:at], before.jobs[at], *without.jobs[at:]))
        assert again.decide(policy) == before.decide(policy)


@pytest.mark.slow
@quick
@given(cases(), policies)
def test_what_would_be_with_jobs_that_can_never_run_is_what_is(case: Case, policy: str) -> None:
    """A job on hold takes no part: everybody else's decision but for the count of those ahead is the same."""
    before = rounds(case, policy, 2)[-1][0]
    held = before.waiting(job("held", gpus=1, hold="preflight")).decide(policy)
    kinds = {d.job: type(d).__name__ for d in before.decide(policy).decisions}
    assert {d.job: type(d).__name__ for d in held.decisions if d.job != "held"} == kinds


def test_more_nodes_start_what_waits_and_fewer_do_not() -> None:
    case = cluster(nodes=1, gpus=2).running(job("a", gpus=2)).waiting(job("b", gpus=2))
    assert isinstance(case.decide("fifo").of("b"), Wait)
    more = replace(case, nodes=(*case.nodes, replace(case.nodes[0], name="new")))
    assert isinstance(more.decide("fifo").of("b"), Launch)
