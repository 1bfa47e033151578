# SPDX-License-Identifier: Apache-2.0
"""Gradients that become one in other ways than by their mean: what they keep, and that replicas stay alike."""

from __future__ import annotations

import queue
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from mlhub.runtime.strategies.toolkit.adasum import adasum, combine
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import TrainingSpec
from tests.runtime.gang import Gang, write_blobs

GENERATOR = torch.Generator().manual_seed(2)


def test_adasum_averages_what_is_equal_and_adds_what_is_at_right_angles() -> None:
    a, b = torch.tensor([1.0, 2.0, 0.0, 3.0]), torch.tensor([1.0, 2.0, 5.0, 0.0])
    assert combine(a, b, [2, 2]).tolist() == [1.0, 2.0, 5.0, 3.0]
    assert combine(torch.zeros(2), b[:2], [2]).tolist() == [1.0, 2.0]


def on_all(n: int, gradients: torch.Tensor) -> tuple[list[torch.Tensor], list[float]]:
    """Each worker a thread; what they send goes through queues."""
    ways = {(i, j): queue.Queue[torch.Tensor]() for i in range(n) for j in range(n)}
    results, sent = [g.clone() for g in gradients], [0.0] * n

    def work(rank: int) -> None:
        def swap(mine: torch.Tensor, peer: int) -> torch.Tensor:
            ways[rank, peer].put(mine.clone())
            return ways[peer, rank].get(timeout=600)

        sent[rank] = adasum(results[rank], [3, 4], rank=rank, n_workers=n, exchange=swap)

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results, sent


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8])
def test_adasum_is_the_same_on_every_worker_and_between_mean_and_sum(n: int) -> None:
    same = torch.randn(7, generator=GENERATOR).expand(n, 7)
    for result in on_all(n, same)[0]:
        torch.testing.assert_close(result, same[0])
    separate = torch.zeros(n, 7)
    separate[0, 1], separate[1, 2], separate[n - 1, 5] = 1.0, -2.0, 3.0
    for result in on_all(n, separate)[0]:
        torch.testing.assert_close(result, separate.sum(0))
    results, sent = on_all(n, torch.randn(n, 7, generator=GENERATOR))
    assert all(torch.equal(result, results[0]) for result in results)
    if n in (2, 4, 8):
        assert sent == [28.0 * (n.bit_length() - 1)] * n


TRAINING = TrainingSpec(epochs=6, batch_size=10, hyperparameters={"optimizer": "sgd", "learning_rate": 0.05})
WIDE = {**TRAINING.hyperparameters, "width": 384}  # what is sent about it, by a slow machine too, is little beside it
FEWER = (
    ({"compression": "one_bit"}, 1 / 32 + 2 / 1024),
    ({"compression": "two_bit", "threshold": 0.01}, 1 / 16),
    ({"compression": "dithering", "levels": 3, "norm": "l2", "partition": "natural"}, 1 / 8 + 1 / 1024),
    ({"compression": "top_k", "density": 0.05}, 2 * 0.05),
    ({"compression": "power_sgd", "rank": 2, "plain_steps": 2}, None),
)


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize(("given", "part"), FEWER, ids=lambda v: v["compression"] if isinstance(v, dict) else "")
def test_compressed_gradients_teach_as_well_in_fewer_bytes(
    given: dict[str, object], part: float | None, tmp_path: Path
) -> None:
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz", n=120))
    gang.training = replace(TRAINING, epochs=15, hyperparameters=WIDE, strategy={"name": "all_reduce", **given})
    gang.start(n_workers=2)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    assert gang.result()["metrics"]["eval/accuracy"] > 0.9
    whole = 4 * sum(value.size for value in gang.weights().values())  # what a ring of two sends
    if part is None:
        assert gang.bytes_sent() < whole / 2
    else:
        assert whole * part < gang.bytes_sent() < 1.4 * whole * part


@pytest.mark.slow
@pytest.mark.dist
def test_the_residual_survives_a_resume_by_another_number_of_workers(tmp_path: Path) -> None:
    strategy = {"name": "all_reduce", "compression": "top_k", "density": 0.01}
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz", n=400))
    gang.training = replace(TRAINING, epochs=5, strategy=strategy)
    gang.start(n_workers=2, pause_after=20)
    gang.leave_paused()
    assert set(gang.wait().values()) == {ExitCode.PREEMPTED}, gang.logs()
    (saved,) = gang.reports("checkpoint")
    residuals = load_file(tmp_path / "checkpoints" / saved["name"] / "residuals.safetensors")
    assert {name: value.shape for name, value in residuals.items()} == {
        name: value.shape
        for name, value in load_file(tmp_path / "checkpoints" / saved["name"] / "weights.safetensors").items()
    }
    assert any(np.abs(value).max() > 0 for value in residuals.values())
    gang.start(n_workers=3)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    assert gang.result()["metrics"]["eval/accuracy"] > 0.9
