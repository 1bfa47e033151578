# SPDX-License-Identifier: Apache-2.0
"""Workers that wait for others: as they form a gang, and later for one that takes long."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from mlhub.runtime import heartbeat
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import SyncMode, TrainingSpec
from tests.runtime.gang import Gang, write_blobs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "n_workers", "n_servers", "missing"),
    [(SyncMode.ALL_REDUCE, 2, 0, "worker-1"), (SyncMode.PARAMETER_SERVER, 1, 1, "server-0")],
)
def test_a_worker_that_waits_for_a_member_to_come_is_not_busy_in_its_own_code(
    tmp_path: Path, mode: SyncMode, n_workers: int, n_servers: int, missing: str
) -> None:
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz"))
    gang.start(mode, n_workers=n_workers, n_servers=n_servers)
    gang.processes[missing].kill()
    gang.wait_for(lambda: any(report["phase"] == "prepared" for report in gang.reports("phase")))
    gang.wait_for(lambda: _activity(gang) == "sync", seconds=20)
    time.sleep(1.0)
    assert _activity(gang) == "sync"
    gang.processes["worker-0"].kill()
    gang.processes["worker-0"].wait(30)


@pytest.mark.slow
def test_workers_wait_longer_for_one_of_them_than_for_a_start(tmp_path: Path) -> None:
    """That the platform's own limit is the one that counts: it knows who is waited for."""
    blobs = write_blobs(tmp_path / "blobs.npz", n=400)
    gang = Gang(tmp_path, blobs, training=TrainingSpec(epochs=40, batch_size=8), start_timeout_s=15)
    gang.start(n_workers=2)
    gang.wait_for_step(20)
    paused = gang.processes["worker-1"].pid
    os.kill(paused, signal.SIGSTOP)
    time.sleep(20.0)
    os.kill(paused, signal.SIGCONT)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    assert gang.result()["steps"] == 40 * 40


def _activity(gang: Gang) -> str | None:
    record = heartbeat.read(gang.work() / "heartbeat")
    return None if record is None else record.activity
