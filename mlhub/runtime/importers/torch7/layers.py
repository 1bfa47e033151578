# SPDX-License-Identifier: Apache-2.0
"""Torch7's modules of one input as torch's; both are channels first.

Source: github.com/torch/nn, doc/ and the modules' Lua files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.importers import layers
from mlhub.runtime.importers.graph import refused
from mlhub.runtime.importers.layers import ApplyFunction
from mlhub.runtime.importers.torch7.files import Thing


def bad(thing: Thing, name: str, why: str) -> BadInputError:
    return refused(
        f"The Torch7 module {thing.kind} ({name}) cannot be imported: {why}.",
        "Change the module and save the model again, or bring it as a package with model.py.",
        code="unknown_layer",
    )


def _tensor(thing: Thing, field: str) -> Tensor | None:
    value = thing.get(field)
    return value if isinstance(value, Tensor) and value.numel() else None


def _weight(thing: Thing, name: str) -> Tensor:
    found = _tensor(thing, "weight")
    if found is None:
        raise bad(thing, name, "it has no weights")
    return found


def _pair(thing: Thing, height: str, width: str, default: int, *, old: str = "") -> list[int]:
    spare = thing.get(old, default) if old else default
    return [int(thing.get(height, spare)), int(thing.get(width, spare))]


def _linear(thing: Thing, name: str) -> nn.Module:
    return layers.linear(_weight(thing, name), _tensor(thing, "bias"))


def _convolution(thing: Thing, name: str) -> nn.Module:
    kernel, groups = _pair(thing, "kH", "kW", 1), int(thing.get("groups", 1))
    n_in, n_out = int(thing.get("nInputPlane", 0)), int(thing.get("nOutputPlane", 0))
    weight = _weight(thing, name).reshape(n_out, n_in // groups, *kernel)  # of MM it is a matrix
    return layers.convolution(
        weight,
        _tensor(thing, "bias"),
        stride=_pair(thing, "dH", "dW", 1),
        padding=_pair(thing, "padH", "padW", 0, old="padding"),
        dilation=_pair(thing, "dilationH", "dilationW", 1),
        groups=groups,
    )


def _full_convolution(thing: Thing, name: str) -> nn.Module:
    kernel = _pair(thing, "kH", "kW", 1)
    n_in, n_out = int(thing.get("nInputPlane", 0)), int(thing.get("nOutputPlane", 0))
    return layers.transposed_convolution(
        _weight(thing, name).reshape(n_in, n_out, *kernel),
        _tensor(thing, "bias"),
        stride=_pair(thing, "dH", "dW", 1),
        padding=_pair(thing, "padH", "padW", 0),
        output_padding=_pair(thing, "adjH", "adjW", 0),
        dilation=[1, 1],
        groups=1,
    )


def _max_pooling(thing: Thing, name: str) -> nn.Module:  # noqa: ARG001 (the table's signature)
    return nn.MaxPool2d(*_window(thing), ceil_mode=bool(thing.get("ceil_mode", False)))


def _average_pooling(thing: Thing, name: str) -> nn.Module:
    if thing.fields.get("divide") is False:
        raise bad(thing, name, "it sums without dividing")
    counts = thing.fields.get("count_include_pad") is not False
    return nn.AvgPool2d(*_window(thing), ceil_mode=bool(thing.get("ceil_mode", False)), count_include_pad=counts)


def _window(thing: Thing) -> tuple[Any, Any, Any]:
    kernel, padding = _pair(thing, "kH", "kW", 1), _pair(thing, "padH", "padW", 0)
    stride = [int(thing.get("dH", kernel[0])), int(thing.get("dW", kernel[1]))]
    return tuple(kernel), tuple(stride), tuple(padding)


def _batch_norm(thing: Thing, name: str) -> nn.Module:
    mean, variance, eps = _tensor(thing, "running_mean"), _tensor(thing, "running_var"), float(thing.get("eps", 1e-5))
    inverse = _tensor(thing, "running_std")
    if variance is None and inverse is not None:  # before 2015: one over the root of variance plus eps
        variance = inverse.pow(-2) - eps
    if mean is None or variance is None:
        raise bad(thing, name, "it has no running statistics")
    return layers.batch_norm(
        mean=mean, variance=variance, weight=_tensor(thing, "weight"), bias=_tensor(thing, "bias"), eps=eps,
        momentum=float(thing.get("momentum", 0.1)),
    )  # fmt: skip


def _threshold(thing: Thing, name: str) -> nn.Module:  # noqa: ARG001
    at, value = float(thing.get("threshold", 0.0)), float(thing.get("val", 0.0))
    return nn.ReLU() if at == value == 0 else nn.Threshold(at, value)


def _prelu(thing: Thing, name: str) -> nn.Module:
    slope = _weight(thing, name).flatten()
    return layers.filled(nn.PReLU(slope.numel()), weight=slope)


def _dropout(thing: Thing, name: str) -> nn.Module:
    if thing.kind.endswith(".Dropout") and thing.fields.get("v2") is not True:
        raise bad(thing, name, "it is of the old kind, which scales in use and not in training")
    rate = float(thing.get("p", 0.5))
    return nn.Dropout2d(rate) if "Spatial" in thing.kind else nn.Dropout(rate)


def _view(thing: Thing, name: str) -> nn.Module:
    """All of an example in another shape; the batch stays."""
    size = thing.get("size")
    if not isinstance(size, np.ndarray):
        raise bad(thing, name, "it names no size")
    dims = [int(n) for n in size]
    if len(dims) > 1 and dims[0] == -1 and thing.get("numInputDims") is None:
        dims = dims[1:]  # the first is the batch
    if len(dims) == 1:
        return nn.Flatten()
    return ApplyFunction(f"view as {dims}", lambda x: x.reshape(x.shape[0], *dims))


def _lrn(thing: Thing, name: str) -> nn.Module:  # noqa: ARG001
    return nn.LocalResponseNorm(
        int(thing.get("size", 5)), float(thing.get("alpha", 1e-4)), float(thing.get("beta", 0.75)),
        float(thing.get("k", 1.0)),
    )  # fmt: skip


def _zero_padding(thing: Thing, name: str) -> nn.Module:  # noqa: ARG001
    left, right, top, bottom = (int(thing.get(f"pad_{side}", 0)) for side in "lrtb")
    return ApplyFunction("zero padding", lambda x: F.pad(x, [left, right, top, bottom]))


def _times(thing: Thing, name: str) -> nn.Module:  # noqa: ARG001
    factor = float(thing.get("constant_scalar", 1.0))
    return ApplyFunction("times", lambda x: x * factor)


def _plus(thing: Thing, name: str) -> nn.Module:  # noqa: ARG001
    term = float(thing.get("constant_scalar", 0.0))
    return ApplyFunction("plus", lambda x: x + term)


def _plain(make: Callable[[], nn.Module]) -> Callable[[Thing, str], nn.Module]:
    return lambda thing, name: make()  # noqa: ARG005


LAYERS: Mapping[str, Callable[[Thing, str], nn.Module]] = {
    "Linear": _linear,
    "SpatialConvolution": _convolution,
    "SpatialConvolutionMM": _convolution,
    "SpatialDilatedConvolution": _convolution,
    "SpatialFullConvolution": _full_convolution,
    "SpatialMaxPooling": _max_pooling,
    "SpatialAveragePooling": _average_pooling,
    "BatchNormalization": _batch_norm,
    "SpatialBatchNormalization": _batch_norm,
    "SpatialCrossMapLRN": _lrn,
    "SpatialZeroPadding": _zero_padding,
    "ReLU": _plain(nn.ReLU),
    "Threshold": _threshold,
    "Tanh": _plain(nn.Tanh),
    "Sigmoid": _plain(nn.Sigmoid),
    "SoftPlus": _plain(nn.Softplus),
    "Abs": _plain(lambda: ApplyFunction("abs", torch.abs)),
    "ELU": lambda thing, name: nn.ELU(float(thing.get("alpha", 1.0))),  # noqa: ARG005
    "LeakyReLU": lambda thing, name: nn.LeakyReLU(float(thing.get("negval", 0.01))),  # noqa: ARG005
    "PReLU": _prelu,
    "SoftMax": _plain(lambda: nn.Softmax(1)),
    "LogSoftMax": _plain(lambda: nn.LogSoftmax(1)),
    "Dropout": _dropout,
    "SpatialDropout": _dropout,
    "View": _view,
    "Reshape": _view,
    "MulConstant": _times,
    "AddConstant": _plus,
    "Identity": _plain(nn.Identity),
    "Contiguous": _plain(nn.Identity),
    "Copy": _plain(nn.Identity),
}
