"""Keras's layers as torch modules. Tensors of four axes are channels first here, others as Keras has them.

Source: keras.io/api/layers; TensorFlow's rule for padding "same" (layers.Same).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.importing import layers
from mlhub.runtime.importing.graph import refused, unknown
from mlhub.runtime.importing.keras.activations import activation
from mlhub.runtime.importing.layers import Apply, Embedded, LastAxisFirst, MeanOfPresent, Same, With

Config = Mapping[str, Any]
MAX = {1: nn.MaxPool1d, 2: nn.MaxPool2d}
MEAN = {1: nn.AvgPool1d, 2: nn.AvgPool2d}


@dataclass
class Layer:
    """One use of a layer. ranks: axes of its inputs, the batch among them; rank: of its output."""

    kind: str
    name: str
    config: Config
    weights: list[Tensor]
    ranks: list[int]

    def __post_init__(self) -> None:
        self.rank = self.ranks[0]

    def take(self, n: int) -> list[Tensor]:
        if len(self.weights) != n:
            raise self.refused(f"it has {len(self.weights)} weights in the file, and needs {n}")
        return self.weights

    def refused(self, why: str) -> BadInputError:
        return refused(
            f"The Keras layer {self.kind} ({self.name}) cannot be imported: {why}.",
            "Change the layer and save the model again, or bring it as a package with model.py.",
            code="unknown_layer",
        )


def converted(layer: Layer) -> list[nn.Module]:
    """One after the other; the first takes the layer's inputs. Sets layer.rank. Raises BadInputError."""
    if layer.kind not in LAYERS:
        raise unknown("Keras layer", layer.kind, layer.name, known=sorted(LAYERS))
    if layer.config.get("data_format") == "channels_first":
        raise layer.refused("its data_format is channels_first")
    made = [LAYERS[layer.kind](layer)]
    if layer.kind not in ACTIVATIONS_OF_OWN and layer.config.get("activation") is not None:
        last = activation(layer.config["activation"], rank=layer.rank, name=layer.name)
        made += [] if last is None else [last]
    return made


def n_weights(layer: Mapping[str, Any]) -> tuple[int, int]:
    """How many it has that are trained, and that are not."""
    kind, config = layer["class_name"], layer.get("config", {})
    bias = int(bool(config.get("use_bias", True)))
    affine = int(bool(config.get("scale", True))) + int(bool(config.get("center", True)))
    counts = {
        "Dense": (1 + bias, 0), "Conv1D": (1 + bias, 0), "Conv2D": (1 + bias, 0), "Conv2DTranspose": (1 + bias, 0),
        "DepthwiseConv2D": (1 + bias, 0), "SeparableConv2D": (2 + bias, 0), "BatchNormalization": (affine, 2),
        "LayerNormalization": (affine, 0), "Embedding": (1, 0), "PReLU": (1, 0), "Normalization": (0, 3),
    }  # fmt: skip
    trained, fixed = counts.get(kind, (0, 0))
    return (trained, fixed) if config.get("trainable", True) else (0, trained + fixed)


def _dense(layer: Layer) -> nn.Module:
    has_bias = layer.config.get("use_bias", True)
    values = layer.take(1 + has_bias)
    made = layers.linear(values[0].T, values[1] if has_bias else None)
    return made if layer.rank < 4 else LastAxisFirst(made)


def _conv(layer: Layer) -> nn.Module:
    has_bias = layer.config.get("use_bias", True)
    values = layer.take(1 + has_bias)
    weight = values[0].movedim(-1, 0).movedim(-1, 1)  # (..., in, out) to (out, in, ...)
    return _convolved(layer, weight, int(layer.config.get("groups", 1)), bias=values[1] if has_bias else None)


def _depthwise(layer: Layer) -> nn.Module:
    has_bias = layer.config.get("use_bias", True)
    values = layer.take(1 + has_bias)
    return _convolved(layer, *_by_channel(values[0]), bias=values[1] if has_bias else None)


def _separable(layer: Layer) -> nn.Module:
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


def _convolved(layer: Layer, weight: Tensor, groups: int, *, bias: Tensor | None) -> nn.Module:
    stride, dilation = _each(layer, "strides"), _each(layer, "dilation_rate")

    def made(padding: Sequence[int]) -> nn.Module:
        return layers.convolution(weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)

    return _windows(layer, made, kernel=weight.shape[2:], stride=stride, dilation=dilation, value=0.0)


def _windows(
    layer: Layer, made: Callable[[Sequence[int]], nn.Module], *, kernel: Sequence[int], stride: Sequence[int],
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


def _transposed(layer: Layer) -> nn.Module:
    has_bias = layer.config.get("use_bias", True)
    values = layer.take(1 + has_bias)
    kernel, stride = list(values[0].shape[:2]), _each(layer, "strides")
    if layer.config.get("output_padding") or set(_each(layer, "dilation_rate", 1)) != {1}:
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


def _pool(pools: Mapping[int, Callable[..., nn.Module]], value: float) -> Callable[[Layer], nn.Module]:
    def made(layer: Layer) -> nn.Module:
        kernel = _each(layer, "pool_size", 2)
        stride = _each(layer, "strides", None) if layer.config.get("strides") else kernel
        is_max = value != 0.0

        def pool(padding: Sequence[int]) -> nn.Module:
            return pools[len(kernel)](tuple(kernel), tuple(stride), tuple(padding))

        found = _windows(
            layer, pool, kernel=kernel, stride=stride, dilation=[1] * len(kernel), value=value, can_pad=is_max
        )
        return found if is_max or layer.config.get("padding", "valid") == "valid" else MeanOfPresent(found)

    return made


def _global(function: Callable[..., Tensor]) -> Callable[[Layer], nn.Module]:
    def made(layer: Layer) -> nn.Module:
        keeps = bool(layer.config.get("keepdims", False))
        axes = (2, 3) if layer.rank == 4 else (1,)
        layer.rank = layer.rank if keeps else 2
        return Apply(layer.kind, lambda x: function(x, axes, keepdim=keeps))

    return made


def _batch_norm(layer: Layer) -> nn.Module:
    config = layer.config
    _check_axis(layer)
    scales, centers = config.get("scale", True), config.get("center", True)
    values = layer.take(2 + scales + centers)
    made = layers.batch_norm(
        weight=values[0] if scales else None,
        bias=values[int(scales)] if centers else None,
        mean=values[-2],
        variance=values[-1],
        eps=float(config.get("epsilon", 1e-3)),
        momentum=1.0 - float(config.get("momentum", 0.99)),
    )
    return made if layer.rank != 3 else Turned(made)


def _layer_norm(layer: Layer) -> nn.Module:
    config = layer.config
    _check_axis(layer)
    if config.get("rms_scaling"):
        raise layer.refused("it scales by the root mean square")
    scales, centers = config.get("scale", True), config.get("center", True)
    values = layer.take(scales + centers)
    if not values:
        raise layer.refused("it has neither scale nor centre")
    made = nn.LayerNorm(values[0].numel(), eps=float(config.get("epsilon", 1e-3)), bias=centers)
    layers.filled(made, weight=values[0] if scales else None, bias=values[-1] if centers else None)
    return made if layer.rank < 4 else LastAxisFirst(made)


def _check_axis(layer: Layer) -> None:
    axis = layer.config.get("axis", -1)
    if axis not in (-1, layer.rank - 1, [-1], [layer.rank - 1]):
        raise layer.refused(f"it normalises over axis {axis}, not the last")


def _relu(layer: Layer) -> nn.Module:
    config = layer.config
    top, slope, threshold = config.get("max_value"), config.get("negative_slope") or 0.0, config.get("threshold") or 0.0
    if isinstance(slope, list | dict) or threshold:
        raise layer.refused("it has a threshold")
    if top is None:
        return nn.LeakyReLU(float(slope)) if slope else nn.ReLU()
    return Apply("relu", lambda x: F.leaky_relu(x, float(slope)).clamp(max=float(top)))


def _leaky(layer: Layer) -> nn.Module:
    return nn.LeakyReLU(float(layer.config.get("negative_slope", layer.config.get("alpha", 0.3))))


def _prelu(layer: Layer) -> nn.Module:
    slope = layer.take(1)[0]
    slope = slope.movedim(-1, 0) if layer.rank == 4 else slope
    return With("prelu", lambda x, a: torch.where(x >= 0, x, x * a), {1: slope}, [1])


def _softmax(layer: Layer) -> nn.Module:
    return nn.Softmax(_axis(layer, layer.config.get("axis", -1)))


def _axis(layer: Layer, axis: int) -> int:
    """Of a tensor here, from the one that Keras means."""
    if layer.rank < 4:
        return axis
    return [0, 2, 3, 1][axis]


def _merge(function: Callable[[Any, Any], Any]) -> Callable[[Layer], nn.Module]:
    def made(layer: Layer) -> nn.Module:
        if len(set(layer.ranks)) > 1:
            raise layer.refused("its inputs have different numbers of axes")
        return Apply(layer.kind, lambda *values: reduce(function, values))

    return made


def _average(layer: Layer) -> nn.Module:
    return Apply(layer.kind, lambda *values: reduce(torch.add, values) / len(values))


def _concatenate(layer: Layer) -> nn.Module:
    axis = _axis(layer, int(layer.config.get("axis", -1)))
    return Apply(layer.kind, lambda *values: torch.cat(values, axis))


def _flatten(layer: Layer) -> nn.Module:
    """In Keras's order: of an image, channels vary fastest."""
    is_image, layer.rank = layer.rank == 4, 2
    return Apply("flatten", lambda x: x.movedim(1, -1).flatten(1)) if is_image else nn.Flatten()


def _reshape(layer: Layer) -> nn.Module:
    target = [int(n) for n in layer.config["target_shape"]]
    was_image, layer.rank = layer.rank == 4, 1 + len(target)
    is_image = layer.rank == 4

    def reshaped(x: Tensor) -> Tensor:
        made = (x.movedim(1, -1) if was_image else x).reshape(x.shape[0], *target)
        return made.movedim(-1, 1) if is_image else made

    return Apply(f"reshape to {target}", reshaped)


def _permute(layer: Layer) -> nn.Module:
    order, is_image = [0, *(int(n) for n in layer.config["dims"])], layer.rank == 4

    def permuted(x: Tensor) -> Tensor:
        return x.movedim(1, -1).permute(order).movedim(-1, 1) if is_image else x.permute(order)

    return Apply("permute", permuted)


def _zero_padding(layer: Layer) -> nn.Module:
    (top, bottom), (left, right) = _sides(layer, "padding")
    return nn.ZeroPad2d((left, right, top, bottom))


def _cropping(layer: Layer) -> nn.Module:
    (top, bottom), (left, right) = _sides(layer, "cropping")
    return Apply("crop", lambda x: x[:, :, top : x.shape[2] - bottom, left : x.shape[3] - right])


def _sides(layer: Layer, name: str) -> list[tuple[int, int]]:
    given = layer.config[name]
    pairs = [given, given] if isinstance(given, int) else given
    return [(pair, pair) if isinstance(pair, int) else (int(pair[0]), int(pair[1])) for pair in pairs]


def _up_sampling(layer: Layer) -> nn.Module:
    if layer.config.get("interpolation", "nearest") != "nearest":
        raise layer.refused(f"its interpolation is {layer.config['interpolation']}")
    return nn.Upsample(scale_factor=tuple(float(n) for n in _each(layer, "size", 2)), mode="nearest")


def _rescaling(layer: Layer) -> nn.Module:
    scale, offset = layer.config.get("scale", 1.0), layer.config.get("offset", 0.0)
    if not all(isinstance(n, int | float) for n in (scale, offset)):
        raise layer.refused("it has a scale for each channel")
    return Apply("rescaling", lambda x: x * scale + offset)


def _normalization(layer: Layer) -> nn.Module:
    if layer.config.get("invert"):
        raise layer.refused("it inverts")
    mean, variance = (value.flatten() for value in layer.take(3)[:2])
    shape = [-1, 1, 1] if layer.rank == 4 else [-1]
    mean, deviation = mean.reshape(shape), variance.sqrt().clamp(min=1e-7).reshape(shape)
    return With("normalization", lambda x, m, d: (x - m) / d, {1: mean, 2: deviation}, [])


def _embedding(layer: Layer) -> nn.Module:
    if layer.config.get("mask_zero"):
        raise layer.refused("it masks zeros")
    layer.rank += 1
    return Embedded(layer.take(1)[0])


def _each(layer: Layer, name: str, default: Any = 1) -> list[int]:
    """A number for each axis of a window; one number counts for all."""
    given = layer.config.get(name, default)
    return [int(given)] * (layer.rank - 2) if isinstance(given, int) else [int(n) for n in given]


def _same(layer: Layer) -> nn.Module:  # noqa: ARG001 (the table's signature)
    return nn.Identity()


ACTIVATIONS_OF_OWN = ("Activation",)
AUGMENTATIONS = ("RandomFlip", "RandomRotation", "RandomZoom", "RandomTranslation", "RandomContrast", "RandomCrop")
LAYERS: Mapping[str, Callable[[Layer], nn.Module]] = {
    "Dense": _dense,
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
    "BatchNormalization": _batch_norm,
    "LayerNormalization": _layer_norm,
    "Activation": lambda layer: (
        activation(layer.config["activation"], rank=layer.rank, name=layer.name) or nn.Identity()
    ),
    "ReLU": _relu,
    "LeakyReLU": _leaky,
    "PReLU": _prelu,
    "ELU": lambda layer: nn.ELU(float(layer.config.get("alpha", 1.0))),
    "Softmax": _softmax,
    "Add": _merge(torch.add),
    "Subtract": _merge(torch.sub),
    "Multiply": _merge(torch.mul),
    "Maximum": _merge(torch.maximum),
    "Minimum": _merge(torch.minimum),
    "Average": _average,
    "Concatenate": _concatenate,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Permute": _permute,
    "ZeroPadding2D": _zero_padding,
    "Cropping2D": _cropping,
    "UpSampling2D": _up_sampling,
    "Rescaling": _rescaling,
    "Normalization": _normalization,
    "Embedding": _embedding,
    "Dropout": lambda layer: nn.Dropout(float(layer.config.get("rate", 0.5))),
    "SpatialDropout2D": lambda layer: nn.Dropout2d(float(layer.config.get("rate", 0.5))),
    "ActivityRegularization": _same,
    **dict.fromkeys(AUGMENTATIONS, _same),
}
