# SPDX-License-Identifier: Apache-2.0
"""ONNX operators without weights: activations, arithmetic, reductions, and everything about shapes.

Source: github.com/onnx/onnx, docs/Operators.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from mlhub.runtime.importers.onnx.files import DTYPES
from mlhub.runtime.importers.onnx.nodes import Made, OnnxNode


class FlatSoftmax(nn.Softmax):
    """As before operator set 13: over everything from the axis on."""

    def forward(self, input: Tensor) -> Tensor:
        assert self.dim is not None
        return input.flatten(self.dim).softmax(-1).reshape(input.shape)


def of(function: Callable[..., Any]) -> Callable[[OnnxNode], Made]:
    return lambda node: node.functional(function)


def module(make: Callable[[OnnxNode], nn.Module]) -> Callable[[OnnxNode], Made]:
    return lambda node: (make(node), node.inputs[:1])


def plain(make: Callable[[], nn.Module]) -> Callable[[OnnxNode], Made]:
    return lambda node: (make(), node.inputs[:1])


def all_of(function: Callable[[Any, Any], Any]) -> Callable[[OnnxNode], Made]:
    """Of any number of inputs, two by two."""
    return lambda node: node.functional(lambda *values: reduce(function, values))


def _softmax(node: OnnxNode) -> nn.Module:
    if node.opset >= 13:
        return nn.Softmax(node.attr("axis", -1))
    axis = node.attr("axis", 1)
    return nn.Softmax(-1) if axis == -1 else FlatSoftmax(axis)


def _divided(a: Tensor, b: Tensor) -> Tensor:
    if a.is_floating_point() or b.is_floating_point():
        return a / b
    return torch.div(a, b, rounding_mode="trunc")


def _clip(node: OnnxNode) -> Made:
    if node.opset < 11:
        low, high = node.attr("min"), node.attr("max")
        return node.functional(lambda x: x.clamp(low, high))
    return node.functional(lambda x, low=None, high=None: x if low is None and high is None else x.clamp(low, high))


def _reduced(function: Callable[[Tensor, tuple[int, ...], bool], Tensor]) -> Callable[[OnnxNode], Made]:
    def made(node: OnnxNode) -> Made:
        axes, keeps = node.numbers("axes", 1), bool(node.attr("keepdims", 1))
        if not axes and node.attr("noop_with_empty_axes", 0):
            return nn.Identity(), node.inputs[:1]
        return node.functional(lambda x: function(x, tuple(axes or range(x.dim())), keeps), n=1)

    return made


def _reshape(node: OnnxNode) -> Made:
    batch = node.fixed_batch

    def reshaped(x: Tensor, shape: Tensor | Sequence[int]) -> Tensor:
        wanted = [int(n) for n in (shape.tolist() if isinstance(shape, Tensor) else shape)]
        if not node.attr("allowzero", 0):
            wanted = [x.shape[i] if n == 0 else n for i, n in enumerate(wanted)]
        if wanted and batch is not None and wanted[0] == batch:  # exported for one size of batch
            wanted[0] = x.shape[0] if -1 in wanted else -1
        return x.reshape(wanted)

    if node.opset < 5:
        return node.functional(lambda x: reshaped(x, node.attr("shape", [])))
    if node.is_constant(0):
        return node.functional(lambda x, shape: x.reshape(shape.tolist()))
    if node.is_constant(1):  # a list at once: a tensor might lie on a GPU
        wanted = _whole(node.constant(1))
        return node.functional(lambda x: reshaped(x, wanted), n=1)
    return node.functional(reshaped)


def _flatten(node: OnnxNode) -> Made:
    axis = node.attr("axis", 1)
    if axis == 1:
        return nn.Flatten(1), node.inputs[:1]
    return node.functional(lambda x: x.reshape(math.prod(x.shape[:axis]), -1))


def _squeeze(node: OnnxNode) -> Made:
    axes = node.numbers("axes", 1)
    return node.functional(lambda x: x.squeeze() if axes is None else x.squeeze(tuple(axes)), n=1)


def _unsqueeze(node: OnnxNode) -> Made:
    axes = node.numbers("axes", 1) or []

    def unsqueezed(x: Tensor) -> Tensor:
        n = x.dim() + len(axes)
        for axis in sorted(a % n for a in axes):
            x = x.unsqueeze(axis)
        return x

    return node.functional(unsqueezed, n=1)


def _transpose(node: OnnxNode) -> Made:
    order = node.attr("perm")
    return node.functional(lambda x: x.permute(order or tuple(reversed(range(x.dim())))))


def _split(node: OnnxNode) -> Made:
    axis, n = node.attr("axis", 0), len(node.proto.output)
    sizes = node.numbers("split", 1)

    def split(x: Tensor) -> Any:
        return torch.split(x, sizes or -(-x.shape[axis] // n), axis)

    made = node.functional(split, n=1)
    return made if n > 1 else node.functional(lambda x: x, n=1)


def _sliced(node: OnnxNode) -> Made:
    """Slices by attributes (old) or inputs, which may be computed from shapes."""

    def cut(x: Tensor, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Tensor:
        begins, stops = _whole(starts), _whole(ends)
        places = list(range(len(begins))) if axes is None else _whole(axes)
        jumps = [1] * len(begins) if steps is None else _whole(steps)
        for begin, stop, axis, jump in zip(begins, stops, places, jumps, strict=True):
            kept = range(x.shape[axis])[begin:stop:jump]
            if jump == 1:
                x = x.narrow(axis, min(kept.start, x.shape[axis]), len(kept))
            else:  # torch's slices do not go backwards
                x = x.index_select(axis, torch.tensor(list(kept), dtype=torch.long, device=x.device))
        return x

    if node.opset < 10:
        starts, ends, axes = node.attr("starts"), node.attr("ends"), node.attr("axes")
        return node.functional(lambda x: cut(x, starts, ends, axes))
    if all(node.is_constant(i) or not node.has(i) for i in range(1, 5)):
        given = [None if (value := node.maybe(i)) is None else _whole(value) for i in range(1, 5)]
        return node.functional(lambda x: cut(x, *given), n=1)
    return node.functional(cut)


def _pad(node: OnnxNode) -> Made:
    mode = {"constant": "constant", "reflect": "reflect", "edge": "replicate"}.get(node.attr("mode", "constant"))
    pads = node.numbers("pads", 1)
    if mode is None or pads is None or node.has(3):
        raise node.refused("it pads in a way that is not read")
    fill = node.maybe(2)
    value = float(node.attr("value", 0.0) if fill is None else fill)
    n = len(pads) // 2
    turned = [pads[i + side * n] for i in reversed(range(n)) for side in (0, 1)]
    while mode != "constant" and len(turned) > 2 and turned[-2:] == [0, 0] and len(turned) // 2 > n - 2:
        turned = turned[:-2]  # torch reflects places only
    return node.functional(lambda x: F.pad(x, turned, mode, value if mode == "constant" else None), n=1)


def _cast(node: OnnxNode) -> Made:
    kind = DTYPES.get(node.attr("to"))
    if kind is None:
        raise node.refused("it makes a kind of number that is not read")
    return node.functional(lambda x: x.to(kind))


def _constant_of_shape(node: OnnxNode) -> Made:
    value = node.attr("value", torch.zeros(1))
    return node.functional(
        lambda shape: torch.full(shape.tolist(), value.item(), dtype=value.dtype, device=shape.device)
    )


def _shape(node: OnnxNode) -> Made:
    start, end = node.attr("start", 0), node.attr("end")
    return node.functional(lambda x: torch.tensor(x.shape[start:end], device=x.device))


def _concat(node: OnnxNode) -> Made:
    axis = node.attr("axis", 0)
    return node.functional(lambda *values: torch.cat(values, axis))


def _hard_sigmoid(node: OnnxNode) -> Made:
    alpha, beta = node.attr("alpha", 0.2), node.attr("beta", 0.5)
    return node.functional(lambda x: (alpha * x + beta).clamp(0, 1))


def _whole(values: Any) -> list[int]:
    return [int(n) for n in (values.flatten().tolist() if isinstance(values, Tensor) else values)]


ELEMENTWISE: Mapping[str, Callable[..., Any]] = {
    "Erf": torch.erf, "Exp": torch.exp, "Log": torch.log, "Sqrt": torch.sqrt, "Neg": torch.neg,
    "Abs": torch.abs, "Reciprocal": torch.reciprocal, "Floor": torch.floor, "Ceil": torch.ceil,
    "Sin": torch.sin, "Cos": torch.cos, "Sign": torch.sign, "Not": torch.logical_not,
    "Sub": torch.sub, "Pow": torch.pow, "Div": _divided, "Equal": torch.eq, "Greater": torch.gt,
    "GreaterOrEqual": torch.ge, "Less": torch.lt, "LessOrEqual": torch.le, "And": torch.logical_and,
    "Or": torch.logical_or, "Where": torch.where,
}  # fmt: skip
FUNCTIONS: Mapping[str, Callable[[OnnxNode], Made]] = {
    "Relu": plain(nn.ReLU),
    "LeakyRelu": module(lambda node: nn.LeakyReLU(node.attr("alpha", 0.01))),
    "PRelu": of(lambda x, slope: torch.where(x >= 0, x, x * slope)),
    "Elu": module(lambda node: nn.ELU(node.attr("alpha", 1.0))),
    "Celu": module(lambda node: nn.CELU(node.attr("alpha", 1.0))),
    "Selu": plain(nn.SELU),
    "Sigmoid": plain(nn.Sigmoid),
    "Tanh": plain(nn.Tanh),
    "Softplus": plain(nn.Softplus),
    "Softsign": plain(nn.Softsign),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": plain(nn.Hardswish),
    "Mish": plain(nn.Mish),
    "Gelu": module(lambda node: nn.GELU(node.attr("approximate", "none"))),
    "Softmax": module(_softmax),
    "LogSoftmax": module(lambda node: nn.LogSoftmax(node.attr("axis", -1 if node.opset >= 13 else 1))),
    "Identity": plain(nn.Identity),
    **{name: of(function) for name, function in ELEMENTWISE.items()},
    "Add": all_of(torch.add),
    "Mul": all_of(torch.mul),
    "Sum": all_of(torch.add),
    "Max": all_of(torch.maximum),
    "Min": all_of(torch.minimum),
    "Mean": of(lambda *values: reduce(torch.add, values) / len(values)),
    "Mod": lambda node: node.functional(torch.fmod if node.attr("fmod", 0) else torch.remainder),
    "Clip": _clip,
    "ReduceMean": _reduced(lambda x, axes, keeps: x.mean(axes, keepdim=keeps)),
    "ReduceSum": _reduced(lambda x, axes, keeps: x.sum(axes, keepdim=keeps)),
    "ReduceMax": _reduced(lambda x, axes, keeps: x.amax(axes, keepdim=keeps)),
    "ReduceMin": _reduced(lambda x, axes, keeps: x.amin(axes, keepdim=keeps)),
    "ReduceL2": _reduced(lambda x, axes, keeps: x.square().sum(axes, keepdim=keeps).sqrt()),
    "ReduceProd": _reduced(lambda x, axes, keeps: reduce(lambda y, a: y.prod(a, keepdim=keeps), sorted(axes)[::-1], x)),
    "Shape": _shape,
    "Size": of(lambda x: torch.tensor(x.numel(), device=x.device)),
    "Cast": _cast,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": _transpose,
    "Concat": _concat,
    "Split": _split,
    "Slice": _sliced,
    "Pad": _pad,
    "Expand": of(lambda x, shape: x * torch.ones(shape.tolist(), dtype=x.dtype, device=x.device)),
    "Tile": of(lambda x, times: x.repeat(times.tolist())),
    "ConstantOfShape": _constant_of_shape,
    "Range": of(lambda a, b, step: torch.arange(a.item(), b.item(), step.item(), device=a.device)),
}  # fmt: skip
