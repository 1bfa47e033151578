# SPDX-License-Identifier: Apache-2.0
"""Project Adam's way with wide layers: the gradients of one process, made elsewhere from inputs and errors."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from mlhub.runtime.strategies.synchronous.sufficient_factor_broadcasting import (
    FactoredLayer,
    linear_layers,
    saves_bytes,
)
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, TrainingSpec
from tests.runtime.gang import Gang, write_blobs


def test_rows_pay_where_they_are_less_than_the_gradient() -> None:
    assert not saves_bytes(32, n_inputs=40, n_outputs=50, n_workers=2)  # 2,880 numbers for 2,000
    assert saves_bytes(32, n_inputs=4096, n_outputs=4096, n_workers=2)
    assert not saves_bytes(32, n_inputs=4096, n_outputs=4096, n_workers=128)  # to so many others


def test_inputs_and_errors_make_the_gradient() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3, bias=False))
    layers = [FactoredLayer(layer) for layer in linear_layers(model)]
    for _ in range(2):  # micro-batches
        model(torch.randn(4, 6, 5)).square().mean().backward()  # positions, too
    for layer in layers:
        inputs, errors = layer.pop_factors()
        assert inputs.shape == (2 * 4 * 6, layer.n_inputs)
        torch.testing.assert_close(errors.T @ inputs, layer.weight.grad, rtol=0, atol=1e-6)
    layers[0].weight.requires_grad_(False)
    model[0].bias.requires_grad_(False)
    model(torch.randn(4, 5)).sum().backward()
    assert layers[0].pop_factors()[1].shape == (4, 7)  # seen though autograd needs nothing of this layer
    with torch.no_grad():
        model(torch.randn(4, 5))
    assert len(layers[0].pop_factors()[0]) == 0


MODEL = """
import torch
from torch import nn

class Net(nn.Module):
    "The wide layer in the middle is called; the last one's weight is also used by itself."

    def __init__(self, given):
        super().__init__()
        self.first = nn.Linear(6, 200)
        self.wide = nn.Linear(200, 300, bias=False)
        self.twice = nn.Linear(300, 200)
        self.last = nn.Linear(200, given["n_classes"])

    def forward(self, x):
        x = torch.relu(self.wide(torch.relu(self.first(x))))
        return self.last(torch.tanh(self.twice(x) + 0.1 * x @ self.twice.weight.T))

def build_model(given):
    return Net(given)
"""


def trained(folder: Path, data: Path, strategy: dict[str, object], *, n_workers: int) -> Gang:
    folder.mkdir()
    with zipfile.ZipFile(folder / "code.zip", "w") as archive:
        archive.writestr("wide_model.py", MODEL)
    given = {"optimizer": "sgd", "learning_rate": 0.05, "clip_norm": 1.0, "accumulation_steps": 2}
    gang = Gang(
        folder, data, model=ModelSpec(kind="package", entry="wide_model", package="code"), package=folder / "code.zip",
        training=TrainingSpec(epochs=5, batch_size=10, hyperparameters=given, strategy=strategy),
    )  # fmt: skip
    gang.start(n_workers=n_workers)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    return gang


@pytest.fixture(scope="module")
def gangs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Gang]:
    folder = tmp_path_factory.mktemp("gangs")
    data = write_blobs(folder / "blobs.npz", n=130)
    names = {"alone": ({}, 1), "ring": ({"name": "all_reduce"}, 3), "rows": ({"name": "project-adam"}, 3)}
    return {key: trained(folder / key, data, given, n_workers=n) for key, (given, n) in names.items()}


@pytest.mark.slow
@pytest.mark.dist
def test_rows_teach_what_gradients_teach_in_fewer_bytes(gangs: dict[str, Gang]) -> None:
    alone, rows = gangs["alone"].weights(), gangs["rows"].weights()
    for name, value in alone.items():
        np.testing.assert_allclose(rows[name], value, rtol=0, atol=2e-5, err_msg=name)
    assert gangs["rows"].result()["metrics"]["eval/accuracy"] > 0.9


@pytest.mark.slow
@pytest.mark.dist
def test_a_weight_that_is_used_otherwise_too_stays_with_the_ring(gangs: dict[str, Gang]) -> None:
    """Of wide and twice, 60,000 numbers each, only wide is sent as rows: a ring of three sends 4/3 of all numbers."""
    n = {name: value.size for name, value in gangs["alone"].weights().items()}
    whole, wide = 4.0 * sum(n.values()), 4.0 * n["wide.weight"]
    assert gangs["ring"].bytes_sent() == pytest.approx(4 / 3 * whole, rel=0.1)
    rows = 4.0 * 4 * (200 + 300) * 2  # at most 4 of 10 examples, to two others
    barriers = 5 / gangs["rows"].result()["steps"] * 4 / 3 * whole  # where models are averaged
    assert gangs["rows"].bytes_sent() == pytest.approx(4 / 3 * (whole - wide) + rows + barriers, rel=0.1)
