# SPDX-License-Identifier: Apache-2.0
"""Caffe: nets written by hand answer as Caffe's formulas say, counted by hand or by plain torch."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from mlhub.runtime.errors import BadInputError
from tests.runtime.importers.caffemodels import caffemodel, old_caffemodel
from tests.runtime.importers.uploads import DIGITS, answers, imported

LENET = """
name: "LeNet"
layer { name: "data" type: "Input" top: "data" input_param { shape: { dim: 64 dim: 1 dim: 8 dim: 8 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
        param { lr_mult: 1 } convolution_param { num_output: 4 kernel_size: 3 pad: 1 } }
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
        pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
layer { name: "relu1" type: "ReLU" bottom: "pool1" top: "pool1" }
layer { name: "ip1" type: "InnerProduct" bottom: "pool1" top: "ip1" inner_product_param { num_output: 10 } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip1" bottom: "label" top: "accuracy" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip1" bottom: "label" top: "loss" }
"""
OLD = """
name: "LeNet" input: "data" input_dim: 1 input_dim: 1 input_dim: 8 input_dim: 8
layers { name: "conv1" type: CONVOLUTION bottom: "data" top: "conv1" blobs_lr: 1
         convolution_param { num_output: 4 kernel_size: 3 pad: 1 } }
layers { name: "pool1" type: POOLING bottom: "conv1" top: "pool1" pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
layers { name: "relu1" type: RELU bottom: "pool1" top: "pool1" }
layers { name: "ip1" type: INNER_PRODUCT bottom: "pool1" top: "ip1" inner_product_param { num_output: 10 } }
layers { name: "prob" type: SOFTMAX bottom: "ip1" top: "prob" }
"""
RANDOM = np.random.default_rng(0)
WEIGHTS = {
    "conv1": [RANDOM.normal(size=(4, 1, 3, 3)), RANDOM.normal(size=4)],
    "ip1": [RANDOM.normal(size=(10, 64)), RANDOM.normal(size=10)],
}
SHAPED = {"task": "", "input_shape": [1]}


def lenet(x: Tensor) -> Tensor:
    w = {name: [torch.tensor(b, dtype=torch.float32) for b in blobs] for name, blobs in WEIGHTS.items()}
    x = F.relu(F.max_pool2d(F.pad(F.conv2d(x, *w["conv1"], padding=1), (0, 1, 0, 1), value=-math.inf), 3, 2))
    return F.linear(x.flatten(1), *w["ip1"])


@pytest.mark.parametrize(
    ("text", "weights"),
    [(LENET, caffemodel(WEIGHTS)), (OLD, old_caffemodel(WEIGHTS, {"conv1": "Convolution", "ip1": "InnerProduct"}))],
    ids=["new", "old"],
)
def test_a_net_answers_as_its_formulas_say(text: str, weights: bytes, tmp_path: Path) -> None:
    files = {"net/lenet.prototxt": text.encode(), "net/lenet.caffemodel": weights}
    x = torch.randn(3, 1, 8, 8)
    model = imported(tmp_path, files, DIGITS)
    torch.testing.assert_close(answers(model, x), lenet(x), rtol=0, atol=1e-5)
    kept = answers(imported(tmp_path, files, DIGITS, keep_softmax=True), x)
    torch.testing.assert_close(kept, lenet(x).softmax(1), rtol=0, atol=1e-5)
    other = imported(tmp_path, files, {**DIGITS, "n_classes": 3}, replace_head=True)
    assert answers(other, x).shape == (3, 3)
    assert torch.equal(next(other.parameters()), next(model.parameters()))


def run(tmp_path: Path, layers: str, x: Any, **weights: Any) -> Tensor:
    given = torch.as_tensor(x, dtype=torch.float32)
    text = 'layer { name: "data" type: "Input" top: "x" }' + layers
    files = {"n.prototxt": text.encode(), "n.caffemodel": caffemodel(weights or {"none": []})}
    return answers(imported(tmp_path, files, {**SHAPED, "input_shape": list(given.shape[1:])}), given)


def layer(kind: str, parameters: str = "", *, of: str = "x", to: str = "y", name: str = "l") -> str:
    bottoms = " ".join(f'bottom: "{bottom}"' for bottom in of.split())
    tops = " ".join(f'top: "{top}"' for top in to.split())
    return f'layer {{ name: "{name}" type: "{kind}" {bottoms} {tops} {parameters} }}\n'


ROW = [[[[6.0, 2.0, 4.0, 8.0]]]]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("kernel_h: 1 kernel_w: 3 stride: 2", [6, 8]),  # rounded up: the last window is cut
        ("kernel_h: 1 kernel_w: 3 stride: 2 round_mode: FLOOR", [6]),
        ("pool: AVE kernel_h: 1 kernel_w: 3 stride: 2", [4, 6]),  # (6+2+4)/3, (4+8)/2
        ("pool: AVE kernel_h: 1 kernel_w: 3 stride_h: 1 stride_w: 2 pad_w: 1", [8 / 3, 14 / 3, 4]),  # 8/3, 14/3, 8/2
        ("pool: AVE global_pooling: true", [5]),
    ],
)
def test_windows_at_the_edge_are_as_caffe_cuts_them(parameters: str, expected: list[float], tmp_path: Path) -> None:
    found = run(tmp_path, layer("Pooling", f"pooling_param {{ {parameters} }}"), ROW)
    np.testing.assert_allclose(found.flatten(), expected, rtol=1e-6)


def test_normalisation_divides_by_the_size_of_the_window(tmp_path: Path) -> None:
    across = layer("LRN", "lrn_param { local_size: 3 alpha: 0.3 beta: 0.5 k: 2 }")
    found = run(tmp_path, across, [[[[1.0]], [[2.0]], [[3.0]]]])
    expected = [1 / math.sqrt(2 + 0.1 * 5), 2 / math.sqrt(2 + 0.1 * 14), 3 / math.sqrt(2 + 0.1 * 13)]
    np.testing.assert_allclose(found.flatten(), expected, rtol=1e-6)
    within = layer("LRN", "lrn_param { local_size: 3 alpha: 9 beta: 1 norm_region: WITHIN_CHANNEL }")
    found = run(tmp_path, within, [[[[1.0, 2.0]]]])  # 1 + 9 * (1 + 4) / 9
    np.testing.assert_allclose(found.flatten(), [1 / 6, 2 / 6], rtol=1e-6)


def test_statistics_are_sums_with_a_factor_and_scale_follows(tmp_path: Path) -> None:
    layers = layer("BatchNorm", "batch_norm_param { eps: 0 }", to="n", name="bn") + layer(
        "Scale", "scale_param { bias_term: true }", of="n", name="sc"
    )
    weights = {"bn": [[2.0, 8.0], [8.0, 2.0], [2.0]], "sc": [[3.0, 1.0], [0.5, 0.0]]}
    found = run(tmp_path, layers, [[[[5.0]], [[4.0]]]], **weights)  # means 1, 4; variances 4, 1
    np.testing.assert_allclose(found.flatten(), [3 * (5 - 1) / 2 + 0.5, 0.0], atol=1e-6)


def test_values_are_joined_weighed_and_cut(tmp_path: Path) -> None:
    layers = (
        layer("Slice", "slice_param { slice_point: 1 }", to="a b", name="cut")
        + layer("Eltwise", "eltwise_param { coeff: 1 coeff: -2 }", of="a b", to="c", name="sum")
        + layer("Eltwise", "eltwise_param { operation: MAX }", of="a b", to="d", name="most")
        + layer("Concat", of="c d", to="e", name="both")
        + layer("Power", "power_param { power: 2 scale: 3 shift: 1 }", of="e", name="power")
    )
    found = run(tmp_path, layers, [[[[1.0]], [[4.0]]]])  # a 1, b 4: c -7, d 4
    assert found.flatten().tolist() == [400, 169]


def test_groups_strides_and_turned_products_find_their_weights(tmp_path: Path) -> None:
    x = torch.randn(2, 4, 6, 6)
    w, b = RANDOM.normal(size=(6, 2, 3, 2)), RANDOM.normal(size=6)
    conv = "num_output: 6 group: 2 kernel_h: 3 kernel_w: 2 stride: 2 pad_h: 1 pad_w: 0"
    found = run(tmp_path, layer("Convolution", f"convolution_param {{ {conv} }}"), x, l=[w, b])
    expected = F.conv2d(x, torch.tensor(w).float(), torch.tensor(b).float(), stride=2, padding=(1, 0), groups=2)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
    w = RANDOM.normal(size=(4, 3, 2, 2))
    deconv = "convolution_param { num_output: 3 kernel_size: 2 stride: 2 bias_term: false }"
    found = run(tmp_path, layer("Deconvolution", deconv), x, l=[w])
    torch.testing.assert_close(found, F.conv_transpose2d(x, torch.tensor(w).float(), stride=2), rtol=0, atol=1e-5)
    w = RANDOM.normal(size=(144, 3))
    turned = "inner_product_param { num_output: 3 transpose: true bias_term: false }"
    found = run(tmp_path, layer("InnerProduct", turned), x, l=[w])
    torch.testing.assert_close(found, x.flatten(1) @ torch.tensor(w).float(), rtol=0, atol=1e-4)


def test_slopes_and_other_activations_follow_their_formulas(tmp_path: Path) -> None:
    x = [[[[-2.0]], [[3.0]]]]
    assert run(tmp_path, layer("PReLU"), x, l=[[0.5, 0.1]]).flatten().tolist() == [-1, 3]
    leaky = run(tmp_path, layer("ReLU", "relu_param { negative_slope: 0.25 }"), x)
    assert leaky.flatten().tolist() == [-0.5, 3]
    np.testing.assert_allclose(run(tmp_path, layer("BNLL"), x).flatten(), np.log1p(np.exp([-2, 3])), rtol=1e-5)


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        (layer("LSTM"), "The Caffe layer LSTM (l) cannot be imported"),
        (layer("Python"), "The Caffe layer Python (l)"),
        (layer("Convolution", "convolution_param { num_output: 2 kernel_size: 3 }"), "no weights for it"),
        (layer("ReLU", of="elsewhere"), "reads 'elsewhere'"),
        (layer("ReLU") + layer("TanH", to="z", name="m"), "several outputs: y, z"),
        (layer("Pooling", "pooling_param { pool: STOCHASTIC kernel_size: 2 }"), "stochastic"),
        ("layer { name: ", "is no net of Caffe"),
    ],
)
def test_what_cannot_be_imported_is_named_with_a_remedy(layers: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as refused:
        run(tmp_path, layers, ROW)
    assert words in refused.value.message
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"n.prototxt": LENET.encode()}, "there are 1 and 0"),
        ({"n.caffemodel": caffemodel(WEIGHTS)}, "there are 0 and 1"),
        ({"n.prototxt": LENET.encode(), "n.caffemodel": caffemodel(WEIGHTS)[:-30]}, "no whole caffemodel"),
        (
            {"n.prototxt": LENET.encode(), "n.caffemodel": caffemodel({**WEIGHTS, "ip1": [[1.0] * 30, [0.0] * 10]})},
            "Linear|size|shape",
        ),
    ],
)
def test_half_a_model_is_reported_as_such(files: dict[str, bytes], words: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=words):
        imported(tmp_path, files, DIGITS)
