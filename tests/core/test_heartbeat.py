# SPDX-License-Identifier: Apache-2.0
"""Tests of heartbeats: the processes that serve no HTTP record them, and the probe tells a hung one from a live one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from celery import signals
from django.db import connection

from mlhub.celery import record_heartbeat
from mlhub.control.rounds import loop as control_loop
from mlhub.control.rounds.loop import Loop
from mlhub.core import heartbeat
from mlhub.core.locks import work_lock
from tests.cast import make_cast
from tests.control.worlds import World


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "heartbeat"
    monkeypatch.setenv(heartbeat.SETTING, str(path))
    return path


def test_a_process_without_the_setting_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(heartbeat.SETTING, raising=False)
    monkeypatch.chdir(tmp_path)
    heartbeat.record()
    assert list(tmp_path.iterdir()) == []


def test_the_probe_says_how_old_the_heartbeat_is(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert heartbeat.main(["--max-age-s", "60"]) == 1
    assert "There is no heartbeat yet" in capsys.readouterr().err
    heartbeat.record()
    assert heartbeat.main(["--max-age-s", "60"]) == 0
    long_ago = time.time() - 300
    os.utime(file, (long_ago, long_ago))
    assert heartbeat.main(["--max-age-s", "60"]) == 1
    assert "300 s ago; 60 s are allowed" in capsys.readouterr().err


def test_a_disk_that_refuses_costs_the_probe_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(heartbeat.SETTING, str(tmp_path / "nowhere" / "heartbeat"))
    heartbeat.record()
    assert heartbeat.SETTING in capsys.readouterr().err


def test_the_probe_needs_neither_django_nor_a_database() -> None:
    code = "import sys, mlhub.core.heartbeat; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=600).returncode == 0


def test_beat_records_each_task_that_is_due(file: Path) -> None:
    try:
        signals.beat_init.send(sender=None)
        assert file.exists()
        file.unlink()
        signals.before_task_publish.send(sender="a task", headers={}, body=())
        assert file.exists()
    finally:
        signals.before_task_publish.disconnect(record_heartbeat)


def test_what_other_processes_publish_is_no_heartbeat(file: Path) -> None:
    signals.before_task_publish.send(sender="a task", headers={}, body=())
    assert not file.exists()


@pytest.mark.slow
@pytest.mark.dist
def test_a_worker_records_while_it_waits_for_work(file: Path, servers: Any) -> None:
    """Without the platform's key, which a worker does not need."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("MLHUB_SECRET_KEY")}
    environment |= {"REDIS_URL": servers.redis_url, "DATABASE_URL": servers.database_url}
    argv = [sys.executable, "-m", "celery", "-A", "mlhub.celery", "worker", "--pool", "solo", "--queues", "nobody-s"]
    worker = subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 90
        while not file.exists():
            assert worker.poll() is None, "the worker ended"
            assert time.monotonic() < until, "the worker recorded nothing"
            time.sleep(0.1)
    finally:
        worker.terminate()
        worker.wait(600)


@pytest.mark.django_db
def test_the_control_loop_records_each_round(file: Path) -> None:
    World(make_cast()).round()
    assert file.exists()


@pytest.mark.django_db(transaction=True)
def test_a_control_loop_that_waits_for_the_lock_records_each_try(monkeypatch: pytest.MonkeyPatch) -> None:
    is_held, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        with work_lock(control_loop.LOCK):
            is_held.set()
            may_go.wait(600)
        connection.close()

    other = threading.Thread(target=hold)
    other.start()
    assert is_held.wait(600)
    waiting = Loop(World(make_cast()).backend)
    n_records = 0

    def record() -> None:
        nonlocal n_records
        n_records += 1
        waiting.is_asked_to_end = n_records == 3

    monkeypatch.setattr(heartbeat, "record", record)
    monkeypatch.setattr(control_loop, "LOCK_RETRY_S", 0.01)
    waiting.run()
    may_go.set()
    other.join(60)
    assert n_records == 3
