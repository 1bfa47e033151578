# SPDX-License-Identifier: Apache-2.0
"""A job that goes on without compression pays what it still owes: nothing that was computed is lost at the change."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from mlhub.runtime.checkpoints.step_folders import latest
from mlhub.runtime.strategies.catalogue.schema import parse
from mlhub.runtime.strategies.toolkit.residual import ErrorFeedbackResidual, mean_residual
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, SyncMode, TrainingSpec
from tests.runtime.gang import Gang, write_blobs

LINEAR = """
import torch
from torch import nn

class Shift(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.by = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        return x + self.by

def build_model(given):
    return nn.Sequential(Shift(6), Shift(6))

def loss(outputs, targets):
    "Linear in the weights, so that no gradient depends on when another one arrived."
    return (outputs * torch.arange(1.0, 7.0) * (1.0 + targets[:, None])).mean()
"""
PLAIN = {"optimizer": "sgd", "learning_rate": 0.05, "momentum": 0.0}


def test_a_residual_is_added_in_shares_and_cleared_once() -> None:
    carried_residual = ErrorFeedbackResidual({"a": torch.arange(6.0).view(2, 3), "b": torch.ones(2)})
    whole, second_half, other = torch.zeros(2, 3), torch.zeros(3), torch.zeros(2)
    carried_residual.add_to([("a", 0, whole), ("a", 3, second_half), ("c", 0, other), ("b", 0, None)], share=0.5)
    assert whole.tolist() == [[0.0, 0.5, 1.0], [1.5, 2.0, 2.5]]
    assert second_half.tolist() == [1.5, 2.0, 2.5]
    assert other.tolist() == [0.0, 0.0]
    carried_residual.clear()
    carried_residual.add_to([("a", 0, whole)])
    assert not carried_residual
    assert whole.sum() == 7.5
    assert not ErrorFeedbackResidual.of(None)


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("code") / "code.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("linear_model.py", LINEAR)
    return path


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, code: Path) -> Gang:
    folder = tmp_path_factory.mktemp("alone")
    gang = made(folder, write_blobs(folder / "blobs.npz", n=400), code, {})
    gang.start()
    assert gang.wait() == {"worker-0": ExitCode.DONE}, gang.logs()
    return gang


def made(folder: Path, data: Path, code: Path, strategy: dict[str, object]) -> Gang:
    gang = Gang(folder, data, model=ModelSpec(kind="package", entry="linear_model", package="code"), package=code)
    gang.training = TrainingSpec(epochs=2, batch_size=8, hyperparameters=PLAIN, strategy=strategy)
    return gang


def start(gang: Gang, n_workers: int = 2, *, pause_after: int | None = None) -> None:
    mode = parse(gang.training.strategy).mode or SyncMode.ALL_REDUCE
    n_servers = int(mode is SyncMode.PARAMETER_SERVER)
    gang.start(mode, n_workers=n_workers, n_servers=n_servers, pause_after=pause_after)


TOP_K = {"compression": "top_k", "density": 0.1}
CHANGES = (
    ({"name": "all_reduce", **TOP_K}, {"name": "all_reduce"}, 2),
    ({"name": "all_reduce", **TOP_K}, {"name": "all_reduce", **TOP_K}, 1),
    ({"name": "all_reduce", **TOP_K}, {"name": "sharded"}, 2),
    ({"name": "all_reduce", **TOP_K}, {"name": "fully_sharded"}, 2),
    ({"name": "all_reduce", **TOP_K}, {"name": "pipeline"}, 2),
    ({"name": "all_reduce", **TOP_K}, {"name": "model_averaging", "period": 3}, 2),
    ({"name": "all_reduce", **TOP_K}, {"name": "bsp"}, 3),
    ({"name": "bsp", **TOP_K}, {"name": "softsync", "group": 2}, 2),
)


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize(
    ("before", "after", "n_workers"), CHANGES, ids=lambda v: v["name"] if isinstance(v, dict) else str(v)
)
def test_a_residual_from_before_the_change_arrives_after_it(
    before: dict[str, object], after: dict[str, object], n_workers: int, tmp_path: Path, alone: Gang, code: Path
) -> None:
    gang = made(tmp_path, alone.dataset, code, before)
    start(gang, pause_after=20)
    gang.leave_paused()
    assert set(gang.wait().values()) == {ExitCode.PREEMPTED}, gang.logs()
    saved = latest(tmp_path / "checkpoints")
    assert saved is not None
    assert max(float(residual.abs().max()) for residual in mean_residual(saved).values()) > 1.0
    gang.training = made(tmp_path, alone.dataset, code, after).training
    start(gang, n_workers)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    for name, value in alone.weights().items():
        np.testing.assert_allclose(gang.weights()[name], value, rtol=1e-4, err_msg=name)
