# SPDX-License-Identifier: Apache-2.0
"""One running platform and one long job; each process of it is killed, stopped or emptied, and training goes on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pytest
import redis

from tests.chaos.stopping import living_pods, stopped
from tests.chaos.training import Training
from tests.platform import RunningPlatform, is_alive, running, wait

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(1200)]
STOPPED_S = 60.0
READ_ONLY_S = 20.0


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Training]:
    folder = tmp_path_factory.mktemp("chaos")
    with running(folder) as platform:
        yield Training(platform, folder)


def kill(name: str) -> Callable[[RunningPlatform], None]:
    def fault(platform: RunningPlatform) -> None:
        pid = platform.pids()[name]
        os.kill(pid, signal.SIGKILL)
        wait(lambda: not is_alive(pid))

    return fault


def stop_for_a_minute(name: str) -> Callable[[RunningPlatform], None]:
    def fault(platform: RunningPlatform) -> None:
        with stopped([platform.pids()[name]]):
            time.sleep(STOPPED_S)

    return fault


def stop_the_supervisor(platform: RunningPlatform) -> None:
    with stopped([platform.pids()["supervisor"]], with_children=False):  # all others are its children
        time.sleep(STOPPED_S)


def stop_the_pods(platform: RunningPlatform) -> None:
    with stopped(living_pods(platform)):
        time.sleep(STOPPED_S)


def slow_the_database(platform: RunningPlatform) -> None:
    """It works for a tenth of a second, and rests for four."""
    until = time.monotonic() + STOPPED_S
    while time.monotonic() < until:
        with stopped([platform.pids()["postgres"]]):
            time.sleep(0.4)
        time.sleep(0.1)


def make_the_database_read_only(platform: RunningPlatform) -> None:
    """As a standby is, to which an address leads after a failover."""
    alter_system(platform, "SET default_transaction_read_only = on")
    time.sleep(READ_ONLY_S)
    alter_system(platform, "RESET default_transaction_read_only")


def alter_system(platform: RunningPlatform, change: str) -> None:
    url = json.loads((platform.home / "platform.json").read_text())["database_url"]
    with contextlib.closing(psycopg2.connect(url)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            for statement in (f"ALTER SYSTEM {change}", "SELECT pg_reload_conf()"):
                cursor.execute(statement)


def empty_the_broker(platform: RunningPlatform) -> None:
    redis_url = json.loads((platform.home / "platform.json").read_text())["redis_url"]
    redis.Redis.from_url(redis_url).flushall()


FAULTS: dict[str, Callable[[RunningPlatform], None]] = {
    "postgres killed": kill("postgres"),
    "valkey killed": kill("valkey"),
    "broker emptied": empty_the_broker,
    "beat killed": kill("beat"),
    **{
        f"{name} stopped": stop_for_a_minute(name)
        for name in ("web", "worker", "beat", "control", "postgres", "valkey")
    },
    "supervisor stopped": stop_the_supervisor,
    "pods stopped": stop_the_pods,
    "postgres slow": slow_the_database,
    "postgres read-only": make_the_database_read_only,
}


@pytest.mark.parametrize("fault", list(FAULTS))
def test_training_goes_on_with_every_point_and_the_same_pods_after(fault: str, training: Training) -> None:
    platform = training.platform
    before, pods, n_attempts = training.points(), platform.pods(), len(training.job()["attempts"])
    FAULTS[fault](platform)
    training.moves_on()
    after = training.points()
    assert {step: after.get(step) for step in before} == before
    assert max(after) > max(before)
    assert platform.pods() == pods
    assert len(training.job()["attempts"]) == n_attempts


def test_a_job_that_is_submitted_right_after_the_broker_lost_everything_runs_all_the_same(training: Training) -> None:
    """Its hand-off may be lost with the broker; the sweep sends it again."""
    empty_the_broker(training.platform)
    new = training.person.post("/jobs", **{**training.body, "epochs": 1}, max_workers=1)["id"]
    empty_the_broker(training.platform)
    wait(lambda: training.person.get(f"/jobs/{new}")["state"] == "succeeded", seconds=240)


def test_a_killed_pod_costs_an_attempt_and_training_resumes_from_its_checkpoint(training: Training) -> None:
    """Last, for it ends the attempt. The platform's fault: the job's own retries are not touched."""
    job = training.job()
    victim = next(pid for name, pid in training.platform.pods().items() if job["current_attempt"]["id"] in name)
    os.kill(victim, signal.SIGKILL)
    n = len(job["attempts"])
    wait(lambda: len(training.job()["attempts"]) == n + 1, seconds=120, message=training.platform.logs())
    wait(lambda: training.job()["state"] == "running", seconds=120, message=training.platform.logs())
    training.moves_on()
    assert training.job()["failure"] is None


def test_a_node_s_checkpoints_damaged_on_disk_cost_the_steps_since_the_one_before(training: Training) -> None:
    root = training.platform.home / "checkpoints" / training.id
    wait(lambda: len(_complete(root)) >= 2, seconds=120, message=training.platform.logs())
    job = training.job()
    victim = next(pid for name, pid in training.platform.pods().items() if job["current_attempt"]["id"] in name)
    os.kill(victim, signal.SIGSTOP)  # so that none is written meanwhile
    newest, older = _complete(root)[:2]
    weights = newest / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    os.kill(victim, signal.SIGKILL)
    n = len(job["attempts"])
    wait(lambda: len(training.job()["attempts"]) == n + 1, seconds=120, message=training.platform.logs())
    wait(lambda: _newest_attempt(training)["training_at"], seconds=120, message=training.platform.logs())
    training.moves_on()
    assert _newest_attempt(training)["first_step"] == int(older.name.rpartition("-")[2])


def _newest_attempt(training: Training) -> dict[str, Any]:
    found: dict[str, Any] = max(training.job()["attempts"], key=lambda a: a["number"])
    return found


def _complete(root: Path) -> list[Path]:
    """Newest first."""
    return sorted((p.parent for p in root.glob("attempt-*/manifest.json")), key=lambda p: p.name, reverse=True)
