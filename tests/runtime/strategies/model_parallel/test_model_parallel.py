# SPDX-License-Identifier: Apache-2.0
"""Models that are divided among workers learn what one process learns."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from torch import nn

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.strategies.model_parallel.stages import layers_of, most_stages, stages
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, TrainingSpec
from tests.runtime.gang import Gang, write_blobs

MLP = ModelSpec(kind="builtin", entry="mlp")
TRAINING = TrainingSpec(
    epochs=3, batch_size=12, hyperparameters={"optimizer": "adamw", "clip_norm": 0.5, "width": 16, "n_layers": 3}
)


def test_layers_are_divided_so_that_the_heaviest_stage_is_light() -> None:
    inner = nn.Sequential(nn.Linear(10, 10), nn.ReLU())
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 10), nn.ReLU(), inner, nn.Linear(10, 10), nn.Linear(10, 2))
    layers = layers_of(model)
    assert [layer.name for layer in layers] == ["0", "1", "2", "3.0", "3.1", "4", "5"]
    assert most_stages(layers) == 4
    assert [[layer.name for layer in stage] for stage in stages(layers, 2)] == [
        ["0", "1", "2", "3.0", "3.1"],
        ["4", "5"],
    ]
    for n in (1, 3, 4):  # those of several stages a worker are as many stretches
        found = stages(layers, n)
        assert [layer for stage in found for layer in stage] == layers
        assert all(any(layer.weight for layer in stage) for stage in found)
        assert len(found) == n


@pytest.mark.parametrize(
    "model",
    [
        nn.Linear(2, 2),
        nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)),
        nn.Sequential(*[nn.Linear(2, 2)] * 2, nn.Linear(2, 2)),
    ],
    ids=["no row", "batch norm", "shared"],
)
def test_what_is_no_row_of_layers_is_refused_with_a_remedy(model: nn.Module) -> None:
    with pytest.raises(BadInputError) as refused:
        layers_of(model)
    assert refused.value.field == "build_model"
    assert "strategy" in refused.value.remedy


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_blobs(tmp_path_factory.mktemp("data") / "blobs.npz", n=67)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Gang:
    gang = Gang(tmp_path_factory.mktemp("alone"), data, training=TRAINING)
    gang.start()
    assert gang.wait() == {"worker-0": ExitCode.DONE}, gang.logs()
    return gang


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize(
    ("strategy", "n_workers"),
    [
        ({"name": "pipeline"}, 2),
        ({"name": "pipeline", "schedule": "gpipe", "micro_batches": 3}, 3),
        ({"name": "pipeline", "schedule": "interleaved_1f1b"}, 2),
        ({"name": "pipeline", "schedule": "interleaved_zero_bubble"}, 2),
        ({"name": "zero-bubble"}, 2),
        ({"name": "dualpipe"}, 2),
        ({"name": "mariana"}, 4),
        ({"name": "pipeline", "replicas": 2}, 3),
        ({"name": "tensor"}, 2),
        ({"name": "fully_sharded"}, 2),
        ({"name": "hybrid", "parts": 2}, 4),
    ],
    ids=lambda v: "-".join(str(x) for x in v.values()) if isinstance(v, dict) else str(v),
)
def test_a_divided_model_learns_what_one_process_learns(
    strategy: dict[str, object], n_workers: int, tmp_path: Path, data: Path, alone: Gang
) -> None:
    gang = Gang(tmp_path, data, training=replace(TRAINING, strategy=strategy))
    gang.start(n_workers=n_workers)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    for name, value in alone.weights().items():
        np.testing.assert_allclose(gang.weights()[name], value, rtol=0, atol=2e-5, err_msg=name)
    assert gang.result()["metrics"] == pytest.approx(alone.result()["metrics"], abs=1e-4)


TURNED = """
from torch import nn

class Turned(nn.Module):
    "Of the columns, as if they were a second batch."

    def __init__(self):
        super().__init__()
        self.inner = nn.Conv1d(1, 8, 1)

    def forward(self, x):
        return self.inner(x[:, None]).transpose(1, 2)

class Last(nn.Module):
    def forward(self, x):
        return x.transpose(1, 2).mean(1)

def build_model(given):
    return nn.Sequential(Turned(), nn.ReLU(), Last(), nn.Linear(6, given["n_classes"]))
"""


@pytest.mark.dist
def test_stages_may_hand_over_what_lies_scattered_in_memory(tmp_path: Path, data: Path) -> None:
    gang = Gang(tmp_path, data, model=ModelSpec(kind="package", entry="turned_model", package="code"))
    gang.package = tmp_path / "code.zip"
    with zipfile.ZipFile(gang.package, "w") as archive:
        archive.writestr("turned_model.py", TURNED)
    gang.training = TrainingSpec(epochs=1, batch_size=10, strategy={"name": "pipeline"})
    gang.start(n_workers=2)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()


@pytest.mark.dist
def test_a_model_of_fewer_layers_than_stages_is_refused_with_the_remedy(tmp_path: Path, data: Path) -> None:
    gang = Gang(tmp_path, data, training=replace(TRAINING, strategy={"name": "zero-bubble"}))
    gang.training = replace(gang.training, hyperparameters={"width": 16, "n_layers": 2})
    gang.start(n_workers=2)
    assert set(gang.wait().values()) == {ExitCode.USER_CODE}
    complaint = gang.reports("failure")[0]["message"]
    assert "4 stages, 2 a worker" in complaint
    assert "1f1b" in complaint


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize(
    ("name", "before", "after"), [("pipeline", 3, 2), ("zero-bubble", 2, 1), ("fully_sharded", 3, 2), ("tensor", 2, 1)]
)
def test_a_divided_training_is_resumed_by_another_number_of_workers(
    name: str, before: int, after: int, tmp_path: Path
) -> None:
    training = replace(TRAINING, epochs=2, batch_size=8, hyperparameters={"optimizer": "adam", "n_layers": 3})
    data = write_blobs(tmp_path / "blobs.npz", n=200)
    alone = Gang(tmp_path / "alone", data, training=training)
    alone.start()
    gang = Gang(tmp_path / "gang", data, training=replace(training, strategy={"name": name}))
    gang.start(n_workers=before, pause_after=10)
    gang.leave_paused()
    assert set(gang.wait().values()) == {ExitCode.PREEMPTED}, gang.logs()
    gang.start(n_workers=after)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    assert any(r["phase"] == "resumed" and r["detail"]["step"] >= 10 for r in gang.reports("phase"))
    assert set(alone.wait().values()) == {ExitCode.DONE}, alone.logs()
    for key, value in alone.weights().items():
        np.testing.assert_allclose(gang.weights()[key], value, rtol=0, atol=2e-3, err_msg=key)
