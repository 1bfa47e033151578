# SPDX-License-Identifier: Apache-2.0
"""Compressed pushes to real servers: fewer bytes, nothing lost, and the residual survives in checkpoints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from mlhub.runtime.checkpoints.optimizer_state import merge, residual_for_worker, total_residual
from mlhub.runtime.ps.layout import CHUNK_ELEMENTS
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import SyncMode, TrainingSpec
from tests.runtime import gang as processes
from tests.runtime.gang import write_blobs
from tests.runtime.shards import Gang

N = 2 * CHUNK_ELEMENTS + 17
COMPRESSIONS = [
    ({"compression": "fp16"}, 1.99),
    ({"compression": "one_bit"}, 30),
    ({"compression": "scaled_sign"}, 30),
    ({"compression": "two_bit", "threshold": 0.7}, 15.9),
    ({"compression": "dithering", "levels": 1}, 15),
    ({"compression": "top_k", "density": 0.02}, 24),
    ({"compression": "random_k", "density": 0.02}, 49),
]


@pytest.mark.parametrize(
    ("compression", "ratio"), COMPRESSIONS, ids=lambda c: str(c.get("compression", "")) if isinstance(c, dict) else ""
)
@pytest.mark.parametrize("name", ["bsp", "asp"])
def test_what_the_servers_applied_and_what_workers_owe_is_all_that_was_computed(
    name: str, compression: dict, ratio: float
) -> None:
    gang = Gang({"name": name, **compression}, n_workers=2, n_shards=2, n_elements=N)
    gradients = torch.randn(2, 4, N, generator=torch.Generator().manual_seed(0))

    def act(worker, client, weights, gradient):
        assert client.bytes_pushed * ratio < client.bytes_pulled
        for step in range(4):
            gradient[:] = gradients[worker, step]
            client.exchange()
        client.coordination.idle()
        client.coordination.total([0.0])
        client.pull()
        return weights, client.feedback.residual

    (weights, mine), (same, theirs) = gang.each(act)
    assert not gang.errors
    assert torch.equal(weights, same)
    torch.testing.assert_close(mine + theirs - weights, gradients.sum((0, 1)), rtol=0, atol=1e-4)


def test_the_residual_is_in_the_snapshot_for_as_many_workers_as_there_will_be(tmp_path: Path) -> None:
    gang = Gang({"name": "bsp", "compression": "top_k", "density": 0.3}, n_workers=2, n_shards=2, n_elements=11)

    def act(worker, client, weights, gradient):
        gradient[:] = torch.arange(11.0) * (worker + 1)
        client.exchange()
        client.send_residuals()
        client.coordination.total([0.0])
        if worker == 0:
            client.take_snapshot()
            client.write_snapshot(tmp_path)
        client.coordination.total([0.0])
        return client.feedback.residual

    residuals = gang.each(act)
    assert not gang.errors
    saved = merge(
        load_file(tmp_path / "optimizer-0-of-2.safetensors") | load_file(tmp_path / "optimizer-1-of-2.safetensors")
    )
    for worker, residual in enumerate(residuals):
        assert residual.count_nonzero() > 0
        assert torch.equal(residual_for_worker(saved, [("w", 11)], worker=worker, n_workers=2), residual)
    thirds = [residual_for_worker(saved, [("w", 11)], worker=worker, n_workers=3) for worker in range(3)]
    torch.testing.assert_close(sum(thirds), sum(residuals))


def test_the_residual_moves_between_servers_and_all_reduce() -> None:
    """Servers add up what workers push, all-reduce averages: what counts is the sum here, and the mean there."""
    shapes = [("a", 6), ("b", 2)]
    pushed = merge({"a|owed-by-0|0": torch.arange(6.0), "a|owed-by-1|0": torch.ones(6), "b|owed-by-1|0": torch.ones(2)})
    mean = total_residual(pushed)
    assert mean["a"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert mean["b"].tolist() == [1.0, 1.0]
    back = [residual_for_worker(merge({}), shapes, worker=worker, n_workers=4, mean=mean) for worker in range(4)]
    torch.testing.assert_close(sum(back), torch.cat([mean["a"], mean["b"]]))
    assert total_residual(merge({"a|momentum_buffer|0": torch.ones(6)})) == {}


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize(("compression", "epochs", "n_servers"), [("top_k", 8, 2), ("random_k", 3, 1)])
def test_a_compressed_training_resumes_as_if_nothing_had_happened(
    compression: str, epochs: int, n_servers: int, tmp_path: Path
) -> None:
    """Two servers would draw other elements at random than one."""
    data = write_blobs(tmp_path / "blobs.npz", n=400)
    training = TrainingSpec(
        epochs=epochs,
        batch_size=8,
        strategy={"name": "bsp", "compression": compression, "density": 0.05},
        hyperparameters={"optimizer": "sgd", "learning_rate": 0.05, "momentum": 0.0},
    )
    whole = processes.Gang(tmp_path / "whole", data, training=training)
    whole.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=1)
    assert set(whole.wait().values()) == {ExitCode.DONE}, whole.logs()
    cut = processes.Gang(tmp_path / "cut", data, training=training)
    cut.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=1, pause_after=50)
    cut.leave_paused()
    assert set(cut.wait().values()) == {ExitCode.PREEMPTED}, cut.logs()
    cut.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=n_servers)
    assert set(cut.wait().values()) == {ExitCode.DONE}, cut.logs()
    for name, value in whole.weights().items():
        np.testing.assert_allclose(cut.weights()[name], value, rtol=0, atol=2e-3, err_msg=name)
    assert whole.result()["metrics"]["eval/accuracy"] > 0.9
    cut.training = replace(training, epochs=epochs + 1, strategy={"name": "asp"})
    cut.start(SyncMode.PARAMETER_SERVER, n_workers=1, n_servers=1)
    assert set(cut.wait().values()) == {ExitCode.DONE}, cut.logs()
