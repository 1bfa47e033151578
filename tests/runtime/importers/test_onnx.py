# SPDX-License-Identifier: Apache-2.0
"""ONNX: what torch exports answers as it did; what others write, as the formulas say; the rest is refused by name."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from mlhub.runtime.errors import BadInputError
from tests.runtime.importers.uploads import answers, imported
from tests.runtime.importers.wire import message, node, onnx_model

FREE = {"task": "", "input_shape": [1]}  # a dataset that asks for nothing


class Residual(nn.Module):
    """Branches that are added and joined, and a view that is computed from a shape."""

    def __init__(self) -> None:
        super().__init__()
        self.begin = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.SiLU())
        self.deep = nn.Sequential(nn.Conv2d(6, 6, 3, padding=1, groups=2), nn.GroupNorm(2, 6), nn.ReLU6())
        self.pool = nn.AvgPool2d(3, stride=2, padding=1)
        self.end = nn.Linear(12, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.begin(x)
        x = self.pool(x + self.deep(x))
        x = torch.cat([x, x.tanh()], 1).mean((2, 3))
        return self.end(x.view(x.size(0), -1)).softmax(-1)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.attend, self.end = (
            nn.LayerNorm(8),
            nn.MultiheadAttention(8, 2, batch_first=True),
            nn.Linear(40, 3),
        )

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        y, _ = self.attend(y, y, y, need_weights=False)
        return self.end((x + y).flatten(1))


NETWORKS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "mlp": (lambda: nn.Sequential(nn.Linear(6, 9), nn.GELU(), nn.Linear(9, 4), nn.LogSoftmax(-1)), (6,)),
    "lenet": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 4, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(4, 8, 3, stride=2), nn.LeakyReLU(0.2),
            nn.Flatten(), nn.Dropout(), nn.Linear(8 * 4, 10),
        ),
        (1, 11, 11),
    ),
    "vgg": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2, ceil_mode=True),
            nn.Conv2d(4, 6, 3, padding=1), nn.PReLU(6), nn.MaxPool2d(3, 2, 1),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 5), nn.Hardswish(), nn.Linear(5, 5),
        ),
        (3, 9, 9),
    ),
    "residual": (Residual, (3, 8, 8)),
    "attention": (Attention, (5, 8)),
    "upwards": (lambda: nn.Sequential(nn.ConvTranspose2d(2, 3, 3, 2, output_padding=1), nn.Sigmoid()), (2, 4, 4)),
}  # fmt: skip


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Any:
    """torch's own exporter. Its last step only asks the onnx package for functions, of which these models have none."""
    from torch.onnx._internal.torchscript_exporter import onnx_proto_utils

    monkeypatch.setattr(onnx_proto_utils, "_add_onnxscript_fn", lambda found, _: found)

    def export(model: nn.Module, x: Tensor, **options: Any) -> bytes:
        out = io.BytesIO()
        torch.onnx.export(model, (x,), out, dynamo=False, **options)
        return out.getvalue()

    return export


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("opset", [11, 18])
@pytest.mark.parametrize("name", NETWORKS)
def test_what_torch_exports_answers_as_before(name: str, opset: int, exported: Any, tmp_path: Path) -> None:
    torch.manual_seed(0)
    make, shape = NETWORKS[name]
    original = make().eval()
    for _, buffer in original.named_buffers():
        if buffer.is_floating_point():
            buffer.uniform_(0.5, 1.5)
    free = {"input_names": ["x"], "dynamic_axes": {"x": {0: "n"}}} if opset > 11 or name == "attention" else {}
    opset = 14 if name == "attention" and opset == 11 else opset
    content = exported(original, torch.randn(2, *shape), opset_version=opset, **free)
    model = imported(tmp_path, {"net.onnx": content}, {"task": "", "input_shape": list(shape)})
    x = torch.randn(5, *shape)
    torch.testing.assert_close(answers(model, x), answers(original, x), rtol=0, atol=1e-5)
    assert sum(p.numel() for p in model.parameters()) >= sum(
        p.numel()
        for m in original.modules()
        if isinstance(m, nn.Linear | nn.Conv2d)
        for p in m.parameters(recurse=False)
    )


@pytest.mark.filterwarnings("ignore")
def test_batch_normalisation_goes_on_learning_at_its_own_pace(exported: Any, tmp_path: Path) -> None:
    original = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2, momentum=0.3), nn.ReLU()).train()
    content = exported(
        original, torch.randn(4, 1, 5, 5), training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False
    )
    with pytest.raises(BadInputError, match=r"BatchNormalization .* exported in training mode"):
        imported(tmp_path, {"net.onnx": content}, {"task": "", "input_shape": [1, 5, 5]})
    values = {"w": np.ones(2), "b": np.zeros(2), "m": np.zeros(2), "v": np.ones(2)}
    normal = node("BatchNormalization", ["x", "w", "b", "m", "v"], "y", momentum=0.7)
    model = imported(
        tmp_path,
        {"n.onnx": onnx_model([normal], shape=["n", 2, 5, 5], constants=values)},
        {**FREE, "input_shape": [2, 5, 5]},
    )
    x = torch.randn(4, 2, 5, 5) + 3
    model.train()(x)
    torch.testing.assert_close(
        dict(model.named_buffers())["the_BatchNormalization.running_mean"], 0.3 * x.mean((0, 2, 3))
    )


def run(
    tmp_path: Path, nodes: list[bytes], x: Any, *, opset: int = 17, is_raw: bool = True, **constants: Any
) -> Tensor:
    given = torch.as_tensor(x, dtype=torch.float32)
    content = onnx_model(
        nodes, shape=["n", *given.shape[1:]], constants={k: np.asarray(v) for k, v in constants.items()}, opset=opset,
        is_raw=is_raw,
    )  # fmt: skip
    return answers(imported(tmp_path, {"m.onnx": content}, {**FREE, "input_shape": list(given.shape[1:])}), given)


def test_uneven_and_same_padding_are_counted_by_hand(tmp_path: Path) -> None:
    x = [[[[1.0, 2.0, 3.0, 4.0]]]]
    ones = np.ones((1, 1, 1, 2))
    after = node("Conv", ["x", "w"], "y", pads=[0, 0, 0, 1])
    assert run(tmp_path, [after], x, w=ones).tolist() == [[[[3, 5, 7, 4]]]]
    upper, lower = (node("Conv", ["x", "w"], "y", auto_pad=f"SAME_{side}") for side in ("UPPER", "LOWER"))
    assert run(tmp_path, [upper], x, w=ones).tolist() == [[[[3, 5, 7, 4]]]]
    assert run(tmp_path, [lower], x, w=ones).tolist() == [[[[1, 3, 5, 7]]]]
    strided = node("MaxPool", ["x"], "y", kernel_shape=[1, 3], strides=[1, 3], auto_pad="SAME_UPPER")
    assert run(tmp_path, [strided], [[[[-4.0, -3.0, -2.0, -1.0]]]]).tolist() == [[[[-3, -1]]]]


def test_means_count_padding_only_when_they_say_so(tmp_path: Path) -> None:
    x = [[[[6.0, 12.0, 18.0]]]]
    for counts, expected in ((0, [9, 12, 15]), (1, [6, 12, 10])):
        pool = node("AveragePool", ["x"], "y", kernel_shape=[1, 3], pads=[0, 1, 0, 1], count_include_pad=counts)
        assert run(tmp_path, [pool], x).tolist() == [[[expected]]]
    uneven = node("AveragePool", ["x"], "y", kernel_shape=[1, 2], pads=[0, 0, 0, 1])
    assert run(tmp_path, [uneven], x).tolist() == [[[[9, 15, 18]]]]


def test_products_scale_turn_and_shift(tmp_path: Path) -> None:
    product = node("Gemm", ["x", "b", "c"], "y", alpha=2.0, beta=3.0)
    assert run(tmp_path, [product], [[1, 2]], b=[[1.0, 0, 2], [0, 1, 1]], c=[1.0, 2, 3]).tolist() == [[5, 10, 17]]
    turned = node("Gemm", ["x", "b", "c"], "y", transB=1)
    assert run(tmp_path, [turned], [[1, 2]], b=[[1.0, 0], [0, 1], [2, 1]], c=2.0).tolist() == [[3, 4, 6]]


def test_a_vector_after_a_product_is_the_layers_bias(tmp_path: Path) -> None:
    nodes = [node("MatMul", ["x", "w"], "h"), node("Add", ["b", "h"], "y")]
    content = onnx_model(nodes, shape=["n", 2], constants={"w": np.eye(2) * 3, "b": np.array([1.0, -1.0])})
    model = imported(tmp_path, {"m.onnx": content}, {**FREE, "input_shape": [2]})
    assert [type(m) for m in model] == [nn.Linear]
    assert answers(model, torch.tensor([[1.0, 2.0]])).tolist() == [[4, 5]]


def test_normalisation_over_channels_follows_its_formula(tmp_path: Path) -> None:
    lrn = node("LRN", ["x"], "y", size=3, alpha=0.3, beta=0.5, bias=2.0)
    found = run(tmp_path, [lrn], [[[[1.0]], [[2.0]], [[3.0]]]])
    expected = [1 / math.sqrt(2 + 0.1 * 5), 2 / math.sqrt(2 + 0.1 * 14), 3 / math.sqrt(2 + 0.1 * 13)]
    np.testing.assert_allclose(found.flatten(), expected, rtol=1e-6)


def test_old_softmax_is_over_all_that_follows(tmp_path: Path) -> None:
    x = [[[1.0, 2.0], [3.0, 4.0]]]
    old = run(tmp_path, [node("Softmax", ["x"], "y", axis=1)], x, opset=11)
    np.testing.assert_allclose(old, torch.tensor([1.0, 2, 3, 4]).softmax(0).reshape(1, 2, 2), rtol=1e-6)
    new = run(tmp_path, [node("Softmax", ["x"], "y", axis=1)], x, opset=13)
    np.testing.assert_allclose(new, torch.tensor(x).softmax(1), rtol=1e-6)


@pytest.mark.parametrize("is_raw", [True, False])
def test_shapes_are_computed_for_any_size_of_batch(is_raw: bool, tmp_path: Path) -> None:
    nodes = [
        node("Shape", ["x"], "s"), node("Gather", ["s", "zero"], "n", axis=0), node("Unsqueeze", ["n", "zero"], "n1"),
        node("Concat", ["n1", "rest"], "to", axis=0), node("Reshape", ["x", "to"], "r"),
        node("Slice", ["r", "one", "far", "one"], "z"), node("Transpose", ["z"], "y", perm=[0, 1]),
    ]  # fmt: skip
    constants = {"zero": np.array([0]), "rest": np.array([-1]), "one": np.array([1]), "far": np.array([2**31])}
    nodes[1] = node("Gather", ["s", "none"], "n", axis=0)
    constants["none"] = np.array(0)
    for n in (1, 4):
        x = torch.arange(6.0 * n).reshape(n, 2, 3)
        assert torch.equal(run(tmp_path, nodes, x, is_raw=is_raw, **constants), x.flatten(1)[:, 1:])


def test_a_shape_that_was_exported_for_one_batch_fits_all(tmp_path: Path) -> None:
    content = onnx_model([node("Reshape", ["x", "to"], "y")], shape=[2, 2, 3], constants={"to": np.array([2, 6])})
    model = imported(tmp_path, {"m.onnx": content}, {**FREE, "input_shape": [2, 3]})
    assert answers(model, torch.zeros(7, 2, 3)).shape == (7, 6)


def test_weights_in_a_file_next_to_the_model_are_read(tmp_path: Path) -> None:
    values = np.array([[2.0, 0], [0, 4.0]], "<f4")
    pairs = (message((1, k), (2, v)) for k, v in (("location", "w.bin"), ("offset", "8"), ("length", "16")))
    tensor = message((1, 2), (1, 2), (2, 1), (8, "w"), *((13, pair) for pair in pairs), (14, 1))
    content = onnx_model([node("MatMul", ["x", "w"], "y")], shape=["n", 2], tensors=[tensor])
    with pytest.raises(BadInputError, match=r"'w.bin', which is not there") as refused:
        imported(tmp_path, {"m.onnx": content}, {**FREE, "input_shape": [2]})
    assert "side by side" in refused.value.remedy
    model = imported(tmp_path, {"m.onnx": content, "w.bin": bytes(8) + values.tobytes()}, {**FREE, "input_shape": [2]})
    assert answers(model, torch.tensor([[1.0, 1.0]])).tolist() == [[2, 4]]


@pytest.mark.parametrize(
    ("nodes", "options", "words"),
    [
        ([node("LSTM", ["x"], "y")], {}, "The ONNX operator LSTM (the LSTM) cannot be imported"),
        ([node("Gelu", ["x"], "y", domain="com.example")], {}, "com.example.Gelu"),
        ([node("Conv", ["x", "x"], "y")], {}, "input 2 is not a constant"),
        ([node("Relu", ["x"], "y")], {"opset": 6}, "operator set 6"),
        ([node("Relu", ["x"], "y")], {"outputs": ["y", "z"]}, "1 inputs and 2 outputs"),
        ([node("Relu", ["elsewhere"], "y")], {}, "reads 'elsewhere'"),
        ([node("Relu", ["x"], "z")], {}, "No layer gives the output 'y'"),
        (
            [node("Add", ["x", "odd"], "y")],
            {"tensors": [message((1, 4), (2, 1), (8, "odd"), (9, bytes(8)))]},
            "odd has",
        ),
        ([node("Add", ["x", "w"], "y")], {"tensors": [message((1, 1), (2, 8), (8, "w"))]}, "data type 8"),
    ],
)
def test_what_cannot_be_imported_is_named_with_a_remedy(
    nodes: list[bytes], options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInputError) as refused:
        imported(tmp_path, {"m.onnx": onnx_model(nodes, shape=["n", 2], **options)}, {**FREE, "input_shape": [2]})
    assert words in refused.value.message
    assert refused.value.remedy


def test_half_a_file_is_reported_as_such(tmp_path: Path) -> None:
    whole = onnx_model([node("Relu", ["x"], "y")], shape=["n", 2])
    for n in range(12, len(whole), 7):
        with pytest.raises(BadInputError):
            imported(tmp_path, {"m.onnx": whole[:n]}, {**FREE, "input_shape": [2]})


ML = "ai.onnx.ml"


def test_a_classifier_with_label_and_probabilities_is_its_probabilities(tmp_path: Path) -> None:
    weight = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]], np.float32)
    content = onnx_model(
        [
            node("MatMul", ["x", "w"], "scores"),
            node("Softmax", ["scores"], "probabilities", axis=-1),
            node("ArgMax", ["probabilities"], "place", axis=1),
            node("ArrayFeatureExtractor", ["classes", "place"], "label", domain=ML),
            node("ZipMap", ["probabilities"], "y", domain=ML, classlabels_int64s=[0, 1, 2]),
        ],
        shape=["n", 2],
        constants={"w": weight, "classes": np.array([4, 5, 6])},
        labels=["label"],
    )
    x = torch.tensor([[1.0, -1.0], [0.5, 2.0]])
    model = imported(tmp_path, {"m.onnx": content}, {"task": "classification", "n_classes": 3, "input_shape": [2]})
    assert torch.allclose(answers(model, x), x @ torch.from_numpy(weight))  # logits: the softmax is left off
    plain = imported(tmp_path, {"m.onnx": content}, {**FREE, "input_shape": [2]})
    assert torch.allclose(answers(plain, x), (x @ torch.from_numpy(weight)).softmax(-1))


@pytest.mark.parametrize(
    ("rows", "transform"), [([[-1.0, 0.5], [1.0, -0.5]], "LOGISTIC"), ([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]], "SOFTMAX")]
)
def test_a_logistic_regression_of_scikit_learn_gives_its_probabilities(
    rows: list[list[float]], transform: str, tmp_path: Path
) -> None:
    n = len(rows)
    weight, bias = torch.tensor(rows), torch.tensor([-0.25, 0.25, 1.0][:n])
    content = onnx_model(
        [
            node(
                "LinearClassifier", ["x"], ["label", "raw"], domain=ML, classlabels_ints=list(range(n)),
                coefficients=weight.flatten().tolist(), intercepts=bias.tolist(), post_transform=transform,
            ),
            node("Normalizer", ["raw"], "y", domain=ML, norm="L1"),
        ],
        shape=["n", 2],
        labels=["label"],
    )  # fmt: skip
    x = torch.tensor([[1.0, -1.0], [0.5, 2.0]])
    scores = x @ weight.T + bias
    expected = scores.sigmoid() if transform == "LOGISTIC" else scores.softmax(-1)
    model = imported(tmp_path, {"m.onnx": content}, {**FREE, "input_shape": [2], "n_classes": n})
    assert torch.allclose(answers(model, x), expected, atol=1e-6)
    trained = imported(tmp_path, {"m.onnx": content}, {"task": "classification", "n_classes": n, "input_shape": [2]})
    assert torch.allclose(answers(trained, x).softmax(-1), expected, atol=1e-6)


def test_one_against_the_rest_is_refused_by_name(tmp_path: Path) -> None:
    content = onnx_model(
        [
            node(
                "LinearClassifier", ["x"], ["label", "y"], domain=ML, classlabels_ints=[0, 1, 2],
                coefficients=[1.0] * 6, intercepts=[0.0] * 3, post_transform="LOGISTIC",
            )
        ],
        shape=["n", 2],
        labels=["label"],
    )  # fmt: skip
    with pytest.raises(BadInputError, match="post_transform LOGISTIC of 3 classes"):
        imported(tmp_path, {"m.onnx": content}, {**FREE, "input_shape": [2]})
