# SPDX-License-Identifier: Apache-2.0
"""Moves in the queue: simulated with the live policy, and made by the priority that the simulation names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mlhub.jobs.models import Job
from mlhub.tenants.models import Quota
from tests.cast import make_cast
from tests.control.worlds import World
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
PATH = "/api/v1/queue/moves"


@pytest.fixture
def world() -> World:
    """Fifo on four GPUs, which `first` holds."""
    found = World(make_cast(), now=datetime.now(UTC) - timedelta(seconds=60))
    found.settle(policy="fifo")
    found.job(name="first", min_workers=4)
    found.rounds(2)
    return found


def queued(world: World, *priorities: int) -> list[Job]:
    """Waiting jobs of bob that need all GPUs, "a", "b" and so on, submitted one after the other."""
    found = []
    for name, priority in zip("abcdef", priorities, strict=False):
        found.append(world.job(name=name, min_workers=4, priority=priority))
        world.rounds(1)
    world.rounds(1)
    return found


def move(world: World, user: Any, which: Job, **where: Job) -> Any:
    body = {"job": str(which.id), **{side: str(other.id) for side, other in where.items()}}
    return world.cast.client(user).post(PATH, body)


def order(world: World) -> list[str]:
    return [row["name"] for row in world.cast.client(world.cast.root).get("/api/v1/queue").json()["results"]]


def test_a_move_says_what_it_takes_and_costs_whom_and_its_priority_makes_it_so(world: World) -> None:
    a, _, c = queued(world, 0, 0, 0)
    answer = move(world, world.cast.root, c, before=a)
    assert answer.status_code == 200, answer.content
    found = answer.json()
    assert (found["present_place"], found["place"], found["is_reached"]) == (3, 1, True)
    assert (found["present_priority"], found["priority"]) == (0, 1)
    effects = {effect["name"]: effect for effect in found["effects"]}
    assert effects["c"]["role"] == "changed"
    assert effects["c"]["start_delta_s"] < 0 < effects["a"]["start_delta_s"]
    assert (effects["a"]["owner"], effects["a"]["organisation"]) == (world.cast.bob.username, world.cast.a.name)
    assert order(world) == ["a", "b", "c"]  # nothing was changed
    assert Job.objects.get(name="c").priority == 0

    changed = world.cast.client(world.cast.root).patch(f"/api/v1/jobs/{c.id}", {"priority": found["priority"]})
    assert changed.status_code == 200, changed.content
    world.rounds(1)
    assert order(world) == ["c", "a", "b"]


def test_a_job_moves_behind_another_by_a_lower_priority(world: World) -> None:
    a, b, _ = queued(world, 3, 0, 0)
    found = move(world, world.cast.root, a, after=b).json()
    assert (found["priority"], found["place"], found["is_reached"]) == (-1, 3, True)


def test_the_smallest_change_that_is_enough_is_named(world: World) -> None:
    a, b = queued(world, 40, 0)
    assert move(world, world.cast.root, b, before=a).json()["priority"] == 41
    older, younger = (
        world.job(name="older", min_workers=4, priority=-7),
        world.job(name="younger", min_workers=4, priority=-3),
    )
    world.rounds(1)
    assert move(world, world.cast.root, older, before=younger).json()["priority"] == -3  # it was submitted first


def test_what_no_priority_can_do_is_said(world: World) -> None:
    """With the highest priority, too, the job that was submitted first comes first."""
    (a,) = queued(world, 100)
    b = world.job(name="b", min_workers=4)
    world.rounds(1)
    found = move(world, world.cast.root, b, before=a).json()
    assert (found["is_reached"], found["place"], found["priority"], found["present_priority"]) == (False, 2, 0, 0)


def test_members_move_their_own_jobs_within_their_ceiling_and_nobody_elses(world: World) -> None:
    cast = world.cast
    a, b = queued(world, 0, 0)
    assert move(world, cast.bob, b, before=a).json()["priority"] == 1
    Quota.objects.update_or_create(organisation=cast.a, defaults={"max_priority": 0})
    refused = move(world, cast.bob, b, before=a)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "priority"
    assert move(world, cast.alice, b, before=a).json()["is_reached"] is True  # an admin of the organisation
    assert move(world, cast.victor, b, before=a).status_code == 403
    assert move(world, cast.charlie, b, before=a).status_code in (404, 422)


def test_where_the_ceiling_is_too_low_a_member_learns_how_near_the_job_comes(world: World) -> None:
    a, _, c = queued(world, 80, 20, 0)
    found = move(world, world.cast.bob, c, before=a)
    assert found.status_code == 422  # the first priority to try is 80 already
    b = Job.objects.get(name="b")
    assert move(world, world.cast.bob, c, before=b).json()["priority"] == 21
    Job.objects.filter(pk=a.id).update(priority=50)
    world.rounds(1)
    found = move(world, world.cast.bob, c, before=a).json()  # 50 is allowed, and not enough
    assert (found["is_reached"], found["priority"], found["place"]) == (False, 50, 2)


def test_jobs_of_others_take_part_and_are_not_shown(world: World) -> None:
    cast = world.cast
    a, b = queued(world, 0, 0)
    foreign = job(cast.project_b, cast.charlie, name="foreign", min_workers=4)
    world.rounds(1)
    found = move(world, cast.bob, b, before=a).json()
    assert found["n_jobs"] == 4
    assert "foreign" not in {effect["name"] for effect in found["effects"]}
    assert move(world, cast.bob, b, before=foreign).status_code in (404, 422)


def test_what_has_no_place_in_the_queue_is_named(world: World) -> None:
    a, b = queued(world, 0, 0)
    first = Job.objects.get(name="first")
    running = move(world, world.cast.root, first, before=a)
    assert running.status_code == 422
    assert "is running" in str(running.json())
    already = move(world, world.cast.root, a, before=b)
    assert already.status_code == 422
    assert already.json()["errors"][0]["field"] == "before"
    assert "already" in already.json()["errors"][0]["message"]
    itself = move(world, world.cast.root, a, before=a)
    assert itself.status_code == 422
    for where in ({}, {"before": b, "after": b}):
        assert move(world, world.cast.root, a, **where).status_code == 422
