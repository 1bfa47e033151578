# SPDX-License-Identifier: Apache-2.0
"""Keras's layers as torch modules. Tensors of four axes are channels first here, others as Keras has them.

Source: keras.io/api/layers; TensorFlow's rule for padding "same" (layers.Same).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from mlhub.runtime.importers import layers
from mlhub.runtime.importers.graph import unknown
from mlhub.runtime.importers.keras.activations import activation
from mlhub.runtime.importers.keras.layer import KerasLayer
from mlhub.runtime.importers.keras.windows import WINDOWS, Turned
from mlhub.runtime.importers.layers import ApplyFunction, Embedded, LastAxisFirst, With


def converted(layer: KerasLayer) -> list[nn.Module]:
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


def _dense(layer: KerasLayer) -> nn.Module:
    has_bias = layer.config.get("use_bias", True)
    values = layer.take(1 + has_bias)
    made = layers.linear(values[0].T, values[1] if has_bias else None)
    return made if layer.rank < 4 else LastAxisFirst(made)


def _batch_norm(layer: KerasLayer) -> nn.Module:
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


def _layer_norm(layer: KerasLayer) -> nn.Module:
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


def _check_axis(layer: KerasLayer) -> None:
    axis = layer.config.get("axis", -1)
    if axis not in (-1, layer.rank - 1, [-1], [layer.rank - 1]):
        raise layer.refused(f"it normalises over axis {axis}, not the last")


def _relu(layer: KerasLayer) -> nn.Module:
    config = layer.config
    top, slope, threshold = config.get("max_value"), config.get("negative_slope") or 0.0, config.get("threshold") or 0.0
    if isinstance(slope, list | dict) or threshold:
        raise layer.refused("it has a threshold")
    if top is None:
        return nn.LeakyReLU(float(slope)) if slope else nn.ReLU()
    return ApplyFunction("relu", lambda x: F.leaky_relu(x, float(slope)).clamp(max=float(top)))


def _leaky(layer: KerasLayer) -> nn.Module:
    return nn.LeakyReLU(float(layer.config.get("negative_slope", layer.config.get("alpha", 0.3))))


def _prelu(layer: KerasLayer) -> nn.Module:
    slope = layer.take(1)[0]
    slope = slope.movedim(-1, 0) if layer.rank == 4 else slope
    return With("prelu", lambda x, a: torch.where(x >= 0, x, x * a), {1: slope}, [1])


def _softmax(layer: KerasLayer) -> nn.Module:
    return nn.Softmax(_axis(layer, layer.config.get("axis", -1)))


def _axis(layer: KerasLayer, axis: int) -> int:
    """Of a tensor here, from the one that Keras means."""
    if layer.rank < 4:
        return axis
    return [0, 2, 3, 1][axis]


def _merge(function: Callable[[Any, Any], Any]) -> Callable[[KerasLayer], nn.Module]:
    def made(layer: KerasLayer) -> nn.Module:
        if len(set(layer.ranks)) > 1:
            raise layer.refused("its inputs have different numbers of axes")
        return ApplyFunction(layer.kind, lambda *values: reduce(function, values))

    return made


def _average(layer: KerasLayer) -> nn.Module:
    return ApplyFunction(layer.kind, lambda *values: reduce(torch.add, values) / len(values))


def _concatenate(layer: KerasLayer) -> nn.Module:
    axis = _axis(layer, int(layer.config.get("axis", -1)))
    return ApplyFunction(layer.kind, lambda *values: torch.cat(values, axis))


def _flatten(layer: KerasLayer) -> nn.Module:
    """In Keras's order: of an image, channels vary fastest."""
    is_image, layer.rank = layer.rank == 4, 2
    return ApplyFunction("flatten", lambda x: x.movedim(1, -1).flatten(1)) if is_image else nn.Flatten()


def _reshape(layer: KerasLayer) -> nn.Module:
    target = [int(n) for n in layer.config["target_shape"]]
    was_image, layer.rank = layer.rank == 4, 1 + len(target)
    is_image = layer.rank == 4

    def reshaped(x: Tensor) -> Tensor:
        made = (x.movedim(1, -1) if was_image else x).reshape(x.shape[0], *target)
        return made.movedim(-1, 1) if is_image else made

    return ApplyFunction(f"reshape to {target}", reshaped)


def _permute(layer: KerasLayer) -> nn.Module:
    order, is_image = [0, *(int(n) for n in layer.config["dims"])], layer.rank == 4

    def permuted(x: Tensor) -> Tensor:
        return x.movedim(1, -1).permute(order).movedim(-1, 1) if is_image else x.permute(order)

    return ApplyFunction("permute", permuted)


def _rescaling(layer: KerasLayer) -> nn.Module:
    scale, offset = layer.config.get("scale", 1.0), layer.config.get("offset", 0.0)
    if not all(isinstance(n, int | float) for n in (scale, offset)):
        raise layer.refused("it has a scale for each channel")
    return ApplyFunction("rescaling", lambda x: x * scale + offset)


def _normalization(layer: KerasLayer) -> nn.Module:
    if layer.config.get("invert"):
        raise layer.refused("it inverts")
    mean, variance = (value.flatten() for value in layer.take(3)[:2])
    shape = [-1, 1, 1] if layer.rank == 4 else [-1]
    mean, deviation = mean.reshape(shape), variance.sqrt().clamp(min=1e-7).reshape(shape)
    return With("normalization", lambda x, m, d: (x - m) / d, {1: mean, 2: deviation}, [])


def _embedding(layer: KerasLayer) -> nn.Module:
    if layer.config.get("mask_zero"):
        raise layer.refused("it masks zeros")
    layer.rank += 1
    return Embedded(layer.take(1)[0])


def _same(layer: KerasLayer) -> nn.Module:  # noqa: ARG001 (the table's signature)
    return nn.Identity()


ACTIVATIONS_OF_OWN = ("Activation",)
AUGMENTATIONS = ("RandomFlip", "RandomRotation", "RandomZoom", "RandomTranslation", "RandomContrast", "RandomCrop")
LAYERS: Mapping[str, Callable[[KerasLayer], nn.Module]] = {
    **WINDOWS,
    "Dense": _dense,
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
    "Rescaling": _rescaling,
    "Normalization": _normalization,
    "Embedding": _embedding,
    "Dropout": lambda layer: nn.Dropout(float(layer.config.get("rate", 0.5))),
    "SpatialDropout2D": lambda layer: nn.Dropout2d(float(layer.config.get("rate", 0.5))),
    "ActivityRegularization": _same,
    **dict.fromkeys(AUGMENTATIONS, _same),
}
