# SPDX-License-Identifier: Apache-2.0
"""Tests of manage.py schema: migrations by one process, and every other one waits for them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from mlhub.core.locks import work_lock
from mlhub.core.management.commands import schema
from mlhub.registry.models import Model

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
NEWEST = ("events", "9999_of_a_newer_version")


@pytest.fixture
def unapplied(transactional_db: None) -> Iterator[None]:
    """A database that lacks one migration of this version, as its own record says."""
    recorder = MigrationRecorder(connection)
    name = max(name for app, name in recorder.applied_migrations() if app == "sessions")
    recorder.record_unapplied("sessions", name)
    yield
    if ("sessions", name) not in recorder.applied_migrations():
        recorder.record_applied("sessions", name)


def test_a_process_waits_while_a_migration_is_missing(unapplied: None) -> None:
    assert schema.missing().startswith("1 migrations are not applied; the first is sessions.")
    with pytest.raises(CommandError, match=r"Gave up after 0\.1 s\. 1 migrations are not applied"):
        call_command("schema", "wait", timeout_s=0.1)


@pytest.mark.django_db(transaction=True)
def test_a_process_starts_on_a_newer_schema_after_a_rollback() -> None:
    recorder = MigrationRecorder(connection)
    recorder.record_applied(*NEWEST)
    try:
        assert schema.missing() == ""
        call_command("schema", "wait", timeout_s=60)
    finally:
        recorder.record_unapplied(*NEWEST)


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_away_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = [OperationalError("connection refused")]
    really = connection.ensure_connection

    def connect() -> None:
        if refusals:
            raise refusals.pop()
        really()

    monkeypatch.setattr(connection, "ensure_connection", connect)
    monkeypatch.setattr(schema, "RETRY_S", 0.0)
    call_command("schema", "wait", timeout_s=60)
    assert refusals == []


@pytest.mark.django_db(transaction=True)
def test_applying_also_registers_the_built_in_models() -> None:
    Model.objects.filter(project=None).delete()
    call_command("schema", "apply", timeout_s=60)
    assert Model.objects.filter(project=None).exists()
    assert schema.missing() == ""


@pytest.mark.django_db(transaction=True)
def test_two_processes_do_not_migrate_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    is_held, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        with work_lock(schema.LOCK) as is_mine:
            assert is_mine
            is_held.set()
            may_go.wait(120)
        connection.close()

    other = threading.Thread(target=hold)
    other.start()
    assert is_held.wait(600)
    called: list[str] = []
    monkeypatch.setattr(schema, "call_command", lambda name, **_: called.append(name))
    with pytest.raises(CommandError, match="Another process applies the migrations"):
        call_command("schema", "apply", timeout_s=0.1)
    assert called == []
    may_go.set()
    other.join(60)
    call_command("schema", "apply", timeout_s=60)
    assert called == ["migrate", "ensure_builtins"]


@pytest.mark.dist
@pytest.mark.slow
def test_two_migrations_and_a_process_that_waits_start_at_once_on_an_empty_database(empty_database: str) -> None:
    """As an installation does it: nothing is ordered from outside, no key is known, and every process ends well."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("MLHUB_SECRET_KEY")}
    environment["DATABASE_URL"] = empty_database
    verbs = ["wait", "apply", "apply"]
    argv = [sys.executable, "manage.py", "schema"]
    processes = [
        subprocess.Popen([*argv, verb, "--timeout-s", "150"], env=environment, cwd=ROOT, stderr=subprocess.PIPE)
        for verb in verbs
    ]
    ends = [(process.communicate(timeout=170)[1].decode(), process.returncode) for process in processes]
    assert [code for _, code in ends] == [0, 0, 0], ends
