# SPDX-License-Identifier: Apache-2.0
"""Equivalence: whatever the mode, the number of workers and servers, training is the training of one process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import SyncMode, TrainingSpec
from tests.runtime.gang import Gang, write_blobs

pytestmark = pytest.mark.dist


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Gang:
    """The reference: one worker, everything else the same."""
    folder = tmp_path_factory.mktemp("alone")
    gang = Gang(folder, write_blobs(folder / "blobs.npz", n=67))
    gang.start()
    assert gang.wait() == {"worker-0": ExitCode.DONE}, gang.logs()
    return gang


@pytest.mark.parametrize(
    ("mode", "n_workers", "n_servers"),
    [
        (SyncMode.ALL_REDUCE, 2, 0),
        (SyncMode.PARAMETER_SERVER, 1, 1),
        (SyncMode.PARAMETER_SERVER, 3, 2),
    ],
)
def test_a_gang_trains_the_model_that_one_process_trains(
    alone: Gang, tmp_path: Path, mode: SyncMode, n_workers: int, n_servers: int
) -> None:
    gang = Gang(tmp_path, alone.dataset)
    gang.start(mode, n_workers=n_workers, n_servers=n_servers)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    ours, theirs = gang.weights(), alone.weights()
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=0, atol=2e-5, err_msg=name)
    found, expected = gang.result()["metrics"], alone.result()["metrics"]
    assert found == pytest.approx(expected, abs=1e-4)
    assert found["eval/accuracy"] > 0.9


def test_shards_of_an_elementwise_optimiser_change_no_bit(tmp_path: Path) -> None:
    training = TrainingSpec(epochs=2, batch_size=10, hyperparameters={"optimizer": "adam"})
    weights = []
    data = write_blobs(tmp_path / "blobs.npz")
    for n_servers in (1, 3):
        gang = Gang(tmp_path / str(n_servers), data, training=training)
        gang.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=n_servers)
        assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
        weights.append(gang.weights())
    for key in weights[0]:
        assert np.array_equal(weights[0][key], weights[1][key]), key


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Gang:
    """200 steps in one go."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    data = write_blobs(folder / "blobs.npz", n=400)
    gang = Gang(folder, data, training=TrainingSpec(epochs=5, batch_size=8))
    gang.start()
    assert gang.wait() == {"worker-0": ExitCode.DONE}, gang.logs()
    return gang


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((SyncMode.ALL_REDUCE, 2, 0), (SyncMode.PARAMETER_SERVER, 1, 2)),
        ((SyncMode.PARAMETER_SERVER, 2, 2), (SyncMode.ALL_REDUCE, 1, 0)),
    ],
)
def test_a_preempted_training_resumes_in_another_shape_as_if_nothing_had_happened(
    tmp_path: Path, uninterrupted: Gang, before: tuple[SyncMode, int, int], after: tuple[SyncMode, int, int]
) -> None:
    cut = Gang(tmp_path / "cut", uninterrupted.dataset, training=uninterrupted.training)
    cut.start(before[0], n_workers=before[1], n_servers=before[2], pause_after=100)
    cut.leave_paused()
    assert set(cut.wait().values()) == {ExitCode.PREEMPTED}, cut.logs()
    (saved,) = cut.reports("checkpoint")
    cut.start(after[0], n_workers=after[1], n_servers=after[2])
    assert set(cut.wait().values()) == {ExitCode.DONE}, cut.logs()
    resumed = next(r for r in cut.reports("phase") if r["phase"] == "resumed")
    assert resumed["detail"]["step"] == saved["step"] > 0
    assert cut.result()["steps"] == uninterrupted.result()["steps"] == 5 * 40
    for name, value in uninterrupted.weights().items():
        np.testing.assert_allclose(cut.weights()[name], value, rtol=0, atol=2e-3, err_msg=name)


def test_the_death_of_a_worker_ends_the_whole_gang_with_its_cause(tmp_path: Path) -> None:
    data = write_blobs(tmp_path / "blobs.npz", n=400)
    for mode, n_servers in ((SyncMode.ALL_REDUCE, 0), (SyncMode.PARAMETER_SERVER, 1)):
        gang = Gang(tmp_path / mode, data, training=TrainingSpec(epochs=2000, batch_size=8))
        gang.start(mode, n_workers=2, n_servers=n_servers)
        gang.wait_for_step(10)
        gang.processes["worker-1"].kill()
        codes = gang.wait(seconds=150)
        assert codes["worker-0"] == ExitCode.PEER_LOST, gang.logs()
        assert codes.get("server-0", ExitCode.PEER_LOST) == ExitCode.PEER_LOST
        assert gang.reports("failure")[0]["cause"] == "peer_lost"


def test_checkpoints_are_written_during_training_and_only_the_newest_are_kept(tmp_path: Path) -> None:
    training = TrainingSpec(epochs=400, batch_size=8, checkpoint_every_s=0.3)
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz", n=200), training=training)
    gang.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=2)
    gang.wait_for(lambda: len(gang.reports("checkpoint")) >= 2)
    gang.terminate()
    assert set(gang.wait().values()) == {ExitCode.PREEMPTED}, gang.logs()
    written = gang.reports("checkpoint")
    kept = [p for p in (tmp_path / "checkpoints").iterdir() if (p / "manifest.json").exists()]
    assert len(written) >= 3
    assert len(kept) == 2
    assert max(kept).name == written[-1]["name"]


def test_a_loss_that_is_not_a_number_is_reported_as_such(tmp_path: Path) -> None:
    training = replace(
        TrainingSpec(epochs=5, batch_size=10), hyperparameters={"optimizer": "sgd", "learning_rate": 1e30}
    )
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz"), training=training)
    gang.start()
    assert gang.wait() == {"worker-0": ExitCode.NOT_A_NUMBER}, gang.logs()
    assert gang.reports("failure")[0]["cause"] == "not_a_number"
