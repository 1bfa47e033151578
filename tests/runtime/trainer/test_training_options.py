# SPDX-License-Identifier: Apache-2.0
"""What a user may ask of the loop: schedules, clipping, accumulation, precision, early ends, images made anew."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.inspection.dry_run import try_out
from mlhub.runtime.model.hyperparameters import Settings
from mlhub.runtime.trainer.acceleration import check_machine
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, SyncMode, TrainingSpec
from tests.runtime.gang import Gang, write_blobs

SCHEDULED = {"lr_schedule": "cosine", "warmup_steps": 4, "final_learning_rate": 0.1, "accumulation_steps": 3}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_blobs(tmp_path_factory.mktemp("data") / "blobs.npz", n=67)


def trained(
    folder: Path, data: Path, *, mode: SyncMode = SyncMode.ALL_REDUCE, n_workers: int = 1, **more: object
) -> Gang:
    gang = Gang(folder, data, training=replace(TrainingSpec(epochs=3, batch_size=10), **more))
    gang.start(mode, n_workers=n_workers, n_servers=2 if mode is SyncMode.PARAMETER_SERVER else 0)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    return gang


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize(
    ("hyperparameters", "modes"),
    [(SCHEDULED, [SyncMode.ALL_REDUCE, SyncMode.PARAMETER_SERVER]), ({"clip_norm": 0.05}, [SyncMode.ALL_REDUCE])],
    ids=["scheduled", "clipped"],
)
def test_it_is_the_same_training_on_any_number_of_workers(
    hyperparameters: dict[str, object], modes: list[SyncMode], tmp_path: Path, data: Path
) -> None:
    given = {"optimizer": "sgd", **hyperparameters}
    alone = trained(tmp_path / "alone", data, hyperparameters=given).weights()
    plain = trained(tmp_path / "plain", data, hyperparameters={"optimizer": "sgd"}).weights()
    assert any(np.abs(alone[name] - plain[name]).max() > 1e-3 for name in alone)
    for mode in modes:
        ours = trained(tmp_path / mode, data, mode=mode, n_workers=2, hyperparameters=given).weights()
        for name, value in alone.items():
            np.testing.assert_allclose(ours[name], value, rtol=0, atol=2e-5, err_msg=name)


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_training_in_half_the_bits_learns_nearly_the_same(precision: str, tmp_path: Path, data: Path) -> None:
    given = {"precision": precision, "clip_norm": 5.0}
    found = trained(tmp_path, data, n_workers=2, epochs=8, hyperparameters=given)
    assert found.result()["metrics"]["eval/accuracy"] > 0.9
    assert all(value.dtype == np.float32 for value in found.weights().values())


@pytest.mark.dist
@pytest.mark.parametrize("strategy", [{}, {"name": "asp"}])
def test_training_ends_as_soon_as_the_target_is_reached(
    strategy: dict[str, object], tmp_path: Path, data: Path
) -> None:
    gang = trained(
        tmp_path,
        data,
        mode=SyncMode.PARAMETER_SERVER if strategy else SyncMode.ALL_REDUCE,
        n_workers=2,
        epochs=500,
        strategy=strategy,
        hyperparameters={"stop_at_target": True},
        target_metric="eval/accuracy",
        target_value=0.9,
    )
    assert gang.result()["metrics"]["eval/accuracy"] >= 0.9
    assert gang.result()["steps"] < 500 * 6
    assert "ends early" in gang.logs()


@pytest.mark.slow
@pytest.mark.dist
def test_images_are_augmented_while_training(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 80)
    x = (random.random((80, 1, 8, 8)) * 100 + 100 * y[:, None, None, None]).astype(np.uint8)
    np.savez(tmp_path / "images.npz", x=x, y=y)
    training = {"hyperparameters": {"augment": ["flip", "translate", "rotate", "noise"]}, "epochs": 8}
    found = trained(tmp_path / "job", tmp_path / "images.npz", n_workers=2, **training)
    assert found.result()["metrics"]["eval/accuracy"] > 0.9


@pytest.mark.slow
@pytest.mark.dist
def test_a_target_in_large_numbers_is_learned_and_predicted_in_its_own_unit(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    x = random.normal(0, 1, (600, 3)).astype(np.float32)
    np.savez(tmp_path / "prices.npz", x=x, y=200_000 + 50_000 * np.tanh(x[:, 0] + x[:, 1]))
    found = trained(tmp_path / "job", tmp_path / "prices.npz", epochs=20, batch_size=32).result()["metrics"]
    assert found["eval/loss"] < 0.1, "of the variance, not more than a tenth is left"
    assert 0 < found["eval/mean_absolute_error"] < 20_000


def tried(folder: Path, data: Path, **more: object) -> dict[str, object]:
    gang = Gang(folder, data, training=replace(TrainingSpec(epochs=3, batch_size=10), **more))
    return try_out(gang.spec(), {"data": data}, code=folder / "code")


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"strategy": {"name": "ssp", "staleness": -2}}, "strategy.staleness"),
        ({"hyperparameters": {"learning_rate": "fast"}}, "hyperparameters.learning_rate"),
        ({"hyperparameters": {"augment": ["flip"]}}, "hyperparameters.augment"),
        ({"hyperparameters": {"patience": 2}}, "hyperparameters.patience"),
    ],
)
def test_a_job_that_means_nothing_is_refused_before_it_starts(
    more: dict[str, object], field: str, tmp_path: Path, data: Path
) -> None:
    with pytest.raises(BadInputError) as refused:
        tried(tmp_path, data, **more)
    assert refused.value.field == field


def test_half_precision_leaves_only_all_reduce_to_choose(tmp_path: Path, data: Path) -> None:
    half = {"hyperparameters": {"precision": "float16"}}
    assert not tried(tmp_path / "a", data, **half)["servers_possible"]
    with pytest.raises(BadInputError) as refused:
        tried(tmp_path / "b", data, strategy={"name": "asp"}, **half)
    assert refused.value.field == "hyperparameters.precision"


def test_clipping_by_norm_leaves_only_all_reduce_to_choose(tmp_path: Path, data: Path) -> None:
    assert tried(tmp_path / "a", data)["servers_possible"]
    assert not tried(tmp_path / "b", data, hyperparameters={"clip_norm": 1.0})["servers_possible"]
    given = {"strategy": {"name": "asp"}, "hyperparameters": {"clip_norm": 1.0}}
    assert tried(tmp_path / "c", data, **given)["servers_possible"]


MODEL = """
from torch import nn

HYPERPARAMETERS = {"width": 8}


def build_model(given):
    return nn.Sequential(nn.Linear(6, given["width"]), nn.Linear(given["width"], given["n_classes"]))
"""


def test_a_package_may_declare_its_hyperparameters(tmp_path: Path, data: Path) -> None:
    package = tmp_path / "package.zip"
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("declaring_model.py", MODEL)

    def n_parameters(hyperparameters: dict[str, object]) -> object:
        gang = Gang(
            tmp_path,
            data,
            model=ModelSpec(kind="package", entry="declaring_model", package="code"),
            package=package,
            training=TrainingSpec(epochs=3, batch_size=10, hyperparameters=hyperparameters),
        )
        return try_out(gang.spec(), {"data": data, "code": package}, code=tmp_path / "code")["n_parameters"]

    assert n_parameters({}) == 8 * 7 + 3 * 9
    assert n_parameters({"width": 4, "optimizer": "sgd"}) == 4 * 7 + 3 * 5
    with pytest.raises(BadInputError) as refused:
        n_parameters({"depth": 4})
    assert refused.value.field == "hyperparameters.depth"


@pytest.mark.dist
@pytest.mark.slow
@pytest.mark.timeout(1800)  # a compiler runs
def test_a_compiled_model_trains_the_same_weights(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On servers, where its parameters are views of one vector."""
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)  # of a trainer in this process
    found = []
    for name, more in (("plain", {}), ("compiled", {"compile": True})):
        gang = Gang(tmp_path / name, data)
        gang.training = TrainingSpec(epochs=1, batch_size=18, hyperparameters={"optimizer": "sgd", **more})
        gang.start(SyncMode.PARAMETER_SERVER, n_workers=1, n_servers=1)
        assert set(gang.wait(seconds=1500).values()) == {ExitCode.DONE}, gang.logs()
        assert any((gang.work() / "cache").rglob("*.so")) == bool(more), "the model was compiled, or not"
        found.append(gang.weights())
    for name, value in found[0].items():
        np.testing.assert_allclose(found[1][name], value, rtol=0, atol=2e-5, err_msg=name)


@pytest.mark.dist
def test_images_in_channels_last_train_the_same_weights(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 40)
    x = (random.random((40, 3, 8, 8)) * 100 + 100 * y[:, None, None, None]).astype(np.uint8)
    np.savez(tmp_path / "images.npz", x=x, y=y)
    model = ModelSpec(kind="builtin", entry="small_cnn")
    found = []
    for name, more in (("plain", {}), ("last", {"memory_format": "channels_last"})):
        given = {"optimizer": "sgd", "learning_rate": 0.01, "dropout": 0.0, "width": 4, **more}
        gang = Gang(tmp_path / name, tmp_path / "images.npz", model=model)
        gang.training = TrainingSpec(epochs=2, batch_size=10, hyperparameters=given)
        gang.start()
        assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
        found.append(gang.weights())
    for name, value in found[0].items():
        np.testing.assert_allclose(found[1][name], value, rtol=0, atol=1e-4, err_msg=name)


@pytest.mark.parametrize(
    ("hyperparameters", "strategy", "problem"),
    [
        ({"compile": True}, {"name": "tensor"}, "calls parts of the model"),
        ({"memory_format": "channels_last"}, {}, "a memory format of images"),
    ],
)
def test_what_cannot_be_accelerated_so_is_refused(
    hyperparameters: dict[str, object], strategy: dict[str, object], problem: str, tmp_path: Path, data: Path
) -> None:
    training = TrainingSpec(epochs=1, batch_size=10, hyperparameters=hyperparameters, strategy=strategy)
    spec = Gang(tmp_path, data, training=training).spec()
    with pytest.raises(BadInputError, match=problem):
        try_out(spec, {"data": data}, code=tmp_path / "code")


def test_a_machine_without_a_compiler_refuses_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(BadInputError, match="no C\\+\\+ compiler") as refused:
        check_machine(Settings(compile=True), torch.device("cpu"))
    assert "Leave compile out" in refused.value.remedy


@pytest.mark.slow
@pytest.mark.dist
def test_metrics_of_the_whole_evaluation_set_are_the_same_on_any_number_of_workers(tmp_path: Path, data: Path) -> None:
    given = {"optimizer": "sgd", "learning_rate": 0.01, "metrics": ["auc", "confusion_matrix", "f1_micro"]}
    found = [
        trained(tmp_path / "alone", data, hyperparameters=given),
        trained(tmp_path / "three", data, n_workers=3, hyperparameters=given),
        trained(tmp_path / "servers", data, mode=SyncMode.PARAMETER_SERVER, n_workers=3, hyperparameters=given),
    ]
    alone, three, servers = ({k: v for k, v in g.result()["metrics"].items() if k != "eval/loss"} for g in found)
    assert sum(v for k, v in alone.items() if k.startswith("eval/confusion/")) == 13, "of 67 examples a fifth"
    assert alone["eval/f1_micro"] == pytest.approx(alone["eval/accuracy"])
    assert three == pytest.approx(alone, abs=1e-6)
    assert servers == pytest.approx(alone, abs=1e-6)
