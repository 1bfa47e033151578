# SPDX-License-Identifier: Apache-2.0
"""Each kind of limit that keeps a job waiting: the headline names it, need stands against have, and advice helps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mlhub.control.models import SchedulerSettings
from mlhub.jobs.models import Job
from mlhub.tenants.actions.limits.quotas import set_quota
from mlhub.tenants.models import Project
from tests.cast import make_cast
from tests.control.worlds import World, state
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
TYPE = "cpu-slot"


@pytest.fixture
def world() -> World:
    """Fifo on four GPUs, two a node."""
    found = World(make_cast(), now=datetime.now(UTC) - timedelta(seconds=60))
    SchedulerSettings.objects.update_or_create(pk=1, defaults={"policy": "fifo"})
    return found


def why(world: World, of: Job) -> dict[str, Any]:
    answer = world.cast.client(world.cast.bob).get(f"/api/v1/jobs/{of.id}/why")
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def blocked(world: World, *, runs: int = 1, needs: int = 2, **waiting: Any) -> tuple[Job, str, dict[str, Any]]:
    """A job that waits, next to one of bob's that runs, with its headline and the analysis."""
    if runs:
        world.job(name="running", min_workers=runs, max_workers=runs, steps_total=1_000_000)
    world.rounds(2)
    found = world.job(name="waiting", min_workers=needs, max_workers=needs, **waiting)
    world.rounds(2)
    assert state(found) == "queued"
    answer = why(world, found)
    return found, answer["explanations"][0]["sentence"], answer["analysis"]


def advised(analysis: dict[str, Any], kind: str) -> dict[str, Any]:
    (found,) = [one for one in analysis["actions"] if one["kind"] == kind]
    return dict(found)


def user_limits(world: World, address: str, **limits: Any) -> None:
    answer = world.cast.client(world.cast.alice).patch(address, {"username": "bob", **limits}, format="json")
    assert answer.status_code == 200, answer.content


def test_a_limit_of_borrowing(world: World) -> None:
    cast = world.cast
    set_quota(cast.a, guarantee=1, borrow_limit=1, actor=cast.root)
    waiting, headline, analysis = blocked(world)
    assert headline == (
        "Borrowing limit reached: A uses 1 GPU, is guaranteed 1 and may borrow 1; 2 more would exceed that. An admin "
        "of the platform can raise the limit."
    )
    (limit,) = [one for one in analysis["blockers"] if one["kind"] == "borrow_limit"]
    assert (limit["need"], limit["have"], limit["total"], limit["tenant"]) == (2, 1, 2, "A")
    larger = advised(analysis, "larger_borrow_limit")
    assert larger["sentence"] == "Raise the borrowing limit of A to 2 GPUs; an administrator of the platform can."
    assert (larger["starts_now"], larger["by"]) == (True, "administrator")
    set_quota(cast.a, **larger["changes"], actor=cast.root)
    world.rounds(2)
    assert state(waiting) == "running"


def test_what_others_do_not_lend(world: World) -> None:
    cast = world.cast
    set_quota(cast.b, guarantee=3, lend_limit=1, actor=cast.root)
    waiting, headline, analysis = blocked(world)
    assert "B" not in headline  # who keeps them is not said
    assert "1 can be borrowed now: lending limits keep 2 GPUs idle for those to whom they are guaranteed" in headline
    assert headline.endswith("the platform can change these.")
    (borrowing,) = [one for one in analysis["blockers"] if one["kind"] == "borrowing"]
    assert (borrowing["need"], borrowing["have"], borrowing["is_blocking"]) == (2, 1, True)
    assert advised(analysis, "fewer_workers")["starts_now"]
    set_quota(cast.b, lend_limit=None, actor=cast.root)
    world.rounds(2)
    assert state(waiting) == "running"


@pytest.mark.parametrize(
    ("limits", "kind", "headline", "sentence"),
    [
        (
            {"max_gpus": 2},
            "larger_user_limit",
            "Limit of a user: bob uses 1 of the 2 GPUs that one person may use in A; 2 more would exceed that.",
            "Raise the limit of bob in A to 3 GPUs; an admin of A can.",
        ),
        (
            {"gpus_by_type": {TYPE: 2}},
            "larger_user_limit_of_type",
            "Limit of a user: bob uses 1 of the 2 GPUs of type cpu-slot that one person may use in A;",
            "Raise the limit of bob in A to 3 GPUs of type cpu-slot; an admin of A can.",
        ),
        (
            {"max_running_jobs": 1},
            "more_user_running_jobs",
            "Limit of a user: bob runs 1 of the 1 jobs that one person may run at once in A.",
            "Let bob run 2 jobs at once in A; an admin of A can.",
        ),
    ],
    ids=["GPUs", "a type", "running jobs"],
)
def test_a_limit_of_a_user(world: World, limits: dict[str, Any], kind: str, headline: str, sentence: str) -> None:
    cast = world.cast
    address = f"/api/v1/organisations/{cast.a.pk}/quota/users"
    user_limits(world, address, **limits)
    waiting, said, analysis = blocked(world, resources={"gpu_types": [TYPE]})
    assert said.startswith(headline.replace("1 jobs", "1 job"))
    assert said.endswith("An admin of A can raise it.")
    action = advised(analysis, kind)
    assert (action["sentence"], action["by"], action["starts_now"]) == (sentence, "administrator", True)
    user_limits(world, address, **action["changes"])
    world.rounds(2)
    assert state(waiting) == "running"


def test_gpus_that_a_sibling_has_borrowed(world: World) -> None:
    cast = world.cast
    set_quota(cast.a, guarantee=3, actor=cast.root)
    set_quota(cast.project_a, guarantee=1, actor=cast.root)
    other = Project.objects.create(organisation=cast.a, name="other")
    theirs = job(other, cast.alice, min_workers=2, max_workers=2, steps_total=1_000_000)
    world.rounds(2)
    assert state(theirs) == "running"
    waiting, headline, analysis = blocked(world)
    assert headline.startswith("Insufficient quota: vision uses 1 GPU and is guaranteed 1; the job needs 2 more, and 1")
    assert headline.endswith("An admin of A can raise the guarantee.")
    fewer = advised(analysis, "fewer_workers")
    assert fewer["starts_now"]
    Job.objects.filter(pk=waiting.pk).update(**fewer["changes"])
    world.rounds(2)
    assert state(waiting) == "running"


@pytest.mark.parametrize("policy", ["fifo", "las", "mlhub"])
def test_the_advised_guarantee_takes_gpus_back_from_a_project_without_one(world: World, policy: str) -> None:
    world.settle(policy=policy)
    cast = world.cast
    set_quota(cast.a, guarantee=3, actor=cast.root)
    set_quota(cast.project_a, guarantee=1, actor=cast.root)
    other = Project.objects.create(organisation=cast.a, name="other")  # without a quota: its jobs are A's own
    theirs = job(other, cast.alice, min_workers=2, max_workers=2, steps_total=1_000_000)
    world.rounds(2)
    waiting, headline, analysis = blocked(world, steps_total=1_000_000)
    assert headline.endswith("An admin of A can raise the guarantee.")
    larger = advised(analysis, "larger_guarantee")
    assert larger["sentence"] == "Raise the guarantee of vision to 3 GPUs; an admin of A can."
    set_quota(cast.project_a, **larger["changes"], actor=cast.root)
    world.rounds(4)
    assert (state(waiting), state(theirs)) == ("running", "queued")
    world.rounds(4)
    assert (state(waiting), state(theirs)) == ("running", "queued")  # they do not take turns


def test_gpus_come_first_where_the_tenants_own_jobs_hold_too_many(world: World) -> None:
    cast = world.cast
    set_quota(cast.b, guarantee=1, actor=cast.root)
    theirs = job(cast.project_b, cast.charlie, min_workers=1, max_workers=1, steps_total=1_000_000)
    world.rounds(2)
    assert state(theirs) == "running"
    _, headline, _ = blocked(world, runs=3)
    assert headline == "Pending: all 4 GPUs are allocated; it requests 2."


def test_a_budget_that_is_used_up(world: World) -> None:
    cast, figures = world.cast, "0 of its 0"
    budget = {"gpu_hours": 0, "period": "month", "on_exhausted": "stop_new"}
    set_quota(cast.a, budgets=[budget], actor=cast.root)
    _, headline, analysis = blocked(world, runs=0)
    assert headline.startswith(f"Budget exhausted: A has used {figures} GPU-hours; it may start on ")
    assert headline.endswith("An admin of the platform can raise it.")
    assert analysis["start_at"].endswith("-01T00:00:00Z")
