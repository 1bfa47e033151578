# SPDX-License-Identifier: Apache-2.0
"""Trained models answer: the same file from any number of workers, after deaths and preemptions, as a forward pass."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from mlhub.registry.export.description import preprocessing
from mlhub.registry.export.source_code import builtin_source
from mlhub.runtime.data import readers
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.exported_model.inputs import read_rows
from mlhub.runtime.exported_model.model import ExportedModel
from mlhub.runtime.model.contract import load_contract
from mlhub.runtime.model.evaluation_metrics import EVALUATION_BATCH
from mlhub.runtime.prediction.output_parts import part_order
from mlhub.runtime.prediction.schema_compatibility import TrainedSchema, schema_for_model
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, PredictionSpec, TrainingSpec
from tests.datasets.files import customers
from tests.runtime.gang import Gang, write_blobs

PREDICT = PredictionSpec("predict")
SLOW = """
import time
import torch
from torch import nn

class Slow(nn.Linear):
    def forward(self, x):
        if not self.training:
            time.sleep(0.05)
        return super().forward(x)

def build_model(h):
    return nn.Sequential(Slow(h["input_shape"][0], h["n_classes"]))
"""


BIGRAMS = """
from torch import nn

def build_model(h):
    return nn.Embedding(h["vocabulary_size"], h["vocabulary_size"])
"""


def package(folder: Path, code: str) -> Path:
    path = folder / "code.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.py", code)
    return path


def replace_training(gang: Gang, training: TrainingSpec) -> Gang:
    gang.training = training
    return gang


def trained(gang: Gang) -> Gang:
    gang.start()
    assert gang.wait() == {"worker-0": ExitCode.DONE}, gang.logs()
    return gang


def asking(gang: Gang, prediction: PredictionSpec, *, batch_size: int = 32, **changes: Any) -> Gang:
    """What a trained gang's model predicts, by default on the same dataset."""
    format, data = changes.pop("format", gang.format), changes.pop("dataset", gang.dataset)
    trained_on = TrainedSchema(gang.format, readers.inspect(gang.format, gang.dataset, gang.options).schema)
    options = changes.pop("options", gang.options)
    given = TrainedSchema(format, readers.inspect(format, data, options).schema)
    schema = schema_for_model(trained_on, given, needs_targets=prediction.kind == "evaluate")
    return Gang(
        gang.folder / f"asked-{len(list(gang.folder.glob('asked-*')))}",
        data,
        format=format,
        model=replace(gang.model, weights="weights"),
        package=gang.package,
        training=replace(gang.training, batch_size=batch_size, epochs=1, strategy={}),
        prediction=prediction,
        weights_file=gang.work() / "artifacts" / "weights.safetensors",
        schema=schema,
    )


def answers(gang: Gang, *, n_workers: int = 1) -> Path:
    gang.start(n_workers=n_workers)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    (found,) = (gang.work() / "artifacts").glob("predictions.*")
    return found


def exported_model(gang: Gang, folder: Path) -> ExportedModel:
    """The trained built-in model of a gang as an export holds it."""
    schema = readers.inspect(gang.format, gang.dataset, gang.options).schema
    about = {"kind": "builtin", "entry": "exported", "seed": 0, "hyperparameters": gang.training.hyperparameters}
    (folder / "code").mkdir(parents=True)
    (folder / "code" / "exported.py").write_text(builtin_source(gang.model.entry))
    (folder / "model.json").write_text(json.dumps(about))
    (folder / "preprocessing.json").write_text(json.dumps(preprocessing(gang.format, schema)))
    return ExportedModel(folder, weights=gang.work() / "artifacts" / "weights.safetensors")


def forward(gang: Gang, schema: dict[str, Any]) -> torch.Tensor:
    """Of the whole dataset, in one process, without what is tested."""
    facts = readers.facts_of(schema)
    contract = load_contract(gang.model, gang.package, code=gang.folder / "code", facts=facts)
    model = contract.build_model(contract.settings(gang.training.hyperparameters, facts)).eval()
    model.load_state_dict(load_file(gang.work() / "artifacts" / "weights.safetensors"))
    examples = readers.open_all(gang.format, gang.dataset, schema)
    rows = np.arange(len(examples))
    with torch.no_grad():
        parts = [examples.batch(rows[i : i + EVALUATION_BATCH])[0] for i in range(0, len(rows), EVALUATION_BATCH)]
        return torch.cat([model(contract.preprocess(part)) for part in parts])


@pytest.fixture(scope="module")
def blobs(tmp_path_factory: pytest.TempPathFactory) -> Gang:
    folder = tmp_path_factory.mktemp("blobs")
    data = write_blobs(folder / "blobs.npz", n=500)
    return trained(Gang(folder, data, training=TrainingSpec(epochs=4, batch_size=32)))


@pytest.mark.slow
@pytest.mark.dist
def test_one_and_three_workers_give_the_same_rows_in_order_as_a_forward_pass_does(blobs: Gang) -> None:
    one, three = answers(asking(blobs, PREDICT)), answers(asking(blobs, PREDICT), n_workers=3)
    table = pq.read_table(one)
    assert table.equals(pq.read_table(three))
    assert table.column_names == ["row", "prediction", "probability_0", "probability_1", "probability_2"]
    assert table["row"].to_pylist() == list(range(500))
    expected = torch.softmax(forward(blobs, readers.inspect("npz", blobs.dataset, {}).schema), -1)
    found = np.stack([table[f"probability_{i}"].to_numpy() for i in range(3)], axis=1)
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-6)
    assert table["prediction"].to_pylist() == expected.argmax(-1).tolist()


@pytest.mark.slow
@pytest.mark.dist
def test_evaluating_what_training_held_out_repeats_its_last_evaluation(blobs: Gang) -> None:
    gang = asking(blobs, PredictionSpec("evaluate", examples="held_out"), batch_size=7)
    gang.start(n_workers=2)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    assert gang.result()["metrics"] == pytest.approx(blobs.result()["metrics"], rel=1e-6)


@pytest.mark.dist
def test_named_layers_outputs_come_back_in_their_shape_in_an_npz(blobs: Gang) -> None:
    path = answers(asking(blobs, PredictionSpec("predict", features=("0", "1"), output="npz")), n_workers=2)
    with np.load(path) as found:
        assert set(found.files) == {"row", "0", "1"}
        assert found["0"].shape == (500, 6)
        assert found["1"].shape[0] == 500
        assert found["1"].ndim == 2


@pytest.mark.slow
@pytest.mark.dist
def test_a_worker_killed_with_9_and_a_preemption_lose_nothing(tmp_path: Path) -> None:
    data = write_blobs(tmp_path / "blobs.npz", n=320)
    model = ModelSpec(kind="package", entry="model", package="code")
    training = TrainingSpec(epochs=1, batch_size=64)
    gang = trained(Gang(tmp_path, data, model=model, package=package(tmp_path, SLOW), training=training))
    whole = pq.read_table(answers(asking(gang, PREDICT, batch_size=8)))
    again = asking(gang, PREDICT, batch_size=8)
    parts = again.folder / "checkpoints" / "parts"
    again.start(n_workers=3)
    again.wait_for(lambda: len(list(parts.glob("part-*"))) > 5)
    again.processes["worker-2"].kill()
    again.wait_for(lambda: len(list(parts.glob("part-*"))) > 12)
    again.processes.pop("worker-2").wait()
    again.terminate()
    assert set(again.wait().values()) == {ExitCode.PREEMPTED}, again.logs()
    kept = {path: path.stat().st_mtime_ns for path in parts.glob("part-*")}
    assert 12 < len(kept) < 40
    assert whole.equals(pq.read_table(answers(again, n_workers=2)))
    assert {path: path.stat().st_mtime_ns for path in kept} == kept  # nothing was computed again


@pytest.mark.slow
@pytest.mark.dist
def test_the_living_take_over_what_a_dead_worker_left(tmp_path: Path, blobs: Gang) -> None:
    gang = asking(blobs, PREDICT, batch_size=16)
    gang.start(n_workers=2)
    gang.processes["worker-1"].kill()
    gang.processes.pop("worker-1").wait()
    assert gang.wait() == {"worker-0": ExitCode.DONE}, gang.logs()
    assert pq.read_table(gang.work() / "artifacts" / "predictions.parquet").num_rows == 500


@pytest.mark.dist
def test_an_ensemble_answers_by_all_its_members(tmp_path: Path) -> None:
    data = write_blobs(tmp_path / "blobs.npz", n=200)
    gang = Gang(tmp_path, data, training=TrainingSpec(epochs=3, batch_size=20, strategy={"name": "ensemble"}))
    gang.start(n_workers=2)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    asked = asking(gang, PredictionSpec("evaluate", examples="held_out"))
    asked.start()
    assert asked.wait() == {"worker-0": ExitCode.DONE}, asked.logs()
    assert asked.result()["metrics"] == pytest.approx(gang.result()["metrics"], rel=1e-6)


@pytest.mark.slow
@pytest.mark.dist
def test_a_table_without_its_target_is_answered_in_the_target_s_own_unit(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    size, kind = random.normal(50, 9, 300), random.choice(["brick", "wood"], 300)
    price = 1000 * size + 50_000 * (kind == "brick")
    pyarrow.csv.write_csv(pa.table({"size": size, "kind": kind, "price": price}), tmp_path / "houses.csv")
    training = TrainingSpec(epochs=40, batch_size=16, hyperparameters={"learning_rate": 0.01})
    gang = Gang(tmp_path, tmp_path / "houses.csv", format="csv", options={"target": "price"}, training=training)
    trained(gang)
    notes = [f"house {i}" for i in range(200)]  # too many words to learn from, and nothing is learned from them
    kinds, sizes = ["wood", "brick", "straw", None] * 50, [50.0, 50.0, 50.0, None] * 50
    asked = pa.table({"note": notes, "kind": kinds, "size": sizes})
    pq.write_table(asked, tmp_path / "asked.parquet")
    changes: dict[str, Any] = {"format": "parquet", "dataset": tmp_path / "asked.parquet"}
    path = answers(asking(gang, PREDICT, options={"targets": "none"}, **changes))
    found = pq.read_table(path)["prediction"].to_pylist()
    assert found[:2] == pytest.approx([50_000, 100_000], abs=12_000)
    assert np.isfinite(found).all()


@pytest.mark.slow
@pytest.mark.dist
def test_an_ordinary_table_is_trained_on_and_one_row_of_it_answered(tmp_path: Path) -> None:
    (tmp_path / "customers.csv").write_bytes(customers(300))
    training = TrainingSpec(epochs=20, batch_size=16, hyperparameters={"learning_rate": 0.01})
    options = {"target": "churned", "missing": {"income": "drop"}}
    gang = Gang(tmp_path, tmp_path / "customers.csv", format="csv", options=options, training=training)
    trained(gang)
    assert gang.result()["metrics"]["eval/accuracy"] > 0.95
    again = asking(gang, PredictionSpec("evaluate", examples="held_out"))
    again.start()
    assert again.wait() == {"worker-0": ExitCode.DONE}, again.logs()
    assert again.result()["metrics"] == pytest.approx(gang.result()["metrics"], rel=1e-6)

    row = tmp_path / "row.csv"
    row.write_text("city,signup,age,income,new\nRome,02/03/2021,?,,x\n")  # without an income, as training left out
    asked: dict[str, Any] = {"format": "csv", "dataset": row, "options": {"targets": "none"}}
    answered = pq.read_table(answers(asking(gang, PREDICT, **asked)))
    assert answered["prediction"].to_pylist() == ["yes"]
    (found,) = exported_model(gang, tmp_path / "exported").predict(read_rows(row))
    assert found["probabilities"]["yes"] == pytest.approx(answered["probability_yes"].to_pylist()[0], abs=1e-5)


@pytest.mark.slow
@pytest.mark.dist
def test_pictures_in_no_folders_are_answered_by_name(tmp_path: Path) -> None:
    def pictures(path: Path, names: list[tuple[str, int]]) -> Path:
        with zipfile.ZipFile(path, "w") as archive:
            for name, shade in names:
                out = io.BytesIO()
                Image.fromarray(np.full((9, 9), shade, dtype=np.uint8)).save(out, "PNG")
                archive.writestr(f"{name}.png", out.getvalue())
        return path

    trained_on = [(f"dark/{i}", i) for i in range(20)] + [(f"light/{i}", 255 - i) for i in range(20)]
    data = pictures(tmp_path / "trained_on.zip", trained_on)
    gang = Gang(tmp_path, data, format="image_folder", model=ModelSpec(kind="builtin", entry="small_cnn"))
    trained(replace_training(gang, TrainingSpec(epochs=8, batch_size=8)))
    asked = pictures(tmp_path / "asked.zip", [("b", 3), ("a", 250), ("c", 252)])
    found = pq.read_table(answers(asking(gang, PREDICT, dataset=asked, options={"targets": "none"})))
    assert found["file"].to_pylist() == ["a.png", "b.png", "c.png"]
    assert found["prediction"].to_pylist() == ["light", "dark", "light"]
    assert {"probability_dark", "probability_light"} < set(found.column_names)


@pytest.mark.slow
@pytest.mark.dist
def test_a_text_is_read_in_the_trained_vocabulary_and_evaluated_as_in_training(tmp_path: Path) -> None:
    trained_on, asked = tmp_path / "trained_on.txt", tmp_path / "asked.txt"
    trained_on.write_text("the cat sat on the mat. " * 60)
    asked.write_text("the mat sat on the cat. " * 30)
    options = {"tokenizer": "word", "context_length": 16}
    gang = Gang(tmp_path, trained_on, format="text", options=options, package=package(tmp_path, BIGRAMS))
    gang.model = ModelSpec(kind="package", entry="model", package="code")
    trained(replace_training(gang, TrainingSpec(epochs=2, batch_size=8)))
    again = asking(gang, PredictionSpec("evaluate", examples="held_out"))
    again.start()
    assert again.wait() == {"worker-0": ExitCode.DONE}, again.logs()
    assert again.result()["metrics"] == pytest.approx(gang.result()["metrics"], rel=1e-6)
    found = pq.read_table(answers(asking(gang, PREDICT, dataset=asked, options={"tokenizer": "byte"})))
    tokens = np.stack(found["prediction"].to_pylist())
    assert tokens.shape[1] == 16
    assert tokens.max() < readers.inspect("text", trained_on, options).schema["vocabulary_size"]


@pytest.mark.parametrize("format", ["npz", "csv", "image_folder"])
def test_examples_without_targets_read_part_by_part_are_those_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    path, random = tmp_path / "data", np.random.default_rng(0)
    if format == "npz":
        with path.open("wb") as file:
            np.savez(file, x=random.normal(size=(50, 3)), x_test=random.normal(size=(7, 3)))
    elif format == "csv":
        pyarrow.csv.write_csv(pa.table({"a": random.normal(size=50), "b": random.choice(["u", "v"], 50)}), path)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            for i in range(70):
                out = io.BytesIO()
                Image.fromarray(random.integers(0, 255, (8, 8), dtype=np.uint8)).save(out, "PNG")
                archive.writestr(f"{i}.png", out.getvalue())
    found = readers.inspect(format, path, {"targets": "none"})
    assert found.schema["task"] == "none"
    trained_on = found.schema | {"task": "classification", "classes": [0, 1], "n_classes": 2}
    if format == "csv":
        trained_on = readers.inspect(format, path, {"target": "b"}).schema
    schema = schema_for_model(
        TrainedSchema(format, trained_on), TrainedSchema(format, found.schema), needs_targets=False
    )
    at_once = readers.open_all(format, path, schema)
    monkeypatch.setattr(readers.prepared, "SMALL_BYTES", 0)
    mapped = readers.open_all(format, path, schema, cache=NodeCache(tmp_path / "cache"), sha256="0" * 64)
    rows = np.arange(len(at_once))
    assert len(mapped) == len(at_once) == schema["n_examples"]
    for one, other in zip(at_once.batch(rows), mapped.batch(rows), strict=True):
        torch.testing.assert_close(one, other)


def test_the_order_of_work_covers_every_part_for_everybody() -> None:
    for n, n_workers in ((1, 1), (1, 3), (10, 3), (64, 4)):
        orders = [part_order(n, rank=rank, n_workers=n_workers) for rank in range(n_workers)]
        assert all(set(order) == set(range(n)) for order in orders)
        own = [set(range(rank, n, n_workers)) for rank in range(n_workers)]
        assert all(set(order[: len(mine)]) == mine for order, mine in zip(orders, own, strict=True))


CSV_SCHEMA = {
    "task": "classification", "n_examples": 9, "target": "kind", "classes": ["a", "b"], "n_classes": 2,
    "columns": [{"name": "size", "kind": "number", "mean": 0.0, "std": 1.0}], "input_shape": [1],
}  # fmt: skip
NPZ_SCHEMA = {
    "task": "classification", "n_examples": 9, "classes": [0, 1], "n_classes": 2, "dtype": "float32",
    "input_shape": [4],
}  # fmt: skip


@pytest.mark.parametrize(
    ("format", "trained_on", "changes", "needs_targets", "message"),
    [
        ("csv", CSV_SCHEMA, {"columns": [{"name": "width", "kind": "number"}]}, False, "no column size"),
        ("csv", CSV_SCHEMA, {"columns": [{"name": "size", "kind": "category"}]}, False, "size holds words"),
        ("csv", CSV_SCHEMA, {"target": "sort"}, True, "target is sort"),
        ("csv", CSV_SCHEMA, {"task": "none", "target": None}, True, "no targets"),
        ("csv", CSV_SCHEMA, {"classes": ["a", "c"]}, True, "the class 'c'"),
        ("npz", NPZ_SCHEMA, {"input_shape": [5]}, False, "the shape \\[5\\]"),
        ("npz", NPZ_SCHEMA, {"dtype": "int64"}, False, "x is int64"),
    ],
)
def test_a_dataset_that_does_not_fit_is_refused_with_what_is_wrong(
    format: str, trained_on: dict[str, Any], changes: dict[str, Any], needs_targets: bool, message: str
) -> None:
    with pytest.raises(BadInputError, match=message) as refused:
        schema_for_model(
            TrainedSchema(format, trained_on), TrainedSchema(format, trained_on | changes), needs_targets=needs_targets
        )
    assert refused.value.field == "dataset"
    assert refused.value.remedy


def test_another_kind_of_file_is_refused() -> None:
    with pytest.raises(BadInputError, match="trained on csv, and the dataset is npz"):
        schema_for_model(TrainedSchema("csv", CSV_SCHEMA), TrainedSchema("npz", NPZ_SCHEMA), needs_targets=False)
