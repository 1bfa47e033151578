# SPDX-License-Identifier: Apache-2.0
"""Rounds that stop are noticed: by monitoring, by an event, and by everybody who looks at the dashboard."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from mlhub.control.models import SchedulerState
from mlhub.control.monitoring.round_health import StopCause, publish_stop, round_health
from mlhub.events.models import Event
from scheduler.policies import POLICIES
from tests.cast import make_cast
from tests.control.misbehaving import Broken
from tests.control.worlds import World

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _late_after_a_minute(settings: Any) -> None:
    settings.ROUNDS_LATE_S = 60.0


@pytest.fixture
def world() -> World:
    return World(make_cast())


def events(kind: str) -> list[Any]:
    return [event.facts for event in Event.objects.filter(kind=kind).order_by("id")]


def test_while_rounds_are_made_nothing_is_reported(world: World) -> None:
    world.round()
    later = world.now + timedelta(seconds=59)
    assert round_health(now=later).cause is None
    assert not publish_stop(now=later)


def test_a_loop_that_is_away_is_published_once_and_its_return_too(world: World) -> None:
    world.round()
    last, later = world.now, world.now + timedelta(seconds=61)
    health = round_health(now=later)
    assert (health.cause, health.stopped_since) == (StopCause.LOOP_AWAY, last)
    assert [publish_stop(now=later), publish_stop(now=later + timedelta(seconds=15))] == [True, False]
    (stopped,) = events("scheduler.rounds_stopped")
    assert stopped["cause"] == "loop_away"
    world.round(after_s=300)
    assert len(events("scheduler.rounds_resumed")) == 1
    assert round_health(now=world.now).cause is None
    world.round()
    assert len(events("scheduler.rounds_resumed")) == 1
    assert publish_stop(now=world.now + timedelta(seconds=61))


def test_a_stop_that_is_published_during_a_round_that_fails_is_published_once(world: World) -> None:
    world.round()
    world.backend.is_away = True
    world.round(after_s=61)
    assert publish_stop(now=world.now)
    world.round()
    assert not publish_stop(now=world.now)


def test_a_backend_that_is_away_is_the_cause_while_rounds_are_attempted(world: World) -> None:
    world.round()
    world.backend.is_away = True
    for _ in range(4):
        world.round(after_s=20)
    health = round_health(now=world.now)
    assert health.cause is StopCause.BACKEND_AWAY
    assert "cannot be reached" in health.message
    assert (health.finished_age_s, health.attempted_age_s) == (80.0, 0.0)


def test_rounds_that_all_fail_are_the_cause(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(POLICIES, "broken", Broken)  # type: ignore[arg-type]
    world.round()
    world.settle(policy="broken")
    world.round(after_s=40)
    world.round(after_s=40)
    health = round_health(now=world.now)
    assert health.cause is StopCause.ROUNDS_FAIL
    assert "ZeroDivisionError" in health.message


def test_before_the_first_round_time_counts_since_the_oldest_waiting_job(world: World) -> None:
    later = world.now + timedelta(seconds=61)
    assert round_health(now=later).cause is None
    world.job()
    assert round_health(now=later).cause is StopCause.LOOP_AWAY


def test_monitoring_reads_503_while_rounds_have_stopped_and_the_web_stays_ready() -> None:
    now = timezone.now()
    state = SchedulerState.objects.create(round_at=now, attempted_at=now)
    answer = Client().get("/healthz/rounds")
    assert (answer.status_code, answer.json()["status"], answer.json()["cause"]) == (200, "made", None)
    SchedulerState.objects.filter(pk=state.pk).update(round_at=now - timedelta(seconds=90))
    answer = Client().get("/healthz/rounds")
    assert (answer.status_code, answer.json()["status"], answer.json()["cause"]) == (503, "stopped", "rounds_fail")
    assert answer.json()["finished_age_s"] >= 90
    assert Client().get("/readyz").status_code == 200


def test_everybody_s_dashboard_gets_to_know_and_administrators_the_error_too(world: World) -> None:
    now = timezone.now()
    SchedulerState.objects.create(round_at=now - timedelta(seconds=90), attempted_at=now, error="KeyError: 'x'")
    for user, message in ((world.cast.charlie, ""), (world.cast.root, "KeyError: 'x'")):
        rounds = world.cast.client(user).get("/api/v1/scheduler/status").json()["rounds"]
        assert (rounds["cause"], rounds["message"]) == ("rounds_fail", message)
        assert rounds["stopped_since"] is not None


@pytest.mark.django_db(transaction=True)
def test_without_the_database_nobody_knows() -> None:
    connection.close()
    kept = dict(connection.settings_dict)
    try:
        connection.settings_dict["PORT"] = 1
        answer = Client().get("/healthz/rounds")
    finally:
        connection.close()
        connection.settings_dict.update(kept)
    assert (answer.status_code, answer.json()) == (503, {"status": "unknown"})
