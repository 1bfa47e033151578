# SPDX-License-Identifier: Apache-2.0
"""A second policy on each real snapshot: what it would have done is stored, and nothing of it happens."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.control.deciding.deciders import InProcessDecider, SubprocessDecider
from mlhub.control.deciding.memory import MemoryOwner, load_memory
from mlhub.control.deciding.shadow import Shadow
from mlhub.control.models import Round, ShadowDecision
from scheduler.policies import POLICIES
from tests.cast import make_cast
from tests.control.misbehaving import Broken, Endless
from tests.control.worlds import World, state
from tests.jobs.builders import LONG, live_attempt

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return World(make_cast())


def test_what_the_shadow_would_have_done_is_stored_with_the_round_and_not_done(world: World) -> None:
    world.settle(policy="srsf", shadow_policy="mlhub")
    alone = world.job(min_workers=1, max_workers=4, **LONG)
    record = world.round()
    assert record is not None
    shadow = ShadowDecision.objects.get(round=record)
    assert (shadow.policy, shadow.n_jobs, shadow.n_different, shadow.error) == ("mlhub", 1, 1, "")
    (difference,) = shadow.differences
    assert difference["job"] == str(alone.id)
    assert difference["real"]["n_workers"] == 1
    assert difference["shadow"]["n_workers"] > 1
    assert live_attempt(alone).n_workers == 1
    assert shadow.mean_finish_s is not None
    assert shadow.real_mean_finish_s is not None
    assert shadow.mean_finish_s < shadow.real_mean_finish_s


@pytest.mark.slow
def test_the_same_policy_in_the_shadow_differs_in_nothing_whatever_happens(world: World) -> None:
    world.settle(policy="mlhub", shadow_policy="mlhub")
    for i in range(5):
        world.job(name=f"job {i}")
        world.round(after_s=60)
    assert ShadowDecision.objects.count() > 2
    assert not ShadowDecision.objects.exclude(n_different=0).exists()


def test_the_shadow_has_a_memory_of_its_own(world: World) -> None:
    world.settle(policy="fifo", shadow_policy="las")
    world.job()
    world.rounds(2)
    assert load_memory(MemoryOwner.SHADOW).policy == "las"


@pytest.mark.parametrize("change", [{"shadow_policy": "broken"}, {"shadow_policy": "gone"}])
def test_a_shadow_that_fails_is_recorded_and_the_round_stands(
    world: World, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    monkeypatch.setitem(POLICIES, "broken", Broken)  # type: ignore[arg-type]
    world.settle(**change)
    waiting = world.job()
    record = world.round()
    assert state(waiting) == "starting"
    assert ShadowDecision.objects.get(round=record).error


@pytest.mark.slow
def test_a_shadow_that_never_answers_delays_no_other_and_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(POLICIES, "endless", Endless)  # type: ignore[arg-type]
    decider = SubprocessDecider()
    try:
        world = World(make_cast(), loop_with={"shadow": Shadow(decider)})
        world.settle(shadow_policy="endless", budget_s=0.2)
        jobs = [world.job(name=f"job {i}", max_workers=1) for i in range(3)]
        while not decider.is_ready():
            pass
        for i in range(3):
            world.round()
            assert state(jobs[i]) in ("starting", "running")
        while not ShadowDecision.objects.exists():
            world.round(after_s=31)
        assert "did not decide within" in ShadowDecision.objects.all()[0].error
    finally:
        decider.close()


def test_no_shadow_is_asked_where_none_is_wanted(world: World) -> None:
    world.job()
    world.round()
    assert isinstance(world.loop.shadow.decider, InProcessDecider)
    assert Round.objects.count() == 1
    assert not ShadowDecision.objects.exists()
