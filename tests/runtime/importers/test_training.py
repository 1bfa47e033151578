# SPDX-License-Identifier: Apache-2.0
"""A model made elsewhere is evaluated as it came, trains on, and leaves ordinary weights."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from mlhub.demo import material
from mlhub.runtime.inspection.dry_run import try_out
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, SyncMode, TrainingSpec
from tests.runtime.gang import Gang
from tests.runtime.importers.uploads import package
from tests.runtime.importers.wire import node, onnx_model

ELSEWHERE_STEPS = 8


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Handwritten digits, 8 x 8 (UCI): x (n, 1, 8, 8) in 0..16, y (n,)."""
    lines = material.digits_csv().decode().splitlines()[1:601]
    table = np.array([line.split(",") for line in lines], np.float32)
    path = tmp_path_factory.mktemp("digits") / "digits.npz"
    np.savez(path, x=table[:, :64].reshape(-1, 1, 8, 8), y=table[:, 64].astype(np.int64))
    return path


@pytest.fixture(scope="module")
def elsewhere(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that was trained a little, without MLHub, in ONNX with a softmax; it expects 0..1."""
    torch.manual_seed(0)
    with np.load(digits) as held:
        x, y = torch.from_numpy(held["x"]) / 16, torch.from_numpy(held["y"])
    net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(ELSEWHERE_STEPS):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    weights = {name.replace(".", "_"): value.numpy() for name, value in net.state_dict().items()}
    nodes = [
        node("Conv", ["x", "0_weight", "0_bias"], "a", pads=[1, 1, 1, 1]), node("Relu", ["a"], "b"),
        node("MaxPool", ["b"], "c", kernel_shape=[2, 2], strides=[2, 2]), node("Flatten", ["c"], "d"),
        node("Gemm", ["d", "4_weight", "4_bias"], "e", transB=1), node("Softmax", ["e"], "y"),
    ]  # fmt: skip
    content = onnx_model(nodes, shape=["n", 1, 8, 8], constants=weights)
    return package(tmp_path_factory.mktemp("elsewhere"), {"net.onnx": content})


def gang(folder: Path, digits: Path, model: Path, **hyperparameters: object) -> Gang:
    given = {"learning_rate": 0.01, "input_scale": 1 / 16, **hyperparameters}
    return Gang(
        folder, digits, package=model, model=ModelSpec("package", "model", "code"),
        training=TrainingSpec(epochs=6, batch_size=20, hyperparameters=given),
    )  # fmt: skip


def evaluations(found: Gang, metric: str = "eval/accuracy") -> dict[int, float]:
    """The metric by step."""
    return {r["step"]: r["values"][metric] for r in found.reports("metrics") if metric in r["values"]}


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize(
    ("strategy", "mode"),
    [
        ({}, SyncMode.ALL_REDUCE),
        ({"name": "pipeline"}, SyncMode.ALL_REDUCE),
        ({"name": "asp"}, SyncMode.PARAMETER_SERVER),
    ],
)
def test_it_is_evaluated_as_it_came_and_trains_to_better(
    strategy: dict[str, str], mode: SyncMode, digits: Path, elsewhere: Path, tmp_path: Path
) -> None:
    found = gang(tmp_path, digits, elsewhere)
    found.training = replace(found.training, strategy=strategy)
    found.start(mode, n_workers=2, n_servers=int(mode is SyncMode.PARAMETER_SERVER))
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    accuracies = evaluations(found)
    assert min(accuracies) == 0
    assert 0.3 < accuracies[0] < accuracies[max(accuracies)] - 0.1  # guessing is right in one of ten
    assert {"the_Conv.weight", "the_Gemm.bias"} <= set(found.weights())


@pytest.mark.dist
def test_only_evaluating_leaves_the_weights_as_they_came(digits: Path, elsewhere: Path, tmp_path: Path) -> None:
    found = gang(tmp_path, digits, elsewhere, evaluate_only=True)
    found.start()
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    assert list(evaluations(found)) == [0]
    assert found.result()["metrics"]["eval/accuracy"] == evaluations(found)[0]
    spec = json.loads((found.work() / "artifacts" / "metadata.json").read_text())
    assert spec["steps"] == 0


def test_the_trial_knows_what_it_costs_and_where_it_may_run(digits: Path, elsewhere: Path, tmp_path: Path) -> None:
    found = gang(tmp_path, digits, elsewhere)
    profile = try_out(found.spec(), {"data": digits, "code": elsewhere}, code=tmp_path / "code")
    assert profile["n_parameters"] == 4 * 9 + 4 + 64 * 10 + 10
    assert profile["servers_possible"]
