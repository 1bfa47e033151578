# SPDX-License-Identifier: Apache-2.0
"""A gang that lost a pod learns what an undisturbed one learns, bit for bit: the loss costs time and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import SyncMode, TrainingSpec
from tests.runtime.gang import Gang, write_blobs

pytestmark = [pytest.mark.chaos, pytest.mark.slow]
TRAINING = TrainingSpec(epochs=60, batch_size=8, hyperparameters={"optimizer": "adam"}, checkpoint_every_s=0.3)
N_STEPS = 60 * 40  # a fifth of the 400 examples is for evaluation
N_SERVERS = {SyncMode.ALL_REDUCE: 0, SyncMode.PARAMETER_SERVER: 1}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[SyncMode, Gang]:
    """One of each mode, of two workers, that came to its end in one go."""
    folder = tmp_path_factory.mktemp("undisturbed")
    data = write_blobs(folder / "blobs.npz", n=400)
    found = {mode: Gang(folder / mode, data, training=TRAINING) for mode in N_SERVERS}
    for mode, gang in found.items():
        gang.start(mode, n_workers=2, n_servers=N_SERVERS[mode])
        assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    return found


@pytest.mark.parametrize(
    ("mode", "victim"),
    [
        (SyncMode.ALL_REDUCE, "worker-0"),
        (SyncMode.ALL_REDUCE, "worker-1"),
        (SyncMode.PARAMETER_SERVER, "worker-1"),
        (SyncMode.PARAMETER_SERVER, "server-0"),
    ],
)
def test_a_gang_that_lost_a_pod_learns_bit_for_bit_what_an_undisturbed_one_learns(
    tmp_path: Path, undisturbed: dict[SyncMode, Gang], mode: SyncMode, victim: str
) -> None:
    whole = undisturbed[mode]
    cut = Gang(tmp_path, whole.dataset, training=TRAINING)
    cut.start(mode, n_workers=2, n_servers=N_SERVERS[mode])
    cut.wait_for(lambda: cut.reports("checkpoint"))
    cut.processes[victim].kill()
    assert ExitCode.DONE not in cut.wait().values(), "it was killed too late"
    reached = max(report["steps_done"] for report in cut.reports("progress"))
    saved = max(report["step"] for report in cut.reports("checkpoint"))
    cut.start(mode, n_workers=2, n_servers=N_SERVERS[mode])
    assert set(cut.wait().values()) == {ExitCode.DONE}, cut.logs()
    resumed = next(report for report in cut.reports("phase") if report["phase"] == "resumed")
    assert saved <= resumed["detail"]["step"] <= max(reached, saved) < N_STEPS
    assert cut.result()["steps"] == whole.result()["steps"] == N_STEPS
    for name, value in whole.weights().items():
        assert np.array_equal(cut.weights()[name], value), name
