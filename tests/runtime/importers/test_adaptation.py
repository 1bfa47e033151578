# SPDX-License-Identifier: Apache-2.0
"""A model from elsewhere meets a dataset: heads, shapes and units that fit, or what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from mlhub.runtime.errors import BadInputError
from tests.runtime.importers.test_keras import asked, files_of
from tests.runtime.importers.uploads import DIGITS, answers, contract, imported, package
from tests.runtime.importers.wire import node, onnx_model

RANDOM = np.random.default_rng(3)
W, B = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=3)


def linear(*end: bytes, shape: Any = ("n", 4), name: str = "h") -> dict[str, bytes]:
    """x W + b, then the end."""
    nodes = [node("Gemm", ["x", "w", "b"], "h" if end else "y"), *end]
    return {"m.onnx": onnx_model(nodes, shape=shape, constants={"w": W, "b": B})}


def facts(n_classes: int = 3, shape: Any = (4,)) -> dict[str, Any]:
    return {"task": "classification", "n_classes": n_classes, "input_shape": list(shape)}


SOFTMAX = node("Softmax", ["h"], "y")


def test_a_softmax_at_the_end_is_left_off_for_the_loss_and_kept_on_demand(tmp_path: Path, capfd: Any) -> None:
    x = torch.randn(5, 4)
    logits = x @ torch.tensor(W, dtype=torch.float32) + torch.tensor(B, dtype=torch.float32)
    torch.testing.assert_close(answers(imported(tmp_path, linear(SOFTMAX), facts()), x), logits)
    assert "the Softmax, a softmax at the end, is left off" in capfd.readouterr().out
    kept = answers(imported(tmp_path, linear(SOFTMAX), facts(), keep_softmax=True), x)
    torch.testing.assert_close(kept, logits.softmax(-1))


def test_one_sigmoid_for_two_classes_becomes_logits_of_both(tmp_path: Path) -> None:
    x, y = asked("nested")
    found = answers(imported(tmp_path, files_of("nested.keras"), facts(2, (2, 6, 6))), x)
    torch.testing.assert_close(found.softmax(-1), torch.cat([1 - y, y], 1))


def test_a_last_layer_of_another_width_is_refused_until_a_new_one_is_asked_for(tmp_path: Path, capfd: Any) -> None:
    with pytest.raises(BadInputError, match=r"gives \[10\] for an example; the dataset asks for 4") as refused:
        imported(tmp_path, files_of("lenet.keras"), facts(4, (1, 8, 8)))
    assert refused.value.field == "hyperparameters.replace_head"
    assert "replace_head: true" in refused.value.remedy
    kept = imported(tmp_path, files_of("lenet.keras"), DIGITS)
    model = imported(tmp_path, files_of("lenet.keras"), facts(4, (1, 8, 8)), replace_head=True)
    assert "dense_1 (10 outputs) is replaced by a new layer with 4" in capfd.readouterr().out
    x = torch.randn(3, 1, 8, 8)
    assert answers(model, x).shape == (3, 4)
    alike = [
        torch.equal(a, b) for a, b in zip(kept.parameters(), model.parameters(), strict=True) if a.shape == b.shape
    ]
    assert len(alike) == 8
    assert all(alike)


def test_a_head_that_is_no_layer_cannot_be_replaced(tmp_path: Path) -> None:
    files = {"m.onnx": onnx_model([node("Mul", ["x", "b"], "y")], shape=["n", 3], constants={"b": B})}
    with pytest.raises(BadInputError, match="The last layer with weights is the Mul"):
        imported(tmp_path, files, facts(5, (3,)), replace_head=True)


def test_a_new_head_after_one_sigmoid_has_a_logit_for_each_class(tmp_path: Path) -> None:
    model = imported(tmp_path, files_of("nested.keras"), facts(2, (2, 6, 6)), replace_head=True)
    assert answers(model, torch.randn(3, 2, 6, 6)).shape == (3, 2)


def test_only_the_head_learns_when_the_rest_is_frozen(tmp_path: Path) -> None:
    model = imported(tmp_path, files_of("lenet.keras"), DIGITS, freeze=True)
    assert [name for name, p in model.named_parameters() if p.requires_grad] == ["dense_1.weight", "dense_1.bias"]


def test_inputs_come_in_the_unit_that_the_model_expects(tmp_path: Path) -> None:
    files = {"m.onnx": onnx_model([node("Identity", ["x"], "y")], shape=["n", 3, 1, 1])}
    given = {"input_scale": 255, "input_shift": [-1.0, -2.0, -3.0], "reverse_channels": True}
    model = imported(tmp_path, files, {"task": "", "input_shape": [3, 1, 1]}, **given)
    found = answers(model, torch.tensor([0.0, 0.2, 1.0]).reshape(1, 3, 1, 1))
    torch.testing.assert_close(found.flatten(), torch.tensor([254.0, 49.0, -3.0]))


def test_examples_keep_the_unit_of_the_dataset(tmp_path: Path) -> None:
    found = contract(package(tmp_path, linear()), {**facts(), "input_mean": [5.0] * 4, "input_std": [2.0] * 4})
    x = torch.ones(2, 4)
    assert torch.equal(found.preprocess(x), x)
    assert found.preprocess(torch.ones(2, 4, dtype=torch.long)).dtype == torch.float32


@pytest.mark.parametrize(
    ("hyperparameters", "field"),
    [
        ({"input_scale": [1.0, 2.0]}, "hyperparameters.input_scale"),
        ({"input_shift": "low"}, "hyperparameters.input_shift"),
        ({"reverse_channels": True}, "hyperparameters.reverse_channels"),
        ({"replace_head": "yes"}, "hyperparameters.replace_head"),
        ({"width": 4}, "hyperparameters.width"),
    ],
)
def test_words_that_mean_nothing_are_refused(hyperparameters: dict[str, Any], field: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as refused:
        imported(tmp_path, linear(), facts(), **hyperparameters)
    assert refused.value.field == field


def test_flat_examples_and_images_fit_each_other_in_the_models_order(tmp_path: Path) -> None:
    flat = imported(tmp_path, linear(shape=["n", 4]), facts(3, (1, 2, 2)))
    x = torch.randn(2, 4)
    assert torch.equal(answers(flat, x.reshape(2, 1, 2, 2)), answers(imported(tmp_path, linear(), facts()), x))
    lenet = imported(tmp_path, files_of("lenet.keras"), DIGITS)
    unrolled = imported(tmp_path, files_of("lenet.keras"), {**DIGITS, "input_shape": [64]})
    x = torch.randn(2, 1, 8, 8)
    assert torch.equal(answers(unrolled, x.flatten(1)), answers(lenet, x))
    last = onnx_model([node("ReduceMean", ["x"], "y", axes=[1, 2], keepdims=0)], shape=["n", 2, 5, 3])
    turned = imported(tmp_path, {"m.onnx": last}, facts(3, (3, 2, 5)))
    x = torch.randn(2, 3, 2, 5)
    torch.testing.assert_close(answers(turned, x), x.mean((2, 3)))


def test_examples_of_another_shape_are_refused_with_both_shapes(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"built for examples of the shape \[4\]; those of the dataset have \[5\]"):
        imported(tmp_path, linear(), facts(3, (5,)))
    free = {"m.onnx": onnx_model([node("MatMul", ["x", "w"], "y")], shape=["n", "k"], constants={"w": W})}
    with pytest.raises(BadInputError, match=r"cannot be applied to examples of the shape \[5\]"):
        imported(tmp_path, free, facts(3, (5,)))


def test_answers_of_convolutions_become_rows(tmp_path: Path) -> None:
    nodes = [node("Conv", ["x", "w"], "c"), node("GlobalAveragePool", ["c"], "g"), node("Softmax", ["g"], "y", axis=1)]
    files = {"m.onnx": onnx_model(nodes, shape=["n", 1, "h", "w"], constants={"w": RANDOM.normal(size=(3, 1, 2, 2))})}
    assert answers(imported(tmp_path, files, facts(3, (1, 6, 6))), torch.randn(2, 1, 6, 6)).shape == (2, 3)
    model = imported(tmp_path, files, facts(7, (1, 6, 6)), replace_head=True)
    assert isinstance(model[0], nn.Conv2d)
    assert answers(model, torch.randn(2, 1, 6, 6)).shape == (2, 7)
