# SPDX-License-Identifier: Apache-2.0
"""ONNX operators that have weights, windows or places: convolutions, products, pooling, normalisation.

Source: github.com/onnx/onnx, docs/Operators.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from mlhub.runtime.importers import layers
from mlhub.runtime.importers.layers import ApplyFunction, Embedded, MeanOfPresent, Padded, Same
from mlhub.runtime.importers.onnx.nodes import Made, OnnxNode

MAX_POOLS: Mapping[int, Callable[..., nn.Module]] = {1: nn.MaxPool1d, 2: nn.MaxPool2d, 3: nn.MaxPool3d}
MEAN_POOLS: Mapping[int, Callable[..., nn.Module]] = {1: nn.AvgPool1d, 2: nn.AvgPool2d, 3: nn.AvgPool3d}
LOWEST = float("-inf")


def conv(node: OnnxNode) -> Made:
    weight, bias = node.constant(1), node.maybe(2)
    axes = weight.dim() - 2
    if axes not in MAX_POOLS:
        raise node.refused(f"its kernel has {axes} axes")
    stride, dilation = node.attr("strides", [1] * axes), node.attr("dilations", [1] * axes)
    groups = node.attr("group", 1)

    def made(padding: Sequence[int]) -> nn.Module:
        return layers.convolution(weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)

    return _padded(node, made, kernel=weight.shape[2:], stride=stride, dilation=dilation, value=0.0), node.inputs[:1]


def conv_transpose(node: OnnxNode) -> Made:
    weight, bias = node.constant(1), node.maybe(2)
    axes = weight.dim() - 2
    begins, ends = _pads(node, axes)
    is_plain = begins == ends and node.attr("auto_pad", "NOTSET") == "NOTSET" and not node.attr("output_shape")
    if axes not in MAX_POOLS or not is_plain:
        raise node.refused("it pads unevenly or names its output's shape")
    made = layers.transposed_convolution(
        weight,
        bias,
        stride=node.attr("strides", [1] * axes),
        padding=begins,
        output_padding=node.attr("output_padding", [0] * axes),
        dilation=node.attr("dilations", [1] * axes),
        groups=node.attr("group", 1),
    )
    return made, node.inputs[:1]


def max_pool(node: OnnxNode) -> Made:
    kernel = node.attr("kernel_shape", [])
    axes = len(kernel)
    if axes not in MAX_POOLS or len([name for name in node.proto.output if name]) > 1:
        raise node.refused("it has no kernel of one to three axes, or gives indices too")
    stride, dilation = node.attr("strides", [1] * axes), node.attr("dilations", [1] * axes)

    def made(padding: Sequence[int]) -> nn.Module:
        return MAX_POOLS[axes](
            tuple(kernel), tuple(stride), tuple(padding), tuple(dilation), ceil_mode=bool(node.attr("ceil_mode", 0))
        )

    is_narrow = 2 * max(_pads(node, axes)[0], default=0) <= min(kernel)
    return _padded(
        node, made, kernel=kernel, stride=stride, dilation=dilation, value=LOWEST, can_pad=is_narrow
    ), node.inputs[:1]


def average_pool(node: OnnxNode) -> Made:
    kernel = node.attr("kernel_shape", [])
    axes = len(kernel)
    if axes not in MEAN_POOLS or any(d != 1 for d in node.attr("dilations", [])):
        raise node.refused("it has no kernel of one to three axes, or dilates it")
    stride, counts = node.attr("strides", [1] * axes), bool(node.attr("count_include_pad", 0))
    is_even = node.attr("auto_pad", "NOTSET") in ("NOTSET", "VALID") and _pads(node, axes)[0] == _pads(node, axes)[1]
    can_pad = is_even and 2 * max(_pads(node, axes)[0], default=0) <= min(kernel)

    def made(padding: Sequence[int]) -> nn.Module:
        return MEAN_POOLS[axes](
            tuple(kernel), tuple(stride), tuple(padding), ceil_mode=bool(node.attr("ceil_mode", 0)),
            count_include_pad=counts,
        )  # fmt: skip

    pool = _padded(node, made, kernel=kernel, stride=stride, dilation=[1] * axes, value=0.0, can_pad=can_pad)
    return pool if can_pad or counts else MeanOfPresent(pool), node.inputs[:1]


def gemm(node: OnnxNode) -> Made:
    """alpha * A B + beta * C; with constant B and C a linear layer."""
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    turns_a, turns_b = bool(node.attr("transA", 0)), bool(node.attr("transB", 0))
    c = node.maybe(2) if node.is_constant(2) else None
    if not turns_a and node.is_constant(1) and (c is not None or not node.has(2)):
        weight = node.constant(1) if turns_b else node.constant(1).T
        if c is None or c.numel() in (1, weight.shape[0]):
            bias = None if c is None else (beta * c).flatten().expand(weight.shape[0])
            return layers.linear(alpha * weight, bias), node.inputs[:1]

    def product(a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
        made: Tensor = alpha * (a.T if turns_a else a) @ (b.T if turns_b else b)
        return made if c is None else torch.add(made, beta * c)

    return node.functional(product)


def mat_mul(node: OnnxNode) -> Made:
    if node.is_constant(1) and not node.is_constant(0) and node.constant(1).dim() == 2:
        return layers.linear(node.constant(1).T, None), node.inputs[:1]
    return node.functional(torch.matmul)


def batch_normalization(node: OnnxNode) -> Made:
    if node.attr("training_mode", 0):
        raise node.refused("it was exported in training mode")
    made = layers.batch_norm(
        weight=node.constant(1),
        bias=node.constant(2),
        mean=node.constant(3),
        variance=node.constant(4),
        eps=node.attr("epsilon", 1e-5),
        momentum=1.0 - node.attr("momentum", 0.9),
    )
    return made, node.inputs[:1]


def instance_normalization(node: OnnxNode) -> Made:
    eps = node.attr("epsilon", 1e-5)
    return node.functional(lambda x, w, b: F.instance_norm(x, weight=w, bias=b, eps=eps))


def layer_normalization(node: OnnxNode) -> Made:
    eps, axis = node.attr("epsilon", 1e-5), node.attr("axis", -1)
    return node.functional(lambda x, w, b=None: F.layer_norm(x, x.shape[axis:], w, b, eps), n=3)


def group_normalization(node: OnnxNode) -> Made:
    eps, groups = node.attr("epsilon", 1e-5), node.attr("num_groups", 1)
    if node.opset < 21:
        raise node.refused("before operator set 21 its weights are of groups")
    return node.functional(lambda x, w, b: F.group_norm(x, groups, w, b, eps))


def lrn(node: OnnxNode) -> Made:
    made = nn.LocalResponseNorm(
        node.attr("size"), node.attr("alpha", 1e-4), node.attr("beta", 0.75), node.attr("bias", 1.0)
    )
    return made, node.inputs[:1]


def dropout(node: OnnxNode) -> Made:
    ratio = node.maybe(1)
    return nn.Dropout(node.attr("ratio", 0.5) if ratio is None else float(ratio)), node.inputs[:1]


def gather(node: OnnxNode) -> Made:
    """Rows by whole numbers: an embedding, when the table is a weight."""
    axis = node.attr("axis", 0)
    if node.is_constant(0) and not node.is_constant(1) and axis == 0 and node.constant(0).is_floating_point():
        return Embedded(node.constant(0)), node.inputs[1:2]

    def gathered(x: Tensor, places: Tensor) -> Tensor:
        at = axis % x.dim()
        wrapped = torch.where(places < 0, places + x.shape[at], places).long()
        found = x.index_select(at, wrapped.flatten())
        return found.reshape([*x.shape[:at], *places.shape, *x.shape[at + 1 :]])

    return node.functional(gathered)


def global_pool(reduce: Callable[[Tensor, tuple[int, ...]], Tensor]) -> Callable[[OnnxNode], Made]:
    return lambda node: (ApplyFunction(node.op, lambda x: reduce(x, tuple(range(2, x.dim())))), node.inputs[:1])


def _pads(node: OnnxNode, axes: int) -> tuple[list[int], list[int]]:
    pads = node.attr("pads", [0] * (2 * axes))
    return pads[:axes], pads[axes:]


def _padded(
    node: OnnxNode, made: Callable[[Sequence[int]], nn.Module], *, kernel: Sequence[int], stride: Sequence[int],
    dilation: Sequence[int], value: float, can_pad: bool = True,
) -> nn.Module:  # fmt: skip
    """made(padding): the layer, padding by itself. can_pad: whether it may."""
    axes = len(kernel)
    automatic = node.attr("auto_pad", "NOTSET")
    begins, ends = _pads(node, axes)
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        return Same(
            made([0] * axes), kernel=kernel, stride=stride, dilation=dilation, value=value,
            is_lower=automatic == "SAME_LOWER",
        )  # fmt: skip
    if automatic == "VALID":
        return made([0] * axes)
    if begins == ends and can_pad:
        return made(begins)
    return Padded(list(zip(begins, ends, strict=True)), made([0] * axes), value=value)


LAYERS: Mapping[str, Callable[[OnnxNode], Made]] = {
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "MaxPool": max_pool,
    "AveragePool": average_pool,
    "GlobalAveragePool": global_pool(lambda x, axes: x.mean(axes, keepdim=True)),
    "GlobalMaxPool": global_pool(lambda x, axes: x.amax(axes, keepdim=True)),
    "Gemm": gemm,
    "MatMul": mat_mul,
    "BatchNormalization": batch_normalization,
    "InstanceNormalization": instance_normalization,
    "LayerNormalization": layer_normalization,
    "GroupNormalization": group_normalization,
    "LRN": lrn,
    "Dropout": dropout,
    "Gather": gather,
}
