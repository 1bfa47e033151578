# SPDX-License-Identifier: Apache-2.0
"""What if a limit were below its use: said at once, also of jobs that are still starting, and to whom it concerns."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from mlhub.jobs.states import JobState
from mlhub.tenants.actions import boost_quota, set_quota
from mlhub.tenants.models import Membership, User
from tests.cast import make_cast
from tests.control.worlds import World, state

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    """With four slots, of which a job that is starting holds some."""
    found = World(make_cast())
    job = found.job(min_workers=2, max_workers=2)
    found.round()
    assert state(job) == JobState.STARTING
    return found


def below_use(world: World, user: User, *, of: str = "project", **rules: Any) -> list[tuple[str, str, float, float]]:
    owner = world.cast.a if of == "organisation" else world.cast.project_a
    body = {"quotas": [{of: str(owner.pk), **rules}]}
    answer = world.cast.client(user).post("/api/v1/what-if", body, format="json")
    assert answer.status_code == 200, answer.content
    assert answer.json()["stop_grace_s"] == 30
    return [(one["owner"], one["limit"], one["used"], one["amount"]) for one in answer.json()["below_use"]]


def test_a_job_that_is_starting_counts_as_use(world: World) -> None:
    assert below_use(world, world.cast.alice, max_gpus=1) == [("vision", "max_gpus", 2, 1)]
    assert below_use(world, world.cast.alice, max_gpus=2) == []
    assert below_use(world, world.cast.alice, max_running_jobs=0) == [("vision", "max_running_jobs", 1, 0)]
    assert below_use(world, world.cast.alice, gpus_by_type={"cpu-slot": 1}) == [("vision", "gpus_by_type", 2, 1)]
    assert [limit for _, limit, *_ in below_use(world, world.cast.alice, max_cpus=0, max_memory_bytes=0)] == [
        "max_cpus", "max_memory_bytes"
    ]  # fmt: skip


def test_limits_that_end_nothing_are_previewed_too(world: World) -> None:
    world.job()
    assert below_use(world, world.cast.alice, max_waiting_jobs=0) == [("vision", "max_waiting_jobs", 1, 0)]
    assert below_use(world, world.cast.alice, max_storage_bytes=0) == []  # nothing is stored


def test_boosts_count_and_lifting_a_limit_is_below_nothing(world: World) -> None:
    set_quota(world.cast.project_a, max_gpus=4, actor=world.cast.alice)
    ends_at = timezone.now() + timedelta(days=1)
    boost_quota(world.cast.project_a, extra_max_gpus=1, ends_at=ends_at, reason="", actor=world.cast.alice)
    assert below_use(world, world.cast.alice, max_gpus=1) == []
    assert below_use(world, world.cast.alice, max_gpus=0) == [("vision", "max_gpus", 2, 1)]
    assert below_use(world, world.cast.alice, max_gpus=None) == []


def test_an_outsider_does_not_learn_what_the_organisation_uses(world: World) -> None:
    assert below_use(world, world.cast.victor, of="organisation", max_gpus=0) == [("A", "max_gpus", 2, 0)]
    Membership.objects.filter(user=world.cast.victor).update(role="outsider")
    world.cast.forget_sessions()
    body = {"quotas": [{"organisation": str(world.cast.a.pk), "max_gpus": 0}]}
    for stranger in (world.cast.victor, world.cast.charlie):
        answer = world.cast.client(stranger).post("/api/v1/what-if", body, format="json")
        assert answer.status_code == 404
