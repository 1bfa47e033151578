# SPDX-License-Identifier: Apache-2.0
"""Every strategy on a real GPU, and two gangs that share one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from mlhub.runtime.strategies.catalogue.schema import AUTO, STRATEGIES, parse
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, SyncMode, TrainingSpec
from tests.runtime.gang import Gang, write_blobs

pytestmark = [pytest.mark.gpu, pytest.mark.dist, pytest.mark.timeout(600)]
TRAINING = TrainingSpec(epochs=6, batch_size=10, hyperparameters={"optimizer": "sgd", "learning_rate": 0.05})
BY_WORDS = ("sparse_rows",)  # needs a model with embeddings


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_blobs(tmp_path_factory.mktemp("data") / "blobs.npz", n=120)


def start(folder: Path, data: Path, training: TrainingSpec, *, n_workers: int) -> Gang:
    gang = Gang(folder, data, training=training)
    mode = parse(training.strategy).mode or SyncMode.ALL_REDUCE
    gang.start(mode, n_workers=n_workers, n_servers=1 if mode is SyncMode.PARAMETER_SERVER else 0)
    return gang


def finish(gang: Gang) -> None:
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    assert any(r["measured"].get("gpu_memory_bytes") for r in gang.reports("progress")), "it used no GPU"


def n_workers_of(name: str) -> int:
    """NCCL wants a GPU for each rank; workers of parameter servers may share one."""
    most = STRATEGIES[name].max_workers or 2
    return (
        min(2, most) if STRATEGIES[name].mode is SyncMode.PARAMETER_SERVER else min(most, torch.cuda.device_count(), 2)
    )


@pytest.mark.parametrize("name", sorted(set(STRATEGIES) - {AUTO, *BY_WORDS}))
def test_every_strategy_learns_on_a_gpu(name: str, tmp_path: Path, data: Path) -> None:
    gang = start(tmp_path, data, replace(TRAINING, strategy={"name": name}), n_workers=n_workers_of(name))
    finish(gang)
    assert gang.result()["metrics"]["eval/accuracy"] > 0.9, gang.logs()


def test_embeddings_on_servers_train_on_a_gpu(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("the quick brown fox jumps over the lazy dog. " * 200)
    training = TrainingSpec(
        epochs=1, batch_size=8, strategy={"name": "sparse_rows"},
        hyperparameters={"optimizer": "sgd", "momentum": 0.0, "learning_rate": 0.1},
    )  # fmt: skip
    gang = Gang(
        tmp_path, tmp_path / "text.txt", format="text", model=ModelSpec(kind="builtin", entry="tiny_transformer"),
        training=training,
    )  # fmt: skip
    gang.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=1)
    finish(gang)


def test_a_gradient_that_leaves_while_it_is_computed_trains_the_same_weights(tmp_path: Path, data: Path) -> None:
    """Copies on their own stream, pinned memory and the weights' way back lose nothing."""
    plain = {**TRAINING.hyperparameters, "momentum": 0.0}
    found = []
    for name in ("all_reduce", "bsp"):
        training = replace(TRAINING, hyperparameters=plain, strategy={"name": name})
        gang = start(tmp_path / name, data, training, n_workers=1 if name == "all_reduce" else 2)
        finish(gang)
        found.append(gang.weights())
    for name, value in found[0].items():
        np.testing.assert_allclose(found[1][name], value, rtol=0, atol=1e-4, err_msg=name)


def test_two_gangs_share_one_gpu(tmp_path: Path, data: Path) -> None:
    alone = start(tmp_path / "alone", data, TRAINING, n_workers=1)
    finish(alone)
    both = [start(tmp_path / name, data, TRAINING, n_workers=1) for name in ("first", "second")]
    for gang in both:
        finish(gang)
        for name, value in alone.weights().items():
            np.testing.assert_allclose(gang.weights()[name], value, rtol=0, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("hyperparameters", [{"precision": "bfloat16"}, {"precision": "float16"}, {"compile": True}])
def test_options_of_speed_learn_on_a_gpu(hyperparameters: dict[str, object], tmp_path: Path, data: Path) -> None:
    training = replace(TRAINING, hyperparameters={**TRAINING.hyperparameters, **hyperparameters})
    gang = start(tmp_path, data, training, n_workers=1)
    finish(gang)
    assert gang.result()["metrics"]["eval/accuracy"] > 0.9, gang.logs()
