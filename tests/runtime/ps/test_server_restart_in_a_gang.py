# SPDX-License-Identifier: Apache-2.0
"""A parameter server that is killed comes back alone, and the same attempt goes on: real processes and kill -9."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import DataPlane, SyncMode, TrainingSpec
from tests.runtime.gang import Gang, write_blobs

pytestmark = pytest.mark.dist
EPOCHS, N_STEPS = 15, 15 * 80
TOLERANCE = 0.05  # of the loss, which is below 0.01 when no process dies


def start(folder: Path, strategy: dict[str, object], *, data_plane: DataPlane = DataPlane.HMAC) -> Gang:
    training = TrainingSpec(epochs=EPOCHS, batch_size=4, checkpoint_every_s=0.3, strategy=strategy)
    blobs = write_blobs(folder / "blobs.npz", n=400)
    gang = Gang(folder, blobs, training=training, data_plane=data_plane, start_timeout_s=30)
    gang.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=2)
    return gang


@pytest.mark.parametrize(
    "strategy",
    [
        {"name": "asp"},
        {"name": "ssp", "staleness": 1},
        {"name": "softsync"},
        {"name": "easgd", "window": 4},
        {"name": "bounded_delay"},
        {"name": "downpour", "n_push": 2, "n_fetch": 4},
        {"name": "dynsgd", "window": 3},
        {"name": "k_of_n"},
        {"name": "softsync", "block": True},
        {"name": "asp", "compression": "top_k", "density": 0.3},
    ],
    ids=lambda s: "-".join(str(v) for v in s.values()),
)
def test_training_goes_on_when_a_server_is_killed(strategy: dict[str, object], tmp_path: Path) -> None:
    gang = start(tmp_path, strategy)
    for step, server in ((150, "server-1"), (400, "server-0")):
        gang.wait_for_step(step)
        gang.kill_serving(server)
    assert set(gang.wait(seconds=150).values()) == {ExitCode.DONE}, gang.logs()
    assert gang.result()["steps"] == N_STEPS
    assert gang.result()["metrics"]["eval/accuracy"] > 0.9
    assert gang.result()["metrics"]["eval/loss"] < TOLERANCE
    for server in ("server-0", "server-1"):
        (report,) = [r for r in gang.reports("phase", server) if r["phase"] == "server_returned"]
        assert report["detail"]["signal"] == "SIGKILL"
        assert report["detail"]["returns"] == 1


def test_it_comes_back_to_encrypted_connections_too(tmp_path: Path) -> None:
    gang = start(tmp_path, {"name": "ssp"}, data_plane=DataPlane.TLS)
    for step, server in ((100, "server-0"), (200, "server-1")):
        gang.wait_for_step(step)
        gang.kill_serving(server)
    assert set(gang.wait(seconds=150).values()) == {ExitCode.DONE}, gang.logs()
    assert gang.result()["steps"] == N_STEPS


@pytest.mark.parametrize("server", ["server-0", "server-1"])
def test_a_gang_is_preempted_though_a_server_dies_while_it_leaves(server: str, tmp_path: Path) -> None:
    gang = start(tmp_path, {"name": "ssp"})
    gang.wait_for_step(100)
    gang.terminate()
    gang.kill_serving(server)
    assert set(gang.wait(seconds=150).values()) == {ExitCode.PREEMPTED}, gang.logs()
    gang.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=1)
    assert set(gang.wait(seconds=150).values()) == {ExitCode.DONE}, gang.logs()
    assert gang.result()["steps"] == N_STEPS


def test_workers_end_when_the_first_one_dies_though_they_wait_for_servers_that_return(tmp_path: Path) -> None:
    gang = start(tmp_path, {"name": "asp"})
    gang.wait_for_step(80)
    gang.processes["worker-0"].kill()
    codes = gang.wait(seconds=120)
    assert codes.pop("worker-0") == -9
    assert set(codes.values()) == {ExitCode.PEER_LOST}, gang.logs()


def test_what_dies_again_and_again_ends_the_attempt_by_its_own_cause(tmp_path: Path) -> None:
    gang = start(tmp_path, {"name": "asp"})
    gang.wait_for_step(80)
    killed = None
    for _ in range(4):
        gang.wait_for(partial(is_another_there, gang, killed))
        killed = gang.kill_serving("server-1")
    assert gang.processes["server-1"].wait(120) == -9
    for process in gang.processes.values():
        process.kill()
    assert not gang.reports("result")


def is_another_there(gang: Gang, killed: int | None) -> bool:
    return gang.serving("server-1") not in (None, killed)
