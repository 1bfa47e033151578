# SPDX-License-Identifier: Apache-2.0
"""Notices of users' own GPU-hours: once for each period and threshold, to the user, and to the organisation's
webhooks."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail as outgoing

from mlhub.control.quotas.budget_alerts import report_reached, report_reached_by_users
from mlhub.events.models import Event
from mlhub.jobs.models import Attempt
from mlhub.tenants.actions import create_team
from mlhub.tenants.actions.limits.user_quotas import limit_user, remove_user_quota
from mlhub.tenants.models import Membership, Project, User, UserQuota
from mlhub.usage.models import UsageEntry
from mlhub.webhooks import delivery, mail
from mlhub.webhooks.actions import create_webhook
from mlhub.webhooks.models import Delivery
from tests.cast import make_cast
from tests.control.quotas.test_budgets import HOUR, budget
from tests.control.worlds import World
from tests.jobs.builders import live_attempt

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(settings: Any) -> World:
    """Midnight has just passed."""
    settings.HAS_MAIL_SERVER = True
    found = World(make_cast())
    mail.send_notices()  # from here on
    return found


def used(world: World, user: User, hours: float, *, project: Project | None = None) -> None:
    """In the ledger, in the first hour of the day."""
    project, number = project or world.cast.project_a, UsageEntry.objects.count() + 1000
    UsageEntry.objects.create(
        allocation_id=number, attempt_id=project.pk, attempt_number=1, outcome="succeeded", job_id=project.pk, job="j",
        user_id=user.pk, user=user.username, project_id=project.pk, project=project.name, team_id=project.team_id,
        team="", organisation_id=project.organisation_id, organisation="A", node="n0", gpu_type="cpu-slot", slots=[0],
        began_at=world.now, ended_at=world.now + HOUR, gpu_s=hours * 3600, startup_gpu_s=0, lost_gpu_s=0,
    )  # fmt: skip


def reported(world: World, *, day: int = 0) -> list[tuple[str, int]]:
    """Looks, twice; returns all events so far."""
    for minutes in (0, 1):
        report_reached_by_users(world.now + timedelta(days=day, hours=2, minutes=minutes))
    found = Event.objects.filter(kind="user_budget.reached").order_by("id")
    return [(event.facts["user"], event.facts["percent"]) for event in found]


def test_each_user_is_reported_once_at_80_and_once_at_100_per_cent_of_each_period(world: World) -> None:
    cast = world.cast
    limit_user(cast.a, None, budgets=budget(10), actor=cast.alice)
    used(world, cast.bob, 7.9)
    assert reported(world) == []
    used(world, cast.bob, 0.2)
    used(world, cast.alice, 10)
    assert sorted(reported(world)) == [("alice", 100), ("bob", 80)]
    used(world, cast.bob, 5)
    assert reported(world)[2:] == [("bob", 100)]
    assert reported(world, day=1)[3:] == []
    event = Event.objects.filter(kind="user_budget.reached", facts__user="bob").earliest("id")
    assert (event.organisation_id, event.subject_kind, event.subject_id) == (cast.a.pk, "organisation", cast.a.pk)
    assert (event.facts["used_gpu_hours"], event.facts["gpu_hours"]) == (8.1, 10)
    assert report_reached(world.now + 2 * HOUR) == 0


def test_own_limits_that_replace_those_of_everyone_are_no_new_budget_unless_the_amount_is_another(world: World) -> None:
    cast = world.cast
    limit_user(cast.a, None, budgets=budget(10), actor=cast.alice)
    used(world, cast.bob, 9)
    assert reported(world) == [("bob", 80)]
    own = limit_user(cast.a, cast.bob, max_gpus=3, actor=cast.alice)
    assert reported(world) == [("bob", 80)]
    limit_user(cast.a, cast.bob, budgets=budget(11), actor=cast.alice)
    assert reported(world) == [("bob", 80), ("bob", 80)]
    limit_user(cast.a, cast.bob, budgets=[], actor=cast.alice)
    used(world, cast.bob, 90)
    assert len(reported(world)) == 2
    remove_user_quota(UserQuota.objects.get(pk=own.pk), actor=cast.alice)
    assert reported(world)[2:] == [("bob", 100)]


def test_limits_of_a_team_and_of_a_project_count_what_was_used_there_and_what_runs(world: World) -> None:
    cast = world.cast
    team = create_team(cast.a, name="seeing", actor=cast.alice)
    Project.objects.filter(pk=cast.project_a.pk).update(team=team)
    cast.project_a.refresh_from_db()
    other = Project.objects.create(organisation=cast.a, name="other")
    limit_user(team, None, budgets=budget(10), actor=cast.alice)
    limit_user(other, cast.bob, budgets=budget(10), actor=cast.alice)
    used(world, cast.bob, 8)
    used(world, cast.bob, 3, project=other)
    assert reported(world) == [("bob", 80)]
    assert Event.objects.get(kind="user_budget.reached").subject_id == team.pk
    running = world.job(min_workers=2, max_workers=2)
    world.rounds(2)
    Attempt.objects.filter(pk=live_attempt(running).pk).update(created_at=world.now, training_at=world.now)
    assert report_reached_by_users(world.now + 2 * HOUR) == 1
    assert Event.objects.filter(kind="user_budget.reached").latest("id").facts["percent"] == 100


def test_a_message_about_a_project_s_limit_names_its_admins_and_those_of_its_organisation(world: World) -> None:
    cast = world.cast
    limit_user(cast.project_a, None, budgets=budget(10), actor=cast.alice)
    mail.choose(cast.bob, ["user_budget.reached"])
    used(world, cast.bob, 12)
    assert reported(world) == [("bob", 100)]
    assert mail.send_notices() == 1
    assert f"or until an admin of {cast.project_a.name} or of A raises it." in outgoing.outbox[0].body


def test_the_user_is_written_to_and_nobody_else_and_webhooks_are_notified_once(world: World) -> None:
    cast = world.cast
    limit_user(cast.a, None, budgets=budget(10), actor=cast.alice)
    hook, _ = create_webhook(cast.a, url="https://example.org/hook", chosen=["user_budget.reached"], actor=cast.alice)
    for person in (cast.alice, cast.bob):
        mail.choose(person, ["user_budget.reached", "budget.reached"])
    used(world, cast.bob, 12)
    assert reported(world) == [("bob", 100)]
    assert (mail.send_notices(), mail.send_notices()) == (1, 0)
    (message,) = outgoing.outbox
    assert (message.to, message.bcc) == (["bob@example.org"], [])
    assert message.subject == "A: 100 % of your GPU-hours are used"
    assert "You have used 12 of your 10 GPU-hours (day, until 2026-01-02 00:00 UTC) in A." in message.body
    assert "No job of yours starts until the next period, or until an admin of A raises it." in message.body
    assert (delivery.make_deliveries(), delivery.make_deliveries()) == (1, 0)
    body = json.loads(Delivery.objects.get(webhook=hook).body)
    assert (body["type"], body["data"]["user"], body["data"]["percent"]) == ("mlhub.user_budget.reached", "bob", 100)
    Membership.objects.filter(user=cast.bob).delete()
    limit_user(cast.a, None, budgets=budget(11), actor=cast.alice)
    assert len(reported(world)) == 2
    assert mail.send_notices() == 0
