# SPDX-License-Identifier: Apache-2.0
"""Workers of parameter servers compute on their accelerator; here one whose memory the processor cannot reach."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mlhub.runtime.strategies.catalogue.schema import STRATEGIES
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, SyncMode, TrainingSpec
from tests.runtime import accelerator
from tests.runtime.gang import Gang, write_blobs

# the compiler takes ten seconds of an idle processor
pytestmark = [pytest.mark.slow, pytest.mark.dist, pytest.mark.timeout(900)]
TRAINING = TrainingSpec(
    epochs=6, batch_size=10, hyperparameters={"optimizer": "sgd", "learning_rate": 0.05, "momentum": 0.0}
)
ON_SERVERS = [name for name, s in STRATEGIES.items() if s.mode is SyncMode.PARAMETER_SERVER and name != "sparse_rows"]
MODEL = """
import os
import torch
from torch import nn

if os.environ.get("{variable}"):
    from tests.runtime import accelerator
    accelerator.load()

class Net(nn.Module):
    def __init__(self, n_inputs, n_classes):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_inputs, 16), nn.ReLU(), nn.Linear(16, n_classes))

    def forward(self, inputs):
        print("computes on", inputs.device.type, flush=True)
        return self.layers(inputs)

def build_model(h):
    return Net(h["input_shape"][0], h["n_classes"])
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return accelerator.build(tmp_path_factory.mktemp("accelerator"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_blobs(tmp_path_factory.mktemp("data") / "blobs.npz", n=120)


def run(
    folder: Path, data: Path, strategy: dict[str, object], *, library: Path | None, training: TrainingSpec = TRAINING,
    n_workers: int = 2, n_servers: int = 1,
) -> Gang:  # fmt: skip
    package = folder / "model.zip"
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("model.py", MODEL.replace("{variable}", accelerator.VARIABLE))
    gang = Gang(
        folder, data, model=ModelSpec(kind="package", entry="model", package="code"), package=package,
        training=replace(training, strategy=strategy),
        environment={} if library is None else {accelerator.VARIABLE: str(library)},
    )  # fmt: skip
    gang.start(SyncMode.PARAMETER_SERVER, n_workers=n_workers, n_servers=n_servers)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    printed = {line.split()[-1] for line in gang.logs().splitlines() if line.startswith("computes on")}
    assert printed == {"cpu" if library is None else accelerator.NAME}
    return gang


@pytest.mark.parametrize("name", ON_SERVERS)
def test_every_strategy_with_servers_learns_there(name: str, tmp_path: Path, data: Path, library: Path) -> None:
    training = replace(TRAINING, hyperparameters={"optimizer": "sgd", "learning_rate": 0.05})
    gang = run(tmp_path, data, {"name": name}, library=library, training=training)
    assert gang.result()["metrics"]["eval/accuracy"] > 0.9, gang.logs()


@pytest.mark.parametrize(
    ("strategy", "hyperparameters"),
    [
        ({"name": "bsp"}, {}),
        ({"name": "bsp"}, {"clip_norm": 0.5, "accumulation_steps": 2}),
        ({"name": "bsp", "compression": "top_k", "density": 0.2}, {}),
        ({"name": "bsp", "compression": "one_bit"}, {}),
    ],
    ids=["plain", "clipped and accumulated", "top_k", "one_bit"],
)
def test_it_trains_the_same_weights_there(
    strategy: dict[str, object], hyperparameters: dict[str, object], tmp_path: Path, data: Path, library: Path
) -> None:
    """Gradients are copied, clipped, accumulated and compressed on the way, and none is lost or sent twice."""
    training = replace(TRAINING, hyperparameters={**TRAINING.hyperparameters, **hyperparameters})
    gangs = []
    for place in (None, library):
        folder = tmp_path / ("processor" if place is None else "accelerator")
        folder.mkdir()
        gangs.append(run(folder, data, strategy, library=place, training=training, n_servers=2))
    for name, value in gangs[0].weights().items():
        np.testing.assert_allclose(gangs[1].weights()[name], value, rtol=0, atol=1e-6, err_msg=name)
