# SPDX-License-Identifier: Apache-2.0
"""Torch7: files written by hand answer as plain torch does; what is no data or no known module is refused by name."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from mlhub.runtime.errors import BadInputError
from tests.runtime.importers.torch7_files import Module, Storage, module, t7
from tests.runtime.importers.uploads import DIGITS, answers, imported

RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape)


def tensors(*arrays: np.ndarray) -> list[Tensor]:
    return [torch.tensor(a, dtype=torch.float32) for a in arrays]


def run(tmp_path: Path, net: Any, x: Any) -> Tensor:
    given = torch.as_tensor(x, dtype=torch.float32)
    return answers(imported(tmp_path, {"net.t7": t7(net)}, {"task": "", "input_shape": list(given.shape[1:])}), given)


CONV, BIAS, FULL, LAST = normal(4, 1, 3, 3), normal(4), normal(10, 64), normal(10)
POOL = {"kW": 3, "kH": 3, "dW": 2, "dH": 2, "padW": 1, "padH": 1, "ceil_mode": False}


@pytest.mark.parametrize("room", ["nn", "cudnn"])
def test_a_net_answers_as_plain_torch_does(room: str, tmp_path: Path) -> None:
    planes = {"nInputPlane": 1, "nOutputPlane": 4, "kW": 3, "kH": 3, "dW": 1, "dH": 1, "padW": 1, "padH": 1}
    # nn's MM keeps its weight as a matrix
    conv = ("nn.SpatialConvolutionMM", CONV.reshape(4, 9)) if room == "nn" else ("cudnn.SpatialConvolution", CONV)
    net = module(
        "nn.Sequential",
        module(conv[0], weight=conv[1], bias=BIAS, **planes),
        module(f"{room}.ReLU", threshold=0, val=0),
        module(f"{room}.SpatialMaxPooling", **POOL),
        module("nn.View", size=Storage([64]), numElements=64),
        module("nn.Dropout", p=0.3, v2=True),
        module("nn.Linear", weight=FULL, bias=LAST),
        module(f"{room}.LogSoftMax"),
    )
    x = torch.randn(5, 1, 8, 8)
    conv_w, conv_b, full, last = tensors(CONV, BIAS, FULL, LAST)
    pooled = F.max_pool2d(F.relu(F.conv2d(x, conv_w, conv_b, padding=1)), 3, 2, 1)
    logits = F.linear(pooled.flatten(1), full, last)
    torch.testing.assert_close(run(tmp_path, net, x), logits.log_softmax(1), rtol=0, atol=1e-5)
    torch.testing.assert_close(run(tmp_path, {"epoch": 3, "model": net}, x), logits.log_softmax(1), rtol=0, atol=1e-5)
    model = imported(tmp_path, {"net.t7": t7(net)}, DIGITS)
    assert isinstance(model, torch.nn.Sequential)
    torch.testing.assert_close(answers(model, x), logits, rtol=0, atol=1e-5)
    other = imported(tmp_path, {"net.t7": t7(net)}, {**DIGITS, "n_classes": 2}, replace_head=True)
    assert answers(other, x).shape == (5, 2)


def test_branches_are_joined_and_added(tmp_path: Path) -> None:
    w = normal(3, 4)
    product = module("nn.Linear", weight=w)
    net = module(
        "nn.Sequential",
        module("nn.ConcatTable", product, module("nn.Sequential", product, module("nn.Tanh"))),
        module("nn.CAddTable"),
        module("nn.Concat", module("nn.Identity"), module("nn.MulConstant", constant_scalar=2.0), dimension=2),
        module("nn.ConcatTable", module("nn.Identity"), module("nn.Abs")),
        module("nn.JoinTable", dimension=1, nInputDims=1),
    )
    x = torch.randn(2, 4)
    y = x @ tensors(w)[0].T
    y = y + y.tanh()
    y = torch.cat([y, 2 * y], 1)
    torch.testing.assert_close(run(tmp_path, net, x), torch.cat([y, y.abs()], 1), rtol=0, atol=1e-5)


@pytest.mark.parametrize("old", [False, True])
def test_statistics_normalise_old_and_new(old: bool, tmp_path: Path) -> None:
    spread = {"running_std": np.array([0.5, 2.0])} if old else {"running_var": np.array([4.0, 0.25])}
    norm = module("nn.SpatialBatchNormalization", running_mean=np.array([1.0, 2.0]), eps=0.0, momentum=0.2, **spread)
    x = torch.tensor([[[[5.0]], [[1.0]]]])
    assert run(tmp_path, norm, x).flatten().tolist() == [2, -2]


def test_means_count_padding_unless_declared_otherwise(tmp_path: Path) -> None:
    window = {"kW": 3, "kH": 1, "dW": 1, "dH": 1, "padW": 1, "padH": 0}
    x = [[[[6.0, 12.0, 18.0]]]]
    assert run(tmp_path, module("nn.SpatialAveragePooling", **window), x).flatten().tolist() == [6, 12, 10]
    without = module("nn.SpatialAveragePooling", **window, count_include_pad=False)
    assert run(tmp_path, without, x).flatten().tolist() == [9, 12, 15]


def test_the_same_object_twice_is_one(tmp_path: Path) -> None:
    """A second mention is a number only."""
    content = t7(module("nn.Sequential", module("nn.Tanh"), module("nn.Abs")))

    def begin(kind: bytes) -> int:
        """Where the object starts: its type, its number, "V 1" and its class, each text after its length."""
        return content.index(kind) - len(struct.pack("<iiii", 4, 0, 3, 0) + b"V 1")

    (number,) = struct.unpack_from("<i", content, begin(b"nn.Tanh") + 4)
    twice = content[: begin(b"nn.Abs")] + struct.pack("<ii", 4, number)
    x = torch.tensor([[0.5]])
    found = answers(imported(tmp_path, {"n.t7": twice}, {"task": "", "input_shape": [1]}), x)
    torch.testing.assert_close(found, x.tanh().tanh())


@pytest.mark.parametrize(
    ("net", "words"),
    [
        (module("nn.LSTM"), "The Torch7 module nn.LSTM (net) cannot be imported"),
        (module("my.Own"), "my.Own"),
        (module("nn.Sequential", module("nn.SpatialUpSampling")), "nn.SpatialUpSampling (net_1)"),
        (module("nn.Dropout", p=0.5), "of the old kind"),
        (module("nn.Linear"), "it has no weights"),
        (module("nn.ConcatTable", module("nn.Tanh"), module("nn.Abs")), "answers with a table"),
        (module("nn.CAddTable"), "does not get a table"),
        ({"weights": np.ones(3)}, "holds no nn module"),
    ],
)
def test_what_cannot_be_imported_is_named_with_a_remedy(net: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as refused:
        run(tmp_path, net, [[1.0]])
    assert words in refused.value.message
    assert refused.value.remedy


def test_code_in_a_file_is_refused(tmp_path: Path) -> None:
    content = t7(Module("nn.Tanh", {"hook": None}))
    with_function = content[: -len(struct.pack("<i", 0))] + struct.pack("<iii", 8, 9, 4) + b"\x1bLua"
    with pytest.raises(BadInputError, match="holds a function, which is code"):
        imported(tmp_path, {"n.t7": with_function}, {"task": "", "input_shape": [1]})


def test_damaged_files_are_reported_as_such(tmp_path: Path) -> None:
    whole = t7(module("nn.Linear", weight=normal(3, 2), bias=normal(3)))
    facts = {"task": "", "input_shape": [2]}
    for n in range(20, len(whole), 9):
        with pytest.raises(BadInputError):
            imported(tmp_path, {"n.t7": whole[:n]}, facts)
    for wrong in (struct.pack("<q", 2**40), struct.pack("<q", -1)):  # the storage's length, after its class
        at = whole.index(b"torch.DoubleStorage") + len("torch.DoubleStorage")
        with pytest.raises(BadInputError, match="claims"):
            imported(tmp_path, {"n.t7": whole[:at] + wrong + whole[at + 8 :]}, facts)
