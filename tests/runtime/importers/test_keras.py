# SPDX-License-Identifier: Apache-2.0
"""Keras: files that Keras wrote (make_keras.py) answer as Keras did; what cannot be read is refused by name."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from mlhub.runtime.errors import BadInputError
from tests.runtime.importers.uploads import answers, contract, imported, package

FOLDER = Path(__file__).parent / "keras_models"
SHAPES = {"lenet": [1, 8, 8], "residual": [3, 7, 9], "nested": [2, 6, 6], "words": [12]}


def files_of(name: str) -> dict[str, bytes]:
    """What is in a .keras file, or an .h5 file as the upload wraps it."""
    path = FOLDER / name
    if path.suffix == ".h5":
        return {path.name: path.read_bytes()}
    with zipfile.ZipFile(path) as archive:
        return {member: archive.read(member) for member in archive.namelist()}


def asked(name: str) -> tuple[Tensor, Tensor]:
    """Inputs, images channels first, and what Keras answered."""
    with np.load(FOLDER / "answers.npz") as arrays:
        x, y = torch.from_numpy(arrays[f"{name}_x"]), torch.from_numpy(arrays[f"{name}_y"])
    return (x.movedim(-1, 1) if x.dim() == 4 else x), y


@pytest.mark.parametrize("file", ["lenet.keras", "residual.keras", "nested.keras", "nested.h5", "words.keras"])
def test_what_keras_wrote_answers_as_keras_did(file: str, tmp_path: Path) -> None:
    name = file.partition(".")[0]
    x, y = asked(name)
    model = imported(tmp_path, files_of(file), {"task": "", "input_shape": SHAPES[name]})
    torch.testing.assert_close(answers(model, x), y, rtol=0, atol=1e-5)


def test_a_row_of_layers_is_one_that_pipelines_can_divide(tmp_path: Path) -> None:
    facts = {"task": "classification", "n_classes": 10, "input_shape": SHAPES["lenet"]}
    model = imported(tmp_path, files_of("lenet.keras"), facts)
    assert isinstance(model, nn.Sequential)
    assert [type(m).__name__ for m in model][:3] == ["Conv2d", "ReLU", "MaxPool2d"]


def test_running_statistics_move_at_keras_pace(tmp_path: Path) -> None:
    model = imported(tmp_path, files_of("residual.keras"), {"task": "", "input_shape": SHAPES["residual"]})
    norm = next(m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm))
    assert (norm.eps, norm.momentum) == (1e-3, pytest.approx(0.1))
    assert torch.equal(norm.weight, torch.ones(4))  # made without scale, so it begins at one


def test_what_is_found_is_reported(tmp_path: Path) -> None:
    from mlhub.runtime.model.packages import find_module

    found = find_module("package", "model", package(tmp_path, files_of("lenet.keras")), code=tmp_path / "code")
    assert found.__doc__ == "Imported from Keras: 12 layers, 704 weights. Examples of the shape [1, 8, 8]."
    assert contract(tmp_path / "package.zip").begins_trained


def changed(files: dict[str, bytes], change: Any) -> dict[str, bytes]:
    """With another configuration."""
    config = json.loads(files["config.json"])
    change(config["config"]["layers"])
    return {**files, "config.json": json.dumps(config).encode()}


def of_kind(kind: str, **more: Any) -> Any:
    def change(layers: list[dict[str, Any]]) -> None:
        layers[1] |= {"class_name": kind, "config": {**layers[1]["config"], **more}}

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (of_kind("Lambda"), "The Keras layer Lambda (conv2d) cannot be imported"),
        (of_kind("LSTM"), "The Keras layer LSTM"),
        (of_kind("Conv2D", data_format="channels_first"), "data_format is channels_first"),
        (of_kind("Conv2D", activation="my_own"), "The Keras activation my_own (conv2d)"),
        (of_kind("Conv2D", use_bias=False), "it has 2 weights in the file, and needs 1"),
    ],
)
def test_what_cannot_be_imported_is_named_with_a_remedy(change: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as refused:
        imported(tmp_path, changed(files_of("lenet.keras"), change), {"task": "", "input_shape": [1, 8, 8]})
    assert words in refused.value.message
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"config.json": b'{"class_name": "Sequential", "config": {}}'}, "no model.weights.h5"),
        ({"model.h5": b"\x89HDF\r\n\x1a\n" + bytes(500)}, "no whole HDF5 file"),
        ({**files_of("lenet.keras"), "model.weights.h5": b"x"}, "no whole HDF5 file"),
    ],
)
def test_half_a_model_is_reported_as_such(files: dict[str, bytes], words: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=words):
        imported(tmp_path, files, {"task": "", "input_shape": [1, 8, 8]})


def test_a_model_of_own_classes_is_refused(tmp_path: Path) -> None:
    files = {**files_of("lenet.keras"), "config.json": b'{"class_name": "MyNet", "config": {}}'}
    with pytest.raises(BadInputError, match="is a MyNet: its layers are code"):
        imported(tmp_path, files, {"task": "", "input_shape": [1, 8, 8]})


def test_a_row_without_the_shape_of_its_inputs_is_refused(tmp_path: Path) -> None:
    config = json.loads(files_of("lenet.keras")["config.json"])
    config["config"] = {"name": "row", "layers": config["config"]["layers"][1:]}
    files = {**files_of("lenet.keras"), "config.json": json.dumps(config).encode()}
    with pytest.raises(BadInputError, match="does not say the shape of inputs"):
        imported(tmp_path, files, {"task": "", "input_shape": [1, 8, 8]})
