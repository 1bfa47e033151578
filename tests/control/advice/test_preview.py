# SPDX-License-Identifier: Apache-2.0
"""The plan of a job before it is submitted: by the live policy, with alternatives, and nothing of it is stored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from mlhub.control.advice.preview import PlannedRun, alternatives
from mlhub.control.models import SchedulerSettings
from mlhub.events.models import Event
from mlhub.jobs.models import Job
from mlhub.tenants.models import Quota
from tests.cast import make_cast
from tests.control.advice.test_whatif import submission
from tests.control.worlds import World

pytestmark = pytest.mark.django_db
PATH = "/api/v1/jobs/preview"


@pytest.fixture
def world() -> World:
    """Fifo on four GPUs, two a node."""
    found = World(make_cast(), now=datetime.now(UTC) - timedelta(seconds=60))
    SchedulerSettings.objects.update_or_create(pk=1, defaults={"policy": "fifo"})
    found.rounds(1)
    return found


def ask(world: World, user: Any, **more: Any) -> Any:
    return world.cast.client(user).post(PATH, submission(world, **more))


def test_a_job_that_fits_shows_its_size_place_cost_and_quota_and_is_not_stored(world: World) -> None:
    Quota.objects.filter(organisation=world.cast.a).update(max_gpus=3)
    body = submission(world, min_workers=2, max_workers=2)
    bob = world.cast.client(world.cast.bob)
    known = list(Event.objects.order_by("id").values_list("kind", flat=True))
    answer = bob.post(PATH, body)
    assert answer.status_code == 200, answer.content
    body = answer.json()
    plan = body["plan"]
    assert (plan["decision"], plan["n_workers"], plan["gpu_type"]) == ("launch", 2, "cpu-slot")
    assert sum(node in {"n0", "n1"} for node in plan["nodes"]) >= 1
    held = datetime.fromisoformat(plan["finish_at"]) - datetime.fromisoformat(plan["start_at"])
    assert plan["gpu_hours"] == pytest.approx(2 * held.total_seconds() / 3600, rel=0.01)
    assert body["quota"] == {"used_gpus": 0, "used_gpus_with_job": 2, "max_gpus": 3, "guarantee": None}
    assert body["basis"] == "guessed"
    assert Job.objects.count() == 0
    assert list(Event.objects.order_by("id").values_list("kind", flat=True)) == known


def test_a_job_over_its_quota_is_shown_to_wait_for_its_tenants_jobs(world: World) -> None:
    Quota.objects.filter(organisation=world.cast.a).update(max_gpus=2)
    world.job(min_workers=2, max_workers=2)
    world.rounds(3)
    plan = ask(world, world.cast.bob, min_workers=2, max_workers=2).json()["plan"]
    assert (plan["decision"], plan["explanations"][0]["reason"]) == ("wait", "quota_gpus")
    assert datetime.fromisoformat(plan["start_at"]) > datetime.now(UTC)


def test_a_job_that_waits_under_an_elastic_policy_is_shown_at_the_least_size_that_it_starts_with(world: World) -> None:
    """Whatever policies of fixed sizes would give it: its GPU-hours would be those of as many workers."""
    Quota.objects.filter(organisation=world.cast.a).update(max_gpus=2)
    SchedulerSettings.objects.filter(pk=1).update(policy="mlhub", version=2)
    world.job(min_workers=2, max_workers=2)
    world.rounds(3)
    plan = ask(world, world.cast.bob, resources={"n_workers": 2}).json()["plan"]
    assert (plan["decision"], plan["n_workers"]) == ("wait", 1)


def test_a_job_that_waits_under_fixed_sizes_is_shown_with_no_more_workers_than_there_can_be(world: World) -> None:
    Quota.objects.filter(organisation=world.cast.a).update(max_gpus=2)
    SchedulerSettings.objects.filter(pk=1).update(policy="fifo", version=2)
    world.job(min_workers=2, max_workers=2)
    world.rounds(3)
    plan = ask(world, world.cast.bob, resources={"n_workers": 16}).json()["plan"]
    assert (plan["decision"], plan["n_workers"]) == ("wait", 2)


def test_it_says_how_many_own_jobs_would_end_later(world: World) -> None:
    """Shortest first: a short job goes before the one that waits."""
    SchedulerSettings.objects.filter(pk=1).update(policy="srtf", version=2)
    for _ in range(2):
        world.job(min_workers=4, epochs=50, steps_total=50_000)
    world.rounds(3)
    assert ask(world, world.cast.bob, min_workers=4, epochs=1).json()["n_delayed"] >= 1


def test_it_refuses_what_the_submission_refuses_and_shows_nothing_to_charlie(world: World) -> None:
    body = submission(world)
    assert world.cast.client(world.cast.charlie).post(PATH, body).status_code == 404
    assert world.cast.client(None).post(PATH, body).status_code == 401
    assert world.cast.client(world.cast.bob).post(PATH, {**body, "epochs": 0}).status_code == 422
    assert world.cast.client(world.cast.bob).post(PATH, {**body, "stray": 1}).status_code == 422


def test_a_second_preview_reads_no_jobs_again_until_something_happens(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlhub.control.advice.preview.KEPT_S", 1e9)
    world.job(min_workers=1, max_workers=1)
    world.rounds(2)
    body, bob = submission(world), world.cast.client(world.cast.bob)

    def n_reads() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert bob.post(PATH, body).status_code == 200
        return sum('FROM "jobs_attempt"' in query["sql"] for query in queries)

    first, second = n_reads(), n_reads()
    world.rounds(1)
    assert second < first
    assert n_reads() == first


NOW = datetime(2026, 1, 1, tzinfo=UTC)


def run(n_workers: int, *, start_s: float, finish_s: float) -> PlannedRun:
    start_at, finish_at = NOW + timedelta(seconds=start_s), NOW + timedelta(seconds=finish_s)
    hours = n_workers * (finish_s - start_s) / 3600
    times = (start_at, start_at, finish_at, finish_at)
    return PlannedRun("launch", "all_reduce", n_workers, 0, "v100", [], *times, hours, [])


def test_alternatives_are_those_that_beat_the_plan() -> None:
    planned = run(4, start_s=0, finish_s=1000)
    slow, fast = run(1, start_s=0, finish_s=3000), run(8, start_s=0, finish_s=700)
    found = {one.goal: one for one in alternatives(planned, [slow, fast])}
    assert (found["earliest"].run.n_workers, found["earliest"].finish_delta_s) == (8, -300)
    assert (found["cheapest"].run.n_workers, found["cheapest"].finish_delta_s) == (1, 2000)
    assert found["cheapest"].gpu_hours_delta == pytest.approx(-1000 / 3600)
    assert alternatives(planned, [run(8, start_s=600, finish_s=1300)]) == []


def test_the_cheapest_size_that_is_in_time_is_an_alternative_unless_it_is_the_plan() -> None:
    planned = run(4, start_s=0, finish_s=1000)
    slow, fast = run(1, start_s=0, finish_s=3000), run(8, start_s=0, finish_s=700)

    def by_date(finish_s: float) -> list[int]:
        found = alternatives(planned, [slow, fast], finish_by=NOW + timedelta(seconds=finish_s))
        return [one.run.n_workers for one in found if one.goal == "by_date"]

    assert by_date(3000) == [1]
    assert by_date(2999) == []  # the plan itself
    assert by_date(800) == [8]
    assert by_date(600) == []  # none


def test_a_preview_names_the_size_that_finishes_by_a_time(world: World) -> None:
    later = datetime.now(UTC) + timedelta(days=30)
    body = ask(world, world.cast.bob, min_workers=1, max_workers=4, epochs=200, finish_by=later.isoformat()).json()
    goals = {one["goal"]: one["run"]["n_workers"] for one in body["alternatives"]}
    assert body["plan"]["n_workers"] > goals["by_date"] == 1  # one worker wastes nothing on synchronisation
    past = ask(world, world.cast.bob, finish_by="2020-01-01T00:00:00Z")
    assert past.status_code == 422
    assert past.json()["errors"][0]["field"] == "finish_by"
