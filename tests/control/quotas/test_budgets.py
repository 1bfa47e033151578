# SPDX-License-Identifier: Apache-2.0
"""Budgets of GPU-hours on the live platform: what is used, what stops, what is reported, and who may set them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mlhub.clusters.models import Node
from mlhub.control.quotas.budget_alerts import report_reached
from mlhub.control.quotas.budgets import budgets_now
from mlhub.events.models import Event
from mlhub.jobs.models import Allocation, Attempt, Job
from mlhub.tenants.actions import create_team, set_quota
from mlhub.tenants.models import Organisation, Project, Team
from mlhub.usage import ledger
from mlhub.usage.hours import live_holdings, used_hours
from mlhub.usage.models import UsageEntry
from tests.cast import make_cast
from tests.control.worlds import World, state
from tests.jobs.builders import live_attempt

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def world() -> World:
    """Midnight has just passed."""
    return World(make_cast())


def budget(gpu_hours: float, **more: Any) -> list[dict[str, Any]]:
    return [{"gpu_hours": gpu_hours, "period": "day", "on_exhausted": "stop_new", **more}]


def running(world: World, **fields: Any) -> Job:
    """A job on two GPUs whose attempt began now."""
    found = world.job(min_workers=2, max_workers=2, **fields)
    world.rounds(2)
    Attempt.objects.filter(pk=live_attempt(found).pk).update(created_at=world.now, training_at=world.now)
    return found


def entry(world: World, *, began: datetime, ended: datetime, gpu_s: float, gpu_type: str = "cpu-slot") -> None:
    project, number = world.cast.project_a, UsageEntry.objects.count() + 1000
    UsageEntry.objects.create(
        allocation_id=number, attempt_id=project.pk, attempt_number=1, outcome="succeeded", job_id=project.pk, job="j",
        user_id=world.cast.bob.pk, user="bob", project_id=project.pk, project=project.name, team_id=project.team_id,
        team="", organisation_id=project.organisation_id, organisation="A", node="n0", gpu_type=gpu_type, slots=[0],
        began_at=began, ended_at=ended, gpu_s=gpu_s, startup_gpu_s=0, lost_gpu_s=0,
    )  # fmt: skip


@pytest.mark.slow
def test_a_job_waits_for_the_next_day_when_the_hours_of_its_team_are_used_up(world: World) -> None:
    team = create_team(world.cast.a, name="perception", actor=world.cast.alice)
    Project.objects.filter(pk=world.cast.project_a.pk).update(team=team)
    set_quota(team, budgets=budget(4), actor=world.cast.alice)
    first = running(world)
    second = world.job(name="second", max_workers=1)
    world.round(after_s=2 * 3600 + 1)
    assert state(first) == "running"
    assert state(second) == "queued"
    assert second.reason == "budget_exhausted"
    assert second.explanations[0]["sentence"].startswith("Budget exhausted: perception has used 4 of its 4 GPU-hours")
    assert second.predicted_start_at == datetime(2026, 1, 2, tzinfo=UTC)
    why = world.cast.client(world.cast.bob).get(f"/api/v1/jobs/{second.id}/why").json()
    assert why["explanations"][0]["reason"] == "budget_exhausted"
    world.round(after_s=22 * 3600)
    assert state(second) in ("starting", "running")


@pytest.mark.slow
def test_running_jobs_save_and_wait_where_the_budget_stops_all(world: World) -> None:
    set_quota(world.cast.a, budgets=budget(4, on_exhausted="stop_all"), actor=world.cast.root)
    job = running(world)
    world.round(after_s=2 * 3600 - 10)
    assert state(job) == "running"
    world.round(after_s=20)
    assert state(job) == "stopping"
    world.rounds(2)
    assert state(job) == "queued"


@pytest.mark.parametrize("owner", ["organisation", "team", "project"])
def test_what_is_used_is_the_ledger_s_and_what_runs_of_this_period(world: World, owner: str) -> None:
    team = create_team(world.cast.a, name="perception", actor=world.cast.alice)
    Project.objects.filter(pk=world.cast.project_a.pk).update(team=team)
    world.cast.project_a.refresh_from_db()
    owners: dict[str, Organisation | Team | Project] = {
        "organisation": world.cast.a, "team": team, "project": world.cast.project_a,
    }  # fmt: skip
    midnight = world.now
    entry(world, began=midnight - HOUR, ended=midnight + HOUR, gpu_s=7200)  # half of it today
    entry(world, began=midnight - 2 * HOUR, ended=midnight, gpu_s=7200)  # yesterday's
    entry(world, began=midnight, ended=midnight + HOUR, gpu_s=3600, gpu_type="A100")
    running(world)
    now = world.now + 3 * HOUR
    rows = [*budget(100), *budget(100, gpu_type="A100"), *budget(100, period="once")]
    rows = [{"gpu_type": "", **row} for row in rows]
    used = [one.used_gpu_hours for one in budgets_now(owners[owner], rows, now=now)]
    assert used == pytest.approx([1 + 1 + 6, 1, 2 + 2 + 1 + 6])


def test_budgets_count_the_same_integral_as_the_bill(world: World) -> None:
    """Live, and again when the attempt has ended and its entries are in the ledger."""
    job = running(world)
    now = world.now + HOUR
    organisation = world.cast.a.pk
    live = used_hours(organisation, live_holdings([organisation], now=now), since=None, now=now)
    billed = sum(one.gpu_s for one in ledger.running_entries(now=now)) / 3600
    assert sum(one.gpu_hours for one in live) == pytest.approx(billed) == pytest.approx(2.0)
    world.backend.finish(str(live_attempt(job).id))
    world.round(after_s=3600)
    later = used_hours(organisation, live_holdings([organisation], now=world.now), since=None, now=world.now)
    assert sum(one.gpu_hours for one in later) == pytest.approx(2.0)
    assert ledger.mismatches() == []


def test_a_gpu_that_jobs_share_counts_half_for_each_of_two(world: World) -> None:
    first = running(world)
    Node.objects.update(max_jobs_per_gpu=2)
    held = Allocation.objects.filter(attempt__job=first).order_by("id").first()
    assert held is not None
    Allocation.objects.filter(attempt__job=first).exclude(pk=held.pk).delete()
    second = world.job(name="second", max_workers=1)
    attempt = Attempt.objects.create(job=second, number=1, n_workers=1, mode="all_reduce")
    Attempt.objects.filter(pk=attempt.pk).update(created_at=world.now)
    Allocation.objects.create(attempt=attempt, node=held.node, slots=held.slots)
    now = world.now + HOUR
    live = live_holdings([world.cast.a.pk], now=now)
    hours = [one.gpu_hours for one in used_hours(world.cast.a.pk, live, since=None, now=now)]
    assert hours == pytest.approx([len(held.slots) / 2] * 2)


def test_a_budget_is_reported_once_at_80_and_once_at_100_per_cent_of_each_period(world: World) -> None:
    set_quota(world.cast.project_a, budgets=budget(10), actor=world.cast.alice)
    midnight = world.now

    def report(hours: float, *, day: int = 0) -> list[int]:
        entry(world, began=midnight, ended=midnight + HOUR, gpu_s=hours * 3600) if hours else None
        report_reached(midnight + timedelta(days=day, hours=2))
        found = Event.objects.filter(kind="budget.reached").order_by("id")
        return [event.facts["percent"] for event in found]

    assert report(7) == []
    assert report(1) == [80]
    assert report(1) == [80]
    assert report(1) == [80, 100]
    assert report(1) == [80, 100]
    assert report(0, day=1) == [80, 100]
    set_quota(world.cast.project_a, budgets=budget(12), actor=world.cast.alice)
    assert report(0) == [80, 100, 80]
    event = Event.objects.filter(kind="budget.reached").earliest("id")
    assert (event.organisation_id, event.subject_id) == (world.cast.a.pk, world.cast.project_a.pk)
    assert event.facts["used_gpu_hours"] == 8.0


@pytest.mark.slow
def test_admins_set_budgets_of_their_projects_and_members_see_what_is_used(world: World) -> None:
    cast = world.cast
    path = f"/api/v1/projects/{cast.project_a.id}/quota"
    wanted = {"gpu_hours": 10, "period": "week", "on_exhausted": "stop_all", "gpu_type": "A100"}
    for user, status in ((cast.bob, 403), (cast.victor, 403), (cast.charlie, 404)):
        assert cast.client(user).patch(path, {"budgets": [wanted]}).status_code == status
    changed = cast.client(cast.alice).patch(path, {"budgets": [wanted]})
    assert changed.status_code == 200, changed.content
    tree = cast.client(cast.bob).get(f"/api/v1/organisations/{cast.a.id}/quota-tree").json()
    (shown,) = next(row for row in tree["owners"] if row["kind"] == "project")["budgets"]
    assert {name: shown[name] for name in wanted} == wanted
    assert (shown["used_gpu_hours"], shown["is_exhausted"]) == (0.0, False)
    assert shown["ends_at"] is not None


@pytest.mark.parametrize(
    ("budgets", "field"),
    [
        ([{"gpu_hours": -1}], "budgets.0.gpu_hours"),
        ([{"gpu_hours": 1, "period": "year"}], "budgets.0.period"),
        ([{"gpu_hours": 1, "on_exhausted": "kill"}], "budgets.0.on_exhausted"),
        ([{"gpu_hours": 1}, {"gpu_hours": 2}], "budgets.1.period"),
        ([{"gpu_hours": 1, "hours": 2}], "budgets.0.hours"),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused_and_named(world: World, budgets: list[Any], field: str) -> None:
    cast = world.cast
    refused = cast.client(cast.alice).patch(f"/api/v1/projects/{cast.project_a.id}/quota", {"budgets": budgets})
    assert refused.status_code == 422
    assert [error["field"] for error in refused.json()["errors"]] == [field]


@pytest.mark.slow
def test_the_preview_of_a_budget_says_which_jobs_would_stop(world: World) -> None:
    job = running(world)
    waiting = world.job(name="waiting", max_workers=1)
    quota = {"project": str(world.cast.project_a.id), "budgets": [{"gpu_hours": 0, "on_exhausted": "stop_all"}]}
    answer = world.cast.client(world.cast.alice).post("/api/v1/what-if", {"quotas": [quota]})
    assert answer.status_code == 200, answer.content
    after = {effect["id"]: effect["after"]["decision"] for effect in answer.json()["effects"]}
    assert after == {str(job.id): "preempt", str(waiting.id): "wait"}
