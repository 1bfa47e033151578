# SPDX-License-Identifier: Apache-2.0
"""Caffe's layers as torch modules, by Caffe's own rules for windows at the edge, old blobs and scale factors.

Source: github.com/BVLC/caffe, src/caffe/layers and src/caffe/proto/caffe.proto.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.importers import layers
from mlhub.runtime.importers.graph import refused
from mlhub.runtime.importers.layers import ApplyFunction, LrnWithin, With

OPERATIONS: Mapping[int, Callable[[Tensor, Tensor], Tensor]] = {0: torch.mul, 1: torch.add, 2: torch.maximum}


@dataclass
class CaffeLayer:
    proto: Any
    blobs: list[Tensor]

    def blob(self, place: int, *shape: int) -> Tensor:
        """One of the layer's blobs; old files give every blob four axes."""
        if place >= len(self.blobs):
            raise self.refused("the caffemodel has no weights for it")
        blob = self.blobs[place]
        try:
            return blob.reshape(shape) if shape else blob
        except RuntimeError as error:
            raise self.refused(f"its blob {place} has the shape {list(blob.shape)}, not {list(shape)}") from error

    def refused(self, why: str) -> BadInputError:
        return refused(
            f"The Caffe layer {self.proto.type} ({self.proto.name}) cannot be imported: {why}.",
            "Send the prototxt and the caffemodel of the same net, or bring it as a package with model.py.",
            code="unknown_layer",
        )


def _convolution(layer: CaffeLayer) -> nn.Module:
    given = layer.proto.convolution_param
    if given.axis != 1:
        raise layer.refused(f"its axis is {given.axis}")
    kernel, stride = _pair(given, "kernel_size", "kernel", 0), _pair(given, "stride", "stride", 1)
    padding, dilation = _pair(given, "pad", "pad", 0), _pair(given, "dilation", "", 1)
    turns = layer.proto.type == "Deconvolution"
    # (outputs, inputs / groups, ...); of a deconvolution (inputs, outputs / groups, ...)
    first = layer.blob(0).numel() // max(1, math.prod(kernel))
    rest = first * given.group // given.num_output
    shape = (rest, given.num_output // given.group) if turns else (given.num_output, first // given.num_output)
    weight = layer.blob(0, *shape, *kernel)
    bias = layer.blob(1, given.num_output) if given.bias_term else None
    if turns:
        return layers.transposed_convolution(
            weight, bias, stride=stride, padding=padding, output_padding=[0, 0], dilation=dilation, groups=given.group
        )
    return layers.convolution(weight, bias, stride=stride, padding=padding, dilation=dilation, groups=given.group)


def _pair(given: Any, both: str, each: str, default: int) -> list[int]:
    """Height and width: one number for both, two, or a field for each."""
    if each and (given.HasField(f"{each}_h") or given.HasField(f"{each}_w")):
        return [getattr(given, f"{each}_h"), getattr(given, f"{each}_w")]
    values = getattr(given, both)
    listed = [values] if isinstance(values, int) else list(values)
    if not listed:
        return [default, default]
    return [listed[0], listed[0]] if len(listed) == 1 else [int(n) for n in listed[:2]]


def _inner_product(layer: CaffeLayer) -> nn.Module:
    given = layer.proto.inner_product_param
    if given.axis != 1:
        raise layer.refused(f"its axis is {given.axis}")
    n = given.num_output
    n_inputs = layer.blob(0).numel() // max(1, n)
    weight = layer.blob(0, n_inputs, n).T if given.transpose else layer.blob(0, n, n_inputs)
    return layers.linear(weight, layer.blob(1, n) if given.bias_term else None)


def _pooling(layer: CaffeLayer) -> nn.Module:
    """Caffe rounds the number of windows up, and none begins beyond the image."""
    given = layer.proto.pooling_param
    if given.pool not in (0, 1):
        raise layer.refused("it is stochastic")
    is_max = given.pool == 0
    if given.global_pooling:
        return ApplyFunction("global pooling", lambda x: x.amax((2, 3), True) if is_max else x.mean((2, 3), True))
    kernel, stride = _pair(given, "kernel_size", "kernel", 0), _pair(given, "stride", "stride", 1)
    padding, rounds_up = _pair(given, "pad", "pad", 0), given.round_mode == 0
    if min(kernel) < 1 or any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise layer.refused("it has no kernel, or pads by more than half of it")
    pool: Callable[..., nn.Module] = nn.MaxPool2d if is_max else nn.AvgPool2d
    return pool(tuple(kernel), tuple(stride), tuple(padding), ceil_mode=rounds_up)


def _lrn(layer: CaffeLayer) -> nn.Module:
    given = layer.proto.lrn_param
    if given.norm_region == 1:
        return LrnWithin(given.local_size, alpha=given.alpha, beta=given.beta, k=1.0)
    return nn.LocalResponseNorm(given.local_size, given.alpha, given.beta, given.k)


def _batch_norm(layer: CaffeLayer) -> nn.Module:
    """Blobs: sums of means and of variances, and the factor that they are sums by."""
    given = layer.proto.batch_norm_param
    factor = float(layer.blob(2).flatten()[0])
    scale = 0.0 if factor == 0 else 1.0 / factor
    return layers.batch_norm(
        mean=layer.blob(0).flatten() * scale,
        variance=layer.blob(1).flatten() * scale,
        weight=None,
        bias=None,
        eps=given.eps,
        momentum=1.0 - given.moving_average_fraction,
    )


def _scale(layer: CaffeLayer) -> nn.Module:
    given = layer.proto.scale_param
    if given.axis != 1 or given.num_axes != 1 or len(layer.proto.bottom) != 1:
        raise layer.refused("it scales by another axis than channels, or by another input")
    values = {1: layer.blob(0).flatten()}
    if given.bias_term:
        values[2] = layer.blob(1).flatten()

    def scaled(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        shape = [-1] + [1] * (x.dim() - 2)
        made = x * weight.reshape(shape)
        return made if bias is None else made + bias.reshape(shape)

    return With("scale", scaled, values, list(values))


def _bias(layer: CaffeLayer) -> nn.Module:
    given = layer.proto.bias_param
    if given.axis != 1 or given.num_axes != 1 or len(layer.proto.bottom) != 1:
        raise layer.refused("it adds along another axis than channels, or another input")
    return With("bias", lambda x, b: x + b.reshape([-1] + [1] * (x.dim() - 2)), {1: layer.blob(0).flatten()}, [1])


def _eltwise(layer: CaffeLayer) -> nn.Module:
    given = layer.proto.eltwise_param
    weights = list(given.coeff)
    if weights and (given.operation != 1 or len(weights) != len(layer.proto.bottom)):
        raise layer.refused("its coefficients are not one for each of the values that it sums")

    def joined(*values: Tensor) -> Tensor:
        weighed = [w * v for w, v in zip(weights, values, strict=True)] if weights else values
        return reduce(OPERATIONS[given.operation], weighed)

    return ApplyFunction("eltwise", joined)


def _axis(given: Any, old: str) -> int:
    return int(getattr(given, old) if given.HasField(old) else given.axis)


def _concat(layer: CaffeLayer) -> nn.Module:
    axis = _axis(layer.proto.concat_param, "concat_dim")
    return ApplyFunction("concat", lambda *values: torch.cat(values, axis))


def _slice(layer: CaffeLayer) -> nn.Module:
    given, n = layer.proto.slice_param, len(layer.proto.top)
    axis, points = _axis(given, "slice_dim"), list(given.slice_point)
    if points and len(points) != n - 1:
        raise layer.refused(f"it has {len(points)} points for {n} outputs")

    def cut(x: Tensor) -> Any:
        return torch.tensor_split(x, points or n, axis) if n > 1 else x

    return ApplyFunction("slice", cut)


def _power(layer: CaffeLayer) -> nn.Module:
    given = layer.proto.power_param
    power, scale, shift = given.power, given.scale, given.shift
    return ApplyFunction("power", lambda x: (shift + scale * x) if power == 1 else (shift + scale * x) ** power)


def _prelu(layer: CaffeLayer) -> nn.Module:
    slope = layer.blob(0).flatten()
    made = nn.PReLU(slope.numel())
    return layers.filled(made, weight=slope)


def _relu(layer: CaffeLayer) -> nn.Module:
    slope = layer.proto.relu_param.negative_slope
    return nn.LeakyReLU(slope) if slope else nn.ReLU()


def _reshape(layer: CaffeLayer) -> nn.Module:
    given = layer.proto.reshape_param
    if given.axis != 0 or given.num_axes != -1:
        raise layer.refused("it reshapes a part of the axes")
    dims = [int(n) for n in given.shape.dim]
    return ApplyFunction(
        f"reshape to {dims}", lambda x: x.reshape([x.shape[i] if n == 0 else n for i, n in enumerate(dims)])
    )


def _flatten(layer: CaffeLayer) -> nn.Module:
    given = layer.proto.flatten_param
    return nn.Flatten(given.axis, given.end_axis)


LAYERS: Mapping[str, Callable[[CaffeLayer], nn.Module]] = {
    "Convolution": _convolution,
    "Deconvolution": _convolution,
    "InnerProduct": _inner_product,
    "Pooling": _pooling,
    "LRN": _lrn,
    "BatchNorm": _batch_norm,
    "Scale": _scale,
    "Bias": _bias,
    "Eltwise": _eltwise,
    "Concat": _concat,
    "Slice": _slice,
    "Power": _power,
    "PReLU": _prelu,
    "ReLU": _relu,
    "ELU": lambda layer: nn.ELU(layer.proto.elu_param.alpha),
    "Sigmoid": lambda layer: nn.Sigmoid(),  # noqa: ARG005 (the table's signature)
    "TanH": lambda layer: nn.Tanh(),  # noqa: ARG005
    "BNLL": lambda layer: nn.Softplus(),  # noqa: ARG005
    "AbsVal": lambda layer: ApplyFunction("abs", torch.abs),  # noqa: ARG005
    "Dropout": lambda layer: nn.Dropout(layer.proto.dropout_param.dropout_ratio),
    "Softmax": lambda layer: nn.Softmax(layer.proto.softmax_param.axis),
    "Reshape": _reshape,
    "Flatten": _flatten,
}
