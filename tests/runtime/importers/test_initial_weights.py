# SPDX-License-Identifier: Apache-2.0
"""Weights next to model.py: what the model begins with, when they fit; never code."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save
from torch import nn

from mlhub.runtime.errors import BadInputError
from tests.runtime.importers.uploads import contract, imported, package

CODE = """
from torch import nn
INITIAL_WEIGHTS = "weights/begin.pt"
HYPERPARAMETERS = {"width": 3}
def build_model(h): return nn.Sequential(nn.Linear(2, h["width"]), nn.ReLU(), nn.Linear(h["width"], h["n_classes"]))
"""
FACTS = {"task": "classification", "n_classes": 4, "input_shape": [2]}


def net(n_classes: int = 4) -> nn.Module:
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, n_classes))


def saved(value: Any) -> bytes:
    out = io.BytesIO()
    torch.save(value, out)
    return out.getvalue()


def files(content: bytes) -> dict[str, bytes]:
    return {"model.py": CODE.encode(), "weights/begin.pt": content}


@pytest.mark.parametrize(
    "write",
    [
        lambda state: saved(state),
        lambda state: save(state),
        lambda state: saved({"epoch": 3, "state_dict": {f"module.{k}": v for k, v in state.items()}}),
    ],
)
def test_the_model_begins_with_them(write: Any, tmp_path: Path) -> None:
    original = net()
    model = imported(tmp_path, files(write(original.state_dict())), FACTS)
    for name, value in original.state_dict().items():
        assert torch.equal(model.state_dict()[name], value), name
    assert contract(tmp_path / "package.zip", FACTS).begins_trained


def test_another_last_layer_is_new_when_asked_for(tmp_path: Path) -> None:
    original = net(9)
    with pytest.raises(BadInputError, match=r"2.weight has the shape \[9, 3\], in the model \[4, 3\]") as refused:
        imported(tmp_path, files(saved(original.state_dict())), FACTS)
    assert "replace_head" in refused.value.remedy
    model = imported(tmp_path, files(saved(original.state_dict())), FACTS, replace_head=True)
    assert torch.equal(model[0].weight, original[0].weight)
    assert model[2].weight.shape == (4, 3)


class Evil:
    def __reduce__(self) -> Any:
        return (open, ("evil", "w"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (saved(net()), "cannot be read as weights"),
        (saved(Evil()), "cannot be read as weights"),
        (saved({"epoch": 3}), "other things than tensors"),
        (b"nothing", "cannot be read as weights"),
    ],
)
def test_what_is_no_state_dict_is_refused_unread(content: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=words) as refused:
        contract(package(tmp_path, files(content)), FACTS)
    assert refused.value.field == "INITIAL_WEIGHTS"
    assert not Path("evil").exists()


def test_a_damaged_safetensors_file_is_to_be_written_again(tmp_path: Path) -> None:
    from safetensors.torch import save as packed

    whole = packed(net().state_dict())
    lying = whole[:8] + whole[8:].replace(b'"data_offsets":[0,', b'"data_offsets":[9,', 1)
    with pytest.raises(BadInputError, match="cannot be read as weights: Error while") as refused:
        contract(package(tmp_path, files(lying)), FACTS)
    assert "safetensors.torch.save_file" in refused.value.remedy
    assert "torch.save(" not in refused.value.remedy


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"'weights/begin.pt', which is no file of the package"):
        contract(package(tmp_path, {"model.py": CODE.encode()}), FACTS)


def test_weights_without_a_model_are_refused_with_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="weights, but no layers") as refused:
        imported(tmp_path, {"begin.pt": save(net().state_dict())}, FACTS)
    assert "INITIAL_WEIGHTS" in refused.value.remedy


def test_so_they_are_when_the_file_itself_is_uploaded(tmp_path: Path) -> None:
    path = tmp_path / "net.pt"  # a zip by itself
    path.write_bytes(saved(net().state_dict()))
    with pytest.raises(BadInputError, match="This is a PyTorch file: weights, but no layers"):
        contract(path, FACTS)
