# SPDX-License-Identifier: Apache-2.0
"""Why of a job that a budget of GPU-hours stops, or whose project has no quota of its own: the advice comes true."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mlhub.control.models import SchedulerSettings
from mlhub.tenants.actions.limits.quotas import set_quota
from mlhub.tenants.models import Project
from tests.cast import make_cast
from tests.control.advice.test_why_limits import advised, blocked, user_limits, why
from tests.control.worlds import World, state
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    """Fifo on four GPUs, two a node."""
    found = World(make_cast(), now=datetime.now(UTC) - timedelta(seconds=60))
    SchedulerSettings.objects.update_or_create(pk=1, defaults={"policy": "fifo"})
    return found


def budget(period: str = "once") -> list[dict[str, Any]]:
    other = {"gpu_hours": 1000.0, "period": "day", "on_exhausted": "alert", "gpu_type": ""}
    return [other, {"gpu_hours": 0.0, "period": period, "on_exhausted": "stop_new", "gpu_type": ""}]


@pytest.mark.parametrize(
    ("owner", "who", "raised_by", "period"),
    [
        ("a", "A", "an administrator of the platform can", "once"),
        ("project_a", "vision", "an admin of A can", "month"),
        ("user", "bob in A", "an admin of A can", "once"),
    ],
)
def test_a_budget_that_is_used_up_is_advised_as_large_as_the_job_needs(
    world: World, owner: str, who: str, raised_by: str, period: str
) -> None:
    cast = world.cast
    users = f"/api/v1/organisations/{cast.a.pk}/quota/users"
    place = cast.a if owner == "user" else getattr(cast, owner)

    def set_budgets(budgets: list[dict[str, Any]]) -> None:
        if owner == "user":
            user_limits(world, users, budgets=budgets)
        else:
            set_quota(place, budgets=budgets, actor=cast.root)

    set_budgets(budget(period))
    waiting, headline, analysis = blocked(world, runs=0)
    assert "0 GPU-hours" in headline
    kind = "user_budget" if owner == "user" else "budget"
    (found,) = [one for one in analysis["blockers"] if one["kind"] == kind]
    assert (found["need"], found["have"], found["total"], found["is_blocking"]) == (1, 0, 0, True)
    assert found["sentence"].startswith(who.partition(" ")[0] + " has used 0 of ")
    larger = advised(analysis, f"larger_{kind}")
    (raised,) = [one for one in larger["changes"]["budgets"] if one["on_exhausted"] == "stop_new"]
    amount = f"{raised['gpu_hours']:g} GPU-hours" + ("" if period == "once" else f" a {period}")
    assert larger["sentence"] == f"Raise the budget of {who} to {amount}; {raised_by}."
    assert raised["gpu_hours"] >= 2.0  # two workers for an hour
    assert (larger["by"], larger["starts_now"]) == ("administrator", True)
    set_budgets(larger["changes"]["budgets"])
    world.rounds(2)
    assert state(waiting) == "running"


@pytest.mark.parametrize("place", ["above", "same", "user"])
def test_two_budgets_that_bind_at_once_are_advised_together_and_the_advice_comes_true(world: World, place: str) -> None:
    cast = world.cast
    users = f"/api/v1/organisations/{cast.a.pk}/quota/users"

    def set_second(budgets: list[dict[str, Any]]) -> None:
        if place == "user":
            user_limits(world, users, budgets=budgets)
        else:
            set_quota(cast.project_a, budgets=budgets, actor=cast.alice)

    if place == "same":
        daily = {"gpu_hours": 0.0, "period": "day", "on_exhausted": "stop_new", "gpu_type": ""}
        set_quota(cast.a, budgets=[budget()[1], daily], actor=cast.root)
        named = [
            ("A", "once", "an administrator of the platform can"),
            ("A", "day", "an administrator of the platform can"),
        ]
    else:
        set_quota(cast.a, budgets=budget(), actor=cast.root)
        set_second(budget("week"))
        who = "bob in A" if place == "user" else "vision"
        named = [("A", "once", "an administrator of the platform can"), (who, "week", "an admin of A can")]
    waiting, _, analysis = blocked(world, runs=0)
    assert not [one for one in analysis["actions"] if one["kind"] in ("larger_budget", "larger_user_budget")]
    several = advised(analysis, "several_limits")
    assert (several["by"], several["starts_now"], several["changes"]) == ("administrator", True, {})
    sentences = set()
    for who, period, raised_by in named:
        amount = "2 GPU-hours" + ("" if period == "once" else f" a {period}")
        sentences.add(f"Raise the budget of {who} to {amount}; {raised_by}.")
    assert {one["sentence"] for one in several["together"]} == sentences
    assert several["sentence"].startswith("All of this, as nothing less helps: Raise the budget of ")
    for one in several["together"]:
        if one["kind"] == "larger_user_budget" or one["tenant"] == "vision":
            set_second(one["changes"]["budgets"])
        else:
            set_quota(cast.a, **one["changes"], actor=cast.root)
        world.rounds(2)
        assert (state(waiting) == "running") is (one is several["together"][-1])


def test_a_budget_and_a_limit_of_gpus_that_bind_at_once_are_advised_together(world: World) -> None:
    cast = world.cast
    set_quota(cast.a, budgets=budget(), actor=cast.root)
    set_quota(cast.project_a, max_gpus=2, actor=cast.alice)
    other = Project.objects.create(organisation=cast.a, name="other")
    assert other.pk
    waiting, _, analysis = blocked(world, runs=0, needs=2)
    assert advised(analysis, "larger_budget")["starts_now"]  # two GPUs are within the limit: one change is enough
    assert not [one for one in analysis["actions"] if one["kind"] == "several_limits"]
    set_quota(cast.project_a, max_gpus=1, actor=cast.alice)
    world.rounds(1)
    several = advised(why(world, waiting)["analysis"], "several_limits")
    assert {one["kind"] for one in several["together"]} == {"larger_budget", "larger_quota"}
    changes = {one["tenant"]: one["changes"] for one in several["together"]}
    set_quota(cast.a, **changes["A"], actor=cast.root)
    set_quota(cast.project_a, **changes["vision"], actor=cast.alice)
    world.rounds(2)
    assert state(waiting) == "running"


def test_a_project_without_a_quota_is_advised_a_guarantee_out_of_what_holds_for_it(world: World) -> None:
    cast = world.cast
    set_quota(cast.a, guarantee=3, actor=cast.root)
    other = Project.objects.create(organisation=cast.a, name="other")
    theirs = job(other, cast.alice, min_workers=2, max_workers=2, steps_total=1_000_000)
    world.rounds(2)
    waiting, _, analysis = blocked(world, steps_total=1_000_000)
    larger = advised(analysis, "larger_guarantee")
    assert larger["sentence"] == "Guarantee vision 3 of the GPUs of A; an admin of A can."
    assert (larger["tenant"], larger["changes"], larger["by"]) == ("vision", {"guarantee": 3}, "administrator")
    set_quota(cast.project_a, **larger["changes"], actor=cast.alice)
    world.rounds(4)
    assert (state(waiting), state(theirs)) == ("running", "queued")
    assert why(world, theirs)["analysis"] is not None


def test_no_guarantee_is_advised_that_the_quota_above_has_no_room_for(world: World) -> None:
    cast = world.cast
    set_quota(cast.a, guarantee=2, actor=cast.root)
    other = Project.objects.create(organisation=cast.a, name="other")
    job(other, cast.alice, min_workers=2, max_workers=2, steps_total=1_000_000)
    set_quota(other, guarantee=2, actor=cast.alice)
    world.rounds(2)
    _, _, analysis = blocked(world, needs=3, steps_total=1_000_000)
    assert not [one for one in analysis["actions"] if one["changes"].get("guarantee") and one["tenant"] == "vision"]
