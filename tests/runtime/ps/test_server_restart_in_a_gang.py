# SPDX-License-Identifier: Apache-2.0
"""A parameter server that is killed comes back alone, and the same attempt goes on: real processes and kill -9."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import DataPlane, SyncMode, TrainingSpec
from tests.runtime.gang import Gang, write_blobs
from tests.runtime.processes import PROGRESS_EVERY_S

pytestmark = [pytest.mark.dist, pytest.mark.slow]
EPOCHS, N_STEPS = 7, 7 * 80
TOLERANCE = 0.05  # of the loss, which is below 0.01 when no process dies


def start(folder: Path, strategy: dict[str, object], *, data_plane: DataPlane = DataPlane.HMAC) -> Gang:
    training = TrainingSpec(epochs=EPOCHS, batch_size=4, checkpoint_every_s=0.1, strategy=strategy)
    blobs = write_blobs(folder / "blobs.npz", n=400)
    often = {PROGRESS_EVERY_S: "0.05"}
    gang = Gang(folder, blobs, training=training, data_plane=data_plane, start_timeout_s=30, environment=often)
    gang.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=2)
    return gang


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "data_plane"),
    [
        ({"name": "asp", "compression": "top_k", "density": 0.3}, DataPlane.HMAC),
        ({"name": "ssp", "staleness": 1}, DataPlane.TLS),
        ({"name": "softsync", "block": True}, DataPlane.HMAC),
        ({"name": "easgd", "window": 4}, DataPlane.HMAC),
        ({"name": "bounded_delay"}, DataPlane.HMAC),
        ({"name": "downpour", "n_push": 2, "n_fetch": 4}, DataPlane.HMAC),
        ({"name": "dynsgd", "window": 3}, DataPlane.HMAC),
        ({"name": "k_of_n"}, DataPlane.HMAC),
    ],
    ids=lambda v: "-".join(str(part) for part in v.values()) if isinstance(v, dict) else str(v),
)
def test_training_goes_on_when_a_server_is_killed(
    strategy: dict[str, object], data_plane: DataPlane, tmp_path: Path
) -> None:
    """Over encrypted connections, too. What is lost by softsync that waits for nobody is in test_server_restart.py."""
    gang = start(tmp_path, strategy, data_plane=data_plane)
    for step, server in ((80, "server-1"), (200, "server-0")):
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


@pytest.mark.slow
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
