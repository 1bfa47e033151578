# SPDX-License-Identifier: Apache-2.0
"""A policy that raises, never answers or dies costs a round; after some of them another one decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mlhub.control.deciding.deciders import DecisionError, SubprocessDecider
from mlhub.control.deciding.decision_process import DecisionRequest
from mlhub.control.models import Round, SchedulerState
from mlhub.events.models import Event
from scheduler import RoundMemory, decide, policy_named
from scheduler.policies import POLICIES
from tests.cast import make_cast
from tests.control.misbehaving import Broken, Deadly, Endless
from tests.control.worlds import World, state
from tests.jobs.builders import live_attempt
from tests.scheduler import cases

pytestmark = pytest.mark.django_db
SMALL = cases.cluster(nodes=1, gpus=1).waiting(cases.job("a")).snapshot


@pytest.fixture(autouse=True)
def _there_are_policies_that_misbehave(monkeypatch: pytest.MonkeyPatch) -> None:
    for policy in (Broken, Endless, Deadly):
        monkeypatch.setitem(POLICIES, policy().name, policy)  # type: ignore[arg-type]


@pytest.fixture
def world() -> World:
    return World(make_cast())


@pytest.fixture(scope="module")
def separate() -> Iterator[SubprocessDecider]:
    found = SubprocessDecider()
    yield found
    found.close()


def facts_of(kind: str) -> list[Any]:
    return [e.facts for e in Event.objects.filter(kind=kind).order_by("id")]


def test_a_policy_that_breaks_does_not_stop_the_watch_over_running_jobs(world: World) -> None:
    running = world.job()
    world.rounds(2)
    world.settle(policy="broken")
    world.backend.finish(str(live_attempt(running).id))
    record = world.round()
    assert record is not None
    assert "ZeroDivisionError: a bug" in record.error
    assert state(running) == "succeeded"
    stored = SchedulerState.objects.get(pk=1)
    assert (stored.n_failures, stored.failure["kind"], stored.failure["policy"]) == (1, "raised", "broken")
    assert facts_of("scheduler.failed")[0]["message"] == record.error


@pytest.mark.slow
def test_after_three_failures_in_a_row_fifo_decides_and_the_administrator_s_choice_is_tried_again_later(
    world: World,
) -> None:
    world.settle(policy="broken")
    waiting = world.job()
    world.rounds(3)
    assert state(waiting) == "queued"
    assert SchedulerState.objects.get(pk=1).fallback_since is not None
    world.round()
    assert state(waiting) == "starting"
    assert Round.objects.order_by("-id")[0].policy == "fifo"
    assert facts_of("scheduler.fallback_started")[0]["instead_of"] == "broken"
    again = world.round(after_s=700)
    assert again is not None
    assert "ZeroDivisionError" in again.error
    after = world.round()
    assert after is not None
    assert (after.policy, after.error) == ("fifo", "")


def test_other_settings_are_given_a_chance_at_once_and_success_is_reported(world: World) -> None:
    world.settle(policy="broken")
    world.rounds(4)
    world.settle(policy="srtf")
    record = world.round()
    assert record is not None
    assert (record.policy, record.error) == ("srtf", "")
    stored = SchedulerState.objects.get(pk=1)
    assert (stored.n_failures, stored.fallback_since) == (0, None)


def test_a_chosen_policy_that_recovers_decides_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.settle(policy="broken")
    world.rounds(4)
    monkeypatch.setitem(POLICIES, "broken", POLICIES["srtf"])
    world.round(after_s=700)
    assert facts_of("scheduler.recovered")
    assert SchedulerState.objects.get(pk=1).n_failures == 0


def test_a_parameter_that_is_gone_since_it_was_set_is_named(world: World) -> None:
    world.settle(parameters={"luck": 7})
    record = world.round()
    assert record is not None
    assert "no parameter 'luck'" in record.error


@pytest.mark.slow
def test_a_policy_that_never_answers_is_ended_and_the_next_round_is_decided(separate: SubprocessDecider) -> None:
    world = World(make_cast(), loop_with={"decider": separate})
    running = world.job()
    world.rounds(2)
    world.settle(policy="endless", budget_s=0.2)
    record = world.round()
    assert record is not None
    assert "did not decide within 0.2 s" in record.error
    assert state(running) == "running"
    world.settle(policy="mlhub", budget_s=30)
    world.backend.finish(str(live_attempt(running).id))
    after = world.round()
    assert after is not None
    assert after.error == ""


@pytest.mark.slow
def test_a_policy_that_takes_its_process_with_it_costs_one_round(separate: SubprocessDecider) -> None:
    world = World(make_cast(), loop_with={"decider": separate})
    waiting = world.job()
    world.settle(policy="deadly")
    record = world.round()
    assert record is not None
    assert "ended without an answer" in record.error
    world.settle(policy="mlhub")
    world.round()
    assert state(waiting) == "starting"


@pytest.mark.slow
def test_a_separate_process_decides_as_this_one_does(separate: SubprocessDecider) -> None:
    case = cases.cluster(nodes=2, gpus=2).running(cases.job("a"), n=1).waiting(cases.job("b")).snapshot
    task = DecisionRequest(case, policy_named("mlhub", {}), RoundMemory(), 30.0)
    separate.submit(task)
    decided = separate.result(waits=True)
    assert decided is not None
    assert decided.plan == decide(case, policy=task.policy, memory=task.memory)


@pytest.mark.slow
def test_a_process_that_was_killed_between_two_rounds_is_replaced(separate: SubprocessDecider) -> None:
    task = DecisionRequest(
        cases.cluster(nodes=1, gpus=1).waiting(cases.job("a")).snapshot,
        policy_named("fifo", {}),
        RoundMemory(),
        30.0,
    )
    separate.submit(task)
    assert separate.result(waits=True) is not None
    process = separate._process  # nothing outside of the decider should reach the process that it owns
    assert process is not None
    process.kill()
    process.wait()
    separate.submit(task)
    assert separate.result(waits=True) is not None


def test_an_unknown_answer_is_no_plan(separate: SubprocessDecider) -> None:
    task = DecisionRequest(SMALL, Broken(), RoundMemory(), 30.0)
    separate.submit(task)
    with pytest.raises(DecisionError, match="ZeroDivisionError"):
        separate.result(waits=True)
