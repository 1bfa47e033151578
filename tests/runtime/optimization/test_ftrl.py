# SPDX-License-Identifier: Apache-2.0
"""FTRL as a job's optimiser: one model on one worker, on servers that cut its state, and after a resume."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mlhub.runtime.checkpoints.optimizer_state import ParameterSlice, collect, merge, restore
from mlhub.runtime.optimization.ftrl import FTRL
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import SyncMode, TrainingSpec
from tests.runtime.gang import Gang, write_blobs


def trained(folder: Path, mode: SyncMode, *, n_workers: int = 1, n_servers: int = 0) -> Gang:
    folder.mkdir()
    given = {"optimizer": "ftrl", "learning_rate": 0.2, "l1": 0.02, "weight_decay": 0.001}
    training = TrainingSpec(epochs=2, batch_size=12, hyperparameters=given)
    found = Gang(folder, write_blobs(folder / "blobs.npz"), training=training)
    found.start(mode, n_workers=n_workers, n_servers=n_servers)
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    return found


@pytest.mark.slow
@pytest.mark.dist
def test_ftrl_trains_one_model_on_one_worker_and_on_two_servers_and_some_weights_are_zero(tmp_path: Path) -> None:
    alone = trained(tmp_path / "alone", SyncMode.ALL_REDUCE).weights()
    served = trained(tmp_path / "served", SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=2).weights()
    assert alone.keys() == served.keys()
    for name, values in alone.items():
        assert served[name] == pytest.approx(values, abs=1e-5), name
    flat = [value for values in alone.values() for value in values.ravel()]
    assert 0 < sum(value == 0.0 for value in flat) < len(flat)


def test_ftrls_state_goes_on_in_other_pieces() -> None:
    generator = torch.Generator().manual_seed(4)
    gradients = [torch.randn(6, generator=generator) for _ in range(8)]
    whole = torch.nn.Parameter(torch.ones(6))
    first = FTRL([whole], l1=0.1)
    for gradient in gradients[:4]:
        whole.grad = gradient
        first.step()
    saved = merge(collect(first, [ParameterSlice("w", 0, whole)]))
    pieces = [torch.nn.Parameter(part.clone()) for part in whole.detach().split([2, 4])]
    others = [FTRL([piece], l1=0.1) for piece in pieces]
    for optimizer, piece, start in zip(others, pieces, (0, 2), strict=True):
        restore(optimizer, [ParameterSlice("w", start, piece)], saved)
    for gradient in gradients[4:]:
        whole.grad = gradient
        first.step()
        for optimizer, piece, part in zip(others, pieces, gradient.split([2, 4]), strict=True):
            piece.grad = part
            optimizer.step()
    assert torch.equal(torch.cat([piece.detach() for piece in pieces]), whole.detach())
