# SPDX-License-Identifier: Apache-2.0
"""Modules that torch has not, as other frameworks mean them. Images are channels first: (batch, channels, ...)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 (torch's own name for it)

M = TypeVar("M", bound=nn.Module)


class ApplyFunction(nn.Module):
    """A function without parameters. word: what repr calls it."""

    def __init__(self, word: str, function: Callable[..., Any]) -> None:
        super().__init__()
        self._word, self._function = word, function

    def forward(self, *values: Any) -> Any:
        return self._function(*values)

    def extra_repr(self) -> str:
        return self._word


class Constant(nn.Module):
    """A value of the file: trained when it is a weight, else a buffer."""

    def __init__(self, value: Tensor, *, is_trained: bool) -> None:
        super().__init__()
        self.value: Tensor
        if is_trained:
            self.value = nn.Parameter(value)
        else:
            self.register_buffer("value", value, persistent=value.is_floating_point())

    def forward(self) -> Tensor:
        return self.value


class With(nn.Module):
    """A function of its inputs and values of the file, at their places. Serves arithmetic with constants.

    values: place among the arguments -> tensor. trained: places whose values are weights.
    """

    def __init__(
        self, word: str, function: Callable[..., Any], values: dict[int, Tensor], trained: Sequence[int]
    ) -> None:
        super().__init__()
        self._word, self._function = word, function
        self._places = sorted(values)
        for place, value in values.items():
            if place in trained:
                self.register_parameter(f"value_{place}", nn.Parameter(value))
            else:
                self.register_buffer(f"value_{place}", value, persistent=value.is_floating_point())

    def forward(self, *inputs: Any) -> Any:
        arguments = list(inputs)
        for place in self._places:
            arguments.insert(place, getattr(self, f"value_{place}"))
        return self._function(*arguments)

    def extra_repr(self) -> str:
        return self._word


class Padded(nn.Module):
    """Pads the places of images unevenly before a layer, which itself pads nothing.

    pads: before and after of each axis, first axis first. value: of a maximum, minus infinity.
    """

    def __init__(self, pads: Sequence[tuple[int, int]], inner: nn.Module, *, value: float = 0.0) -> None:
        super().__init__()
        self.inner = inner
        self._pads = [n for pair in reversed(pads) for n in pair]
        self._value = value

    def forward(self, x: Tensor) -> Tensor:
        padded: Tensor = self.inner(F.pad(x, self._pads, value=self._value))
        return padded


class Same(nn.Module):
    """Padding "same", as TensorFlow and ONNX mean it: ceil(size / stride) outputs an axis, whatever the stride.

    An odd place goes after the image; is_lower: before it. inner pads nothing itself.
    """

    def __init__(
        self,
        inner: nn.Module,
        *,
        kernel: Sequence[int],
        stride: Sequence[int],
        dilation: Sequence[int],
        value: float = 0.0,
        is_lower: bool = False,
    ) -> None:
        super().__init__()
        self.inner = inner
        self._axes = list(zip(kernel, stride, dilation, strict=True))
        self._value, self._is_lower = value, is_lower

    def forward(self, x: Tensor) -> Tensor:
        pads: list[int] = []
        for size, (k, s, d) in reversed(list(zip(x.shape[2:], self._axes, strict=True))):
            total = max((math.ceil(size / s) - 1) * s + d * (k - 1) + 1 - size, 0)
            small, large = total // 2, total - total // 2
            pads += [large, small] if self._is_lower else [small, large]
        made: Tensor = self.inner(F.pad(x, pads, value=self._value) if any(pads) else x)
        return made


class MeanOfPresent(nn.Module):
    """Average pooling that does not count padding: sums over places, divided by how many there are of them."""

    def __init__(self, padded_pool: nn.Module) -> None:
        """padded_pool: pads with zeros, then averages over whole windows."""
        super().__init__()
        self.pool = padded_pool

    def forward(self, x: Tensor) -> Tensor:
        present: Tensor = self.pool(torch.ones_like(x[:1, :1]))
        means: Tensor = self.pool(x)
        return means / present


class LastAxisFirst(nn.Module):
    """A layer written for channels last, given channels first: turns, applies, turns back what is still an image."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.inner(x.movedim(1, -1))
        return made.movedim(-1, 1) if made.dim() > 2 else made


class LrnWithin(nn.Module):
    """Local response normalisation over a square of places: x / (k + alpha * mean of squares) ** beta."""

    def __init__(self, size: int, *, alpha: float, beta: float, k: float) -> None:
        super().__init__()
        self._size, self._alpha, self._beta, self._k = size, alpha, beta, k

    def forward(self, x: Tensor) -> Tensor:
        mean = F.avg_pool2d(x.square(), self._size, stride=1, padding=(self._size - 1) // 2)
        return x / (self._k + self._alpha * mean).pow(self._beta)


class Embedded(nn.Module):
    """Rows of a table, by whole numbers that may come as floats."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        rows = nn.Embedding(table.shape[0], table.shape[1], device="meta").to_empty(device="cpu")
        self.rows = filled(rows, weight=table)

    def forward(self, x: Tensor) -> Tensor:
        rows: Tensor = self.rows(x.long())
        return rows


class TwoClasses(nn.Module):
    """Logits of both classes from the one before a sigmoid: softmax((0, z)) is (1 - sigmoid(z), sigmoid(z))."""

    def forward(self, z: Tensor) -> Tensor:
        return torch.cat([torch.zeros_like(z), z], dim=-1)


class Affine(nn.Module):
    """What the model expects of the dataset's numbers: x * scale + shift, and which channel comes first."""

    scale: Tensor
    shift: Tensor

    def __init__(self, scale: Tensor, shift: Tensor, *, reverses: bool) -> None:
        """scale, shift: shapes that an example takes, without the batch."""
        super().__init__()
        self.register_buffer("scale", scale)
        self.register_buffer("shift", shift)
        self._reverses = reverses

    def forward(self, x: Tensor) -> Tensor:
        seen = x.flip(1) if self._reverses else x
        return seen * self.scale + self.shift


def linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    """weight: (outputs, inputs)."""
    made = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, device="meta")
    return filled(made.to_empty(device="cpu"), weight=weight, bias=bias)


def convolution(
    weight: Tensor,
    bias: Tensor | None,
    *,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> nn.Module:
    """weight: (outputs, inputs / groups, ...kernel), of one, two or three axes. Raises KeyError for more."""
    kind: Callable[..., nn.Module] = {3: nn.Conv1d, 4: nn.Conv2d, 5: nn.Conv3d}[weight.dim()]
    made = kind(
        weight.shape[1] * groups,
        weight.shape[0],
        tuple(weight.shape[2:]),
        stride=tuple(stride),
        padding=tuple(padding),
        dilation=tuple(dilation),
        groups=groups,
        bias=bias is not None,
        device="meta",
    )
    return filled(made.to_empty(device="cpu"), weight=weight, bias=bias)


def transposed_convolution(
    weight: Tensor,
    bias: Tensor | None,
    *,
    stride: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> nn.Module:
    """weight: (inputs, outputs / groups, ...kernel)."""
    kinds: dict[int, Callable[..., nn.Module]] = {3: nn.ConvTranspose1d, 4: nn.ConvTranspose2d, 5: nn.ConvTranspose3d}
    made = kinds[weight.dim()](
        weight.shape[0],
        weight.shape[1] * groups,
        tuple(weight.shape[2:]),
        stride=tuple(stride),
        padding=tuple(padding),
        output_padding=tuple(output_padding),
        dilation=tuple(dilation),
        groups=groups,
        bias=bias is not None,
        device="meta",
    )
    return filled(made.to_empty(device="cpu"), weight=weight, bias=bias)


class BatchNorm(nn.modules.batchnorm._BatchNorm):
    """Over the batch and all places, whatever their number of axes."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"an input of {input.dim()} axes has no channels to normalise")


def batch_norm(
    *, mean: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, momentum: float
) -> BatchNorm:
    """momentum: torch's, how much of the new batch is taken."""
    n = mean.numel()
    is_affine = weight is not None or bias is not None
    made = BatchNorm(n, eps=eps, momentum=momentum, affine=is_affine)
    values: dict[str, Tensor | None] = {"running_mean": mean, "running_var": variance}
    if is_affine:
        values |= {
            "weight": torch.ones(n) if weight is None else weight,
            "bias": torch.zeros(n) if bias is None else bias,
        }
    return filled(made, **values)


def filled(module: M, **values: Tensor | None) -> M:
    """With these values in its parameters and buffers, as copies. Raises ValueError for another shape."""
    with torch.no_grad():
        for name, value in values.items():
            if value is None:
                continue
            held = getattr(module, name)
            if held.shape != value.shape:
                raise ValueError(f"{name} has the shape {tuple(value.shape)}, not {tuple(held.shape)}")
            held.copy_(value)
    return module
