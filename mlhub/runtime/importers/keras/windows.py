# SPDX-License-Identifier: Apache-2.0
"""Keras's layers over windows and places: convolutions, pooling, padding. Source: keras.io/api/layers.

Tensors of four axes are channels first here, of three as Keras has them: (batch, steps, channels).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

from mlhub.runtime.importers import layers
from mlhub.runtime.importers.keras.layer import KerasLayer
from mlhub.runtime.importers.layers import ApplyFunction, MeanOfPresent, Same

MAX = {1: nn.MaxPool1d, 2: nn.MaxPool2d}
MEAN = {1: nn.AvgPool1d, 2: nn.AvgPool2d}


def _conv(layer: KerasLayer) -> nn.Module:
    has_bias = layer.config.get("use_bias", True)
    values = layer.take(1 + has_bias)
    weight = values[0].movedim(-1, 0).movedim(-1, 1)  # (..., in, out) to (out, in, ...)
    return _convolved(layer, weight, int(layer.config.get("groups", 1)), bias=values[1] if has_bias else None)


def _depthwise(layer: KerasLayer) -> nn.Module:
    has_bias = layer.config.get("use_bias", True)
    values = layer.take(1 + has_bias)
    return _convolved(layer, *_by_channel(values[0]), bias=values[1] if has_bias else None)


def _separable(layer: KerasLayer) -> nn.Module:
    has_bias = layer.config.get("use_bias", True)
    values = layer.take(2 + has_bias)
    depth = _convolved(layer, *_by_channel(values[0]), bias=None)
    point = layers.convolution(
        values[1].permute(3, 2, 0, 1), values[2] if has_bias else None,
        stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1,
    )  # fmt: skip
    return nn.Sequential(depth, point)


def _by_channel(kernel: Tensor) -> tuple[Tensor, int]:
    """(height, width, channels, multiplier) to torch's weight, and the number of groups."""
    height, width, channels, multiplier = kernel.shape
    return kernel.permute(2, 3, 0, 1).reshape(channels * multiplier, 1, height, width), channels


def _convolved(layer: KerasLayer, weight: Tensor, groups: int, *, bias: Tensor | None) -> nn.Module:
    stride, dilation = layer.each("strides"), layer.each("dilation_rate")

    def made(padding: Sequence[int]) -> nn.Module:
        return layers.convolution(weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)

    return _windows(layer, made, kernel=weight.shape[2:], stride=stride, dilation=dilation, value=0.0)


def _windows(
    layer: KerasLayer, made: Callable[[Sequence[int]], nn.Module], *, kernel: Sequence[int], stride: Sequence[int],
    dilation: Sequence[int], value: float, can_pad: bool = True,
) -> nn.Module:  # fmt: skip
    """made(padding): the layer over windows. Signals (three axes) are turned for it."""
    kind = layer.config.get("padding", "valid")
    reach = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    if kind == "valid":
        found = made([0] * len(kernel))
    elif kind == "same" and can_pad and set(stride) == {1} and not any(n % 2 for n in reach):
        found = made([n // 2 for n in reach])
    elif kind == "same":
        found = Same(made([0] * len(kernel)), kernel=kernel, stride=stride, dilation=dilation, value=value)
    elif kind == "causal":
        found = layers.Padded([(reach[0], 0)], made([0]))
    else:
        raise layer.refused(f"its padding is {kind!r}")
    return found if layer.rank == 4 else Turned(found)


class Turned(nn.Module):
    """A layer of channels first, given (batch, steps, channels)."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.inner(x.movedim(-1, 1))
        return made.movedim(1, -1)


def _transposed(layer: KerasLayer) -> nn.Module:
    has_bias = layer.config.get("use_bias", True)
    values = layer.take(1 + has_bias)
    kernel, stride = list(values[0].shape[:2]), layer.each("strides")
    if layer.config.get("output_padding") or set(layer.each("dilation_rate", 1)) != {1}:
        raise layer.refused("it pads its output or dilates its kernel")
    if any(k < s for k, s in zip(kernel, stride, strict=True)):
        raise layer.refused("its stride is larger than its kernel")
    inner = layers.transposed_convolution(
        values[0].permute(3, 2, 0, 1), values[1] if has_bias else None,
        stride=stride, padding=[0, 0], output_padding=[0, 0], dilation=[1, 1], groups=1,
    )  # fmt: skip
    if layer.config.get("padding", "valid") == "valid":
        return inner
    (top, height), (left, width) = (((k - s) // 2, s) for k, s in zip(kernel, stride, strict=True))

    def cut(x: Tensor, made: Tensor) -> Tensor:
        return made[:, :, top : top + height * x.shape[2], left : left + width * x.shape[3]]

    return _Cut(inner, cut)


class _Cut(nn.Module):
    """A layer whose answer is cut by the size of what it was given."""

    def __init__(self, inner: nn.Module, cut: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.inner, self._cut = inner, cut

    def forward(self, x: Tensor) -> Tensor:
        return self._cut(x, self.inner(x))


def _pool(pools: Mapping[int, Callable[..., nn.Module]], value: float) -> Callable[[KerasLayer], nn.Module]:
    def made(layer: KerasLayer) -> nn.Module:
        kernel = layer.each("pool_size", 2)
        stride = layer.each("strides", None) if layer.config.get("strides") else kernel
        is_max = value != 0.0

        def pool(padding: Sequence[int]) -> nn.Module:
            return pools[len(kernel)](tuple(kernel), tuple(stride), tuple(padding))

        found = _windows(
            layer, pool, kernel=kernel, stride=stride, dilation=[1] * len(kernel), value=value, can_pad=is_max
        )
        return found if is_max or layer.config.get("padding", "valid") == "valid" else MeanOfPresent(found)

    return made


def _global(function: Callable[..., Tensor]) -> Callable[[KerasLayer], nn.Module]:
    def made(layer: KerasLayer) -> nn.Module:
        keeps = bool(layer.config.get("keepdims", False))
        axes = (2, 3) if layer.rank == 4 else (1,)
        layer.rank = layer.rank if keeps else 2
        return ApplyFunction(layer.kind, lambda x: function(x, axes, keepdim=keeps))

    return made


def _zero_padding(layer: KerasLayer) -> nn.Module:
    (top, bottom), (left, right) = _sides(layer, "padding")
    return nn.ZeroPad2d((left, right, top, bottom))


def _cropping(layer: KerasLayer) -> nn.Module:
    (top, bottom), (left, right) = _sides(layer, "cropping")
    return ApplyFunction("crop", lambda x: x[:, :, top : x.shape[2] - bottom, left : x.shape[3] - right])


def _sides(layer: KerasLayer, name: str) -> list[tuple[int, int]]:
    given = layer.config[name]
    pairs = [given, given] if isinstance(given, int) else given
    return [(pair, pair) if isinstance(pair, int) else (int(pair[0]), int(pair[1])) for pair in pairs]


def _up_sampling(layer: KerasLayer) -> nn.Module:
    if layer.config.get("interpolation", "nearest") != "nearest":
        raise layer.refused(f"its interpolation is {layer.config['interpolation']}")
    return nn.Upsample(scale_factor=tuple(float(n) for n in layer.each("size", 2)), mode="nearest")


WINDOWS: Mapping[str, Callable[[KerasLayer], nn.Module]] = {
    "Conv1D": _conv,
    "Conv2D": _conv,
    "DepthwiseConv2D": _depthwise,
    "SeparableConv2D": _separable,
    "Conv2DTranspose": _transposed,
    "MaxPooling1D": _pool(MAX, float("-inf")),
    "MaxPooling2D": _pool(MAX, float("-inf")),
    "AveragePooling1D": _pool(MEAN, 0.0),
    "AveragePooling2D": _pool(MEAN, 0.0),
    "GlobalAveragePooling1D": _global(torch.mean),
    "GlobalAveragePooling2D": _global(torch.mean),
    "GlobalMaxPooling1D": _global(torch.amax),
    "GlobalMaxPooling2D": _global(torch.amax),
    "ZeroPadding2D": _zero_padding,
    "Cropping2D": _cropping,
    "UpSampling2D": _up_sampling,
}
