# SPDX-License-Identifier: Apache-2.0
"""Upgrade and rollback by one version while jobs run: the schema over live rows, and messages of the version before.

tests/wire/recorded/<version>/ has what programs of that version wrote; it never changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.events.models import Event
from mlhub.jobs import attempts
from mlhub.jobs.models import Attempt
from mlhub.metrics.models import LogLine, MetricPoint, SpeedSample
from mlhub.wire.launch import LaunchSpec, PodSpec, SyncMode
from mlhub.wire.measurements import MEASUREMENTS
from tests.cast import make_cast
from tests.chaos.invariants import check_everything
from tests.control.worlds import World, state
from tests.jobs.builders import live_attempt

RECORDED = Path(__file__).parents[1] / "wire" / "recorded"
BEFORE = "0.2.0"
# the newest migration of each app in that version; None: it had none
SCHEMA: Mapping[str, str | None] = {
    "clusters": "0002_maintenance",
    "control": "0003_fair_shares",
    "core": None,
    "datasets": "0002_initial",
    "events": "0002_initial",
    "jobs": "0005_prediction",
    "metrics": "0002_self_measurement",
    "registry": "0002_initial",
    "storage": "0002_initial",
    "tenants": "0003_fair_shares",
}


def recorded(name: str) -> str:
    return (RECORDED / BEFORE / name).read_text()


def migrate(schema: Mapping[str, str | None] | None) -> None:
    """None: to the newest one."""
    executor = MigrationExecutor(connection)
    targets = executor.loader.graph.leaf_nodes() if schema is None else list(schema.items())
    executor.migrate(targets)


@pytest.fixture
def newest() -> Iterator[None]:
    """Other tests of this process need the newest schema, whatever becomes of this one."""
    yield
    migrate(None)


def report(attempt: Attempt, lines: list[Any], **who: Any) -> Any:
    body = {"version": 1, "role": "worker", "index": 0, "stream": "reports", "first": 0, "lines": lines, **who}
    client = APIClient(headers={"Authorization": f"Bearer {attempts.token_of(attempt.pk)}"})
    return client.post(f"/api/v1/ingest/attempts/{attempt.pk}/reports", body, format="json")


@pytest.mark.chaos
@pytest.mark.django_db(transaction=True)
def test_jobs_run_on_over_a_rollback_of_the_schema_and_an_upgrade(newest: None) -> None:
    world = World(make_cast(), now=timezone.now())
    running, waiting = world.job(name="runs"), world.job(name="waits", min_workers=4, max_workers=4)
    world.rounds(2)
    attempt = live_attempt(running)
    line = {"type": "metrics", "step": 1, "epoch": 0.1, "at": 1.7e9, "values": {"train/loss": 0.5}}
    assert report(attempt, [line]).json() == {"next": 1}
    n_events, n_launches = Event.objects.count(), len(world.backend.launches)
    migrate(SCHEMA)
    migrate(None)
    assert (state(running), state(waiting)) == ("running", "queued")
    assert live_attempt(running) == attempt
    assert Event.objects.count() == n_events
    assert MetricPoint.objects.count() == 1
    world.rounds(2)
    assert state(running) == "running"
    assert len(world.backend.launches) == n_launches
    assert report(attempt, [line]).json() == {"next": 1}  # a repeat is known to be one
    check_everything()


@pytest.mark.django_db
def test_the_version_before_can_write_to_the_newest_schema() -> None:
    """After a rollback: it knows no newer column, so that each takes a default of the database where it must have a
    value, and each that it knows is still there and takes null where it did."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name, is_nullable = 'YES', column_default IS NOT NULL OR is_identity = 'YES'"
            " FROM information_schema.columns WHERE table_schema = 'public'"
        )
        now = {(table, column): (is_nullable, has_default) for table, column, is_nullable, has_default in cursor}
    before = json.loads(recorded("columns.json"))
    known = {(table, column): rule for table, columns in before.items() for column, rule in columns.items()}
    assert known.keys() - now.keys() == set()
    assert [name for name, rule in known.items() if rule == "null" and not any(now[name])] == []
    newer = [name for name in now if name[0] in before and name not in known]
    assert [name for name in newer if not any(now[name])] == []  # give it db_default


@pytest.mark.slow
@pytest.mark.django_db
def test_a_server_takes_what_pods_of_the_version_before_report() -> None:
    world = World(make_cast(), now=timezone.now())
    job = world.job()
    world.rounds(2)
    attempt = live_attempt(job)
    lines = json.loads(recorded("reports.json"))
    answer = report(attempt, lines)
    assert (answer.status_code, answer.json()) == (200, {"next": len(lines)})
    assert MetricPoint.objects.exists()
    sample = SpeedSample.objects.get(attempt=attempt)
    assert sample.measured["bytes_sent"] == 1000.0
    assert report(attempt, ["a line of its log"], stream="log").status_code == 200
    assert LogLine.objects.filter(attempt=attempt).count() == 1


def test_specifications_of_the_version_before_are_read() -> None:
    """Instructions outlive the program that wrote them: in a Secret, or in a folder of the local backend."""
    launch = LaunchSpec.from_json(recorded("launch.json"))
    assert (launch.mode, len(launch.pods), launch.training.strategy["name"]) == (SyncMode.PARAMETER_SERVER, 3, "ssp")
    pod = PodSpec.from_json(recorded("pod.json"))
    assert (pod.n_workers, pod.server_addresses) == (2, ("b:29500",))


@pytest.mark.django_db
def test_a_server_that_was_rolled_back_takes_what_newer_pods_measure() -> None:
    world = World(make_cast(), now=timezone.now())
    job = world.job()
    world.rounds(2)
    attempt = live_attempt(job)
    before = next(line for line in json.loads(recorded("reports.json")) if line["type"] == "progress")
    measured = {name: before.pop(name) for name in MEASUREMENTS if name in before}
    newer = {**before, "measured": {**measured, "a_measurement_of_later": 7.0}}
    assert report(attempt, [newer]).status_code == 200
    sample = SpeedSample.objects.get(attempt=attempt)
    assert "a_measurement_of_later" not in sample.measured
