# SPDX-License-Identifier: Apache-2.0
"""Numbers in standard units: what models are given and are judged by, whatever unit the dataset is in."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import torch

from mlhub.runtime.data import readers
from mlhub.runtime.data.moments import Moments, training_mask
from mlhub.runtime.data.normalisation import ColumnScale, Standardised
from mlhub.runtime.model.contract import Contract, load_contract
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, TrainingSpec
from tests.runtime.gang import Gang

PLAIN = "from torch import nn\n\ndef build_model(given):\n    return nn.Linear(given['input_shape'][0], 1)\n"


def schema_of(path: Path, **arrays: Any) -> dict[str, Any]:
    np.savez(path, **arrays)
    return readers.inspect("npz", path, {}).schema


def contract(folder: Path, code: str, facts: dict[str, Any], *, name: str, **more: bool) -> Contract:
    with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
        archive.writestr(f"{name}.py", code)
    spec = ModelSpec(kind="package", entry=name, package="code")
    return load_contract(spec, folder / f"{name}.zip", code=folder / name, facts=facts, **more)


@pytest.mark.parametrize("n_at_once", [1, 7, 100])
@pytest.mark.parametrize("shape", [(5,), (2, 3, 4), (3, 4)])
def test_moments_of_parts_are_those_of_the_whole(n_at_once: int, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(1e4, 3, (50, *shape)).astype(np.float32)
    is_trained = training_mask(50, n_held_out=0)
    moments = Moments(shape, is_trained)
    for start in range(0, 50, n_at_once):
        moments.add(x[start : start + n_at_once])
    axes = {1: (0,), 3: (0, 2, 3), 2: (0, 1, 2)}[len(shape)]
    own = x[is_trained].astype(np.float64)
    found = moments.facts()
    np.testing.assert_allclose(found["input_mean"], np.ravel(own.mean(axes)), rtol=1e-9)
    np.testing.assert_allclose(found["input_std"], np.ravel(own.std(axes)), rtol=1e-6)


def test_what_is_held_out_reveals_nothing(tmp_path: Path) -> None:
    x, y = np.ones((20, 2), dtype=np.float32), np.arange(20) % 2
    schema = schema_of(tmp_path / "a.npz", x=x, y=y, x_test=x * 1e6, y_test=y)
    assert (schema["input_mean"], schema["input_std"]) == ([1.0, 1.0], [1.0, 1.0])


@pytest.mark.parametrize("format", ["csv", "parquet", "npz"])
def test_held_out_rows_change_no_scale_of_inputs_or_targets(format: str, tmp_path: Path) -> None:
    is_held_out = ~training_mask(50, n_held_out=0)
    random = np.random.default_rng(0)
    x, y = random.normal(5, 2, (50, 2)), random.normal(100, 7, 50)
    schemas = []
    for name, factor in (("as_it_is", 1.0), ("held_out_changed", 1000.0)):
        changed_x, changed_y = x.copy(), y.copy()
        changed_x[is_held_out] *= factor
        changed_y[is_held_out] *= factor
        path = tmp_path / f"{name}.{format}"
        table = pa.table({"a": changed_x[:, 0], "b": changed_x[:, 1], "y": changed_y})
        match format:
            case "csv":
                pyarrow.csv.write_csv(table, path)
            case "parquet":
                pyarrow.parquet.write_table(table, path)
            case _:
                np.savez(path, x=changed_x, y=changed_y)
        schemas.append(readers.inspect(format, path, {}).schema)
    assert schemas[0] == schemas[1]
    assert schemas[0]["target_mean"] == pytest.approx(y[~is_held_out].mean())
    if format != "npz":
        assert schemas[0]["columns"][0]["mean"] == pytest.approx(x[~is_held_out, 0].mean())
        assert schemas[0]["columns"][1]["std"] == pytest.approx(x[~is_held_out, 1].std())


def test_bytes_of_images_are_parts_of_255_and_a_number_for_each_channel(tmp_path: Path) -> None:
    x = np.zeros((40, 3, 4, 4), dtype=np.uint8)
    x[:, 1] = 255
    x[:, 2, ::2] = 255
    schema = schema_of(tmp_path / "a.npz", x=x, y=np.arange(40) % 2)
    np.testing.assert_allclose(schema["input_mean"], [0, 1, 0.5])
    np.testing.assert_allclose(schema["input_std"], [1, 1, 0.5])


def test_a_batch_comes_in_standard_units_and_nothing_wild_gets_through() -> None:
    usual = Standardised([10.0, 0.0], [2.0, 1.0], also_whole=False)
    found = usual(torch.tensor([[12.0, 0.5], [8.0, 1e9]]))
    torch.testing.assert_close(found, torch.tensor([[1.0, 0.5], [-1.0, 10.0]]))


def test_whole_numbers_may_name_things_and_stay_but_for_models_that_take_measurements(tmp_path: Path) -> None:
    x = np.arange(40).reshape(20, 2)
    facts = schema_of(tmp_path / "a.npz", x=x, y=np.linspace(0, 1, 20))
    given = torch.tensor(x)
    assert contract(tmp_path, PLAIN, facts, name="whole_plain").preprocess(given) is given
    builtin = load_contract(ModelSpec(kind="builtin", entry="mlp"), None, code=tmp_path, facts=facts)
    assert builtin.preprocess(given).is_floating_point()


def test_a_package_may_take_its_numbers_as_they_are(tmp_path: Path) -> None:
    facts = schema_of(tmp_path / "a.npz", x=np.random.default_rng(0).normal(50, 9, (20, 2)), y=np.linspace(0, 9, 20))
    given = torch.ones(3, 2)
    as_it_is = contract(tmp_path, PLAIN + "\ndef preprocess(x):\n    return x\n", facts, name="own_preprocess")
    assert as_it_is.preprocess(given) is given
    asked = contract(tmp_path, PLAIN, facts, name="asked", standardise=False)
    assert asked.preprocess(given) is given
    outputs, targets = torch.tensor([[1.0], [5.0]]), torch.tensor([1.0, 5.0])
    assert float(asked.loss(outputs, targets)) == 0.0


@pytest.mark.parametrize("is_own", [True, False])
def test_a_regression_is_judged_alike_in_either_unit(is_own: bool) -> None:
    unit, targets = ColumnScale(mean=200.0, std=50.0, is_own=is_own), torch.tensor([150.0, 250.0])
    at_mean = torch.tensor([[200.0], [200.0]]) if is_own else torch.zeros(2, 1)
    assert float(unit.loss(at_mean, targets)) == 1.0
    assert float(unit.metrics(at_mean, targets)["mean_absolute_error"]) == 50.0


@pytest.mark.slow
@pytest.mark.dist
def test_a_plain_network_learns_prices_from_raw_measurements(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    x = random.normal([1e3, 0.01], [300, 0.002], (600, 2)).astype(np.float32)
    y = 200_000 + 40 * (x[:, 0] - 1e3) + 5e6 * (x[:, 1] - 0.01)
    np.savez(tmp_path / "prices.npz", x=x, y=y)
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        archive.writestr("plain_linear.py", PLAIN)
    gang = Gang(
        tmp_path / "job",
        tmp_path / "prices.npz",
        model=ModelSpec(kind="package", entry="plain_linear", package="code"),
        package=tmp_path / "code.zip",
        training=TrainingSpec(epochs=20, batch_size=10, hyperparameters={"learning_rate": 0.01}),
    )
    gang.start()
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    found = gang.result()["metrics"]
    assert found["eval/loss"] < 0.05
    assert found["eval/mean_absolute_error"] < 4000
