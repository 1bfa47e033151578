# SPDX-License-Identifier: Apache-2.0
"""Compressed gradients: half precision, few bits, the largest elements, a random part; with error feedback.

A codec is a pure function both ways, and the size of its payload depends on the number of elements only: pushes to
servers announce it, and an all-gather needs the same size on every rank. ErrorFeedback adds what a codec lost to the
next gradient, so that everything is sent in the end: sum of gradients = sum of decoded gradients + residual.
Random choices follow from a given seed, so that a training can be repeated and resumed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from mlhub.runtime.compression.bit_packing import checked, pack, padded, parts, seed_bytes, unpack, words
from mlhub.runtime.compression.dithering import COLUMN, Dithering

HALF_MAX = 65504.0  # the largest number of 16 bits; the excess stays in the residual
SEED_BYTES = 8


class Codec(Protocol):
    """values: shape (n,), float32, on any device. payload: shape (n_bytes(n),), uint8."""

    def n_bytes(self, n: int) -> int: ...

    def encode(self, values: Tensor, *, seed: int = 0) -> Tensor:
        """Encodes values. seed: of random choices, below 2 ** 63."""

    def decode(self, payload: Tensor, *, n: int) -> Tensor:
        """Decodes to shape (n,), float32. Raises ValueError for a payload that no encoder wrote."""


@dataclass(frozen=True)
class Half:
    """float16: half the bytes."""

    def n_bytes(self, n: int) -> int:
        return 2 * n

    def encode(self, values: Tensor, *, seed: int = 0) -> Tensor:  # noqa: ARG002 (nothing is random)
        return values.clamp(-HALF_MAX, HALF_MAX).half().view(torch.uint8)

    def decode(self, payload: Tensor, *, n: int) -> Tensor:
        return words(checked(payload, self.n_bytes(n)), torch.float16).float()


@dataclass(frozen=True)
class OneBit:
    """A bit an element, and two levels a column: the means of what is positive there, and of what is negative.

    column: elements. Source: Seide et al., Interspeech '14, and CNTK, whose columns are the matrix's; here they are
    equal stretches, so that a gradient may be cut anywhere.
    """

    column: int = COLUMN

    def n_bytes(self, n: int) -> int:
        return 8 * parts(n, self.column) + parts(n, 8)

    def encode(self, values: Tensor, *, seed: int = 0) -> Tensor:  # noqa: ARG002 (nothing is random)
        n, n_columns = values.numel(), parts(values.numel(), self.column)
        columns = padded(values, n_columns * self.column).view(n_columns, self.column)
        is_positive = columns >= 0
        n_positive = is_positive.sum(1)
        n_negative = self.column - n_positive
        if n_columns:
            n_positive[-1] -= n_columns * self.column - n  # padding is no element
        high = columns.clamp(min=0).sum(1) / n_positive.clamp(min=1)
        low = columns.clamp(max=0).sum(1) / n_negative.clamp(min=1)
        levels = torch.stack([low, high], dim=1).reshape(-1)
        return torch.cat([levels.view(torch.uint8), pack(values >= 0, bits=1)])

    def decode(self, payload: Tensor, *, n: int) -> Tensor:
        n_columns = parts(n, self.column)
        checked(payload, self.n_bytes(n))
        levels = words(payload[: 8 * n_columns], torch.float32).view(n_columns, 2)
        signs = unpack(payload[8 * n_columns :], bits=1, n=n)
        signs = padded(signs, n_columns * self.column).view(n_columns, self.column).bool()
        return torch.where(signs, levels[:, 1:], levels[:, :1]).view(-1)[:n]


@dataclass(frozen=True)
class ScaledSign:
    """A bit an element: its sign, times the mean absolute value of its column.

    Source: Karimireddy et al., ICML '19 (EF-signSGD), and BytePS' onebit with scaling, which takes whole tensors.
    """

    column: int = COLUMN

    def n_bytes(self, n: int) -> int:
        return 4 * parts(n, self.column) + parts(n, 8)

    def encode(self, values: Tensor, *, seed: int = 0) -> Tensor:  # noqa: ARG002 (nothing is random)
        n, n_columns = values.numel(), parts(values.numel(), self.column)
        sums = padded(values.abs(), n_columns * self.column).view(n_columns, self.column).sum(1)
        n_elements = torch.full_like(sums, self.column)
        n_elements[-1:] -= n_columns * self.column - n  # padding is no element
        return torch.cat([(sums / n_elements).view(torch.uint8), pack(values >= 0, bits=1)])

    def decode(self, payload: Tensor, *, n: int) -> Tensor:
        n_columns = parts(n, self.column)
        checked(payload, self.n_bytes(n))
        scales = words(payload[: 4 * n_columns], torch.float32).repeat_interleave(self.column)[:n]
        signs = unpack(payload[4 * n_columns :], bits=1, n=n)
        return scales * (signs.float() * 2.0 - 1.0)


@dataclass(frozen=True)
class TwoBit:
    """Plus or minus a fixed threshold, or nothing: a sixteenth of the bytes.

    Where gradients are far below the threshold nothing is sent for many steps. Source: MXNet, gradient compression.
    """

    threshold: float = 0.5

    def n_bytes(self, n: int) -> int:
        return parts(n, 4)

    def encode(self, values: Tensor, *, seed: int = 0) -> Tensor:  # noqa: ARG002 (nothing is random)
        # 11: plus, 10: minus, 00: nothing
        up, down = (values >= self.threshold).to(torch.uint8), (values <= -self.threshold).to(torch.uint8)
        return pack(up * 3 + down * 2, bits=2)

    def decode(self, payload: Tensor, *, n: int) -> Tensor:
        codes = unpack(checked(payload, self.n_bytes(n)), bits=2, n=n)
        return (codes == 3).float().sub_((codes == 2).float()).mul_(self.threshold)


@dataclass(frozen=True)
class TopK:
    """Only the largest: density of all elements, each with its position. Source: Aji and Heafield, EMNLP '17."""

    density: float = 0.01

    def n_bytes(self, n: int) -> int:
        return 8 * _k(n, self.density)

    def encode(self, values: Tensor, *, seed: int = 0) -> Tensor:  # noqa: ARG002 (nothing is random)
        found = torch.topk(values.abs(), _k(values.numel(), self.density), sorted=False).indices
        return torch.cat([found.int().view(torch.uint8), values[found].view(torch.uint8)])

    def decode(self, payload: Tensor, *, n: int) -> Tensor:
        positions, values = checked(payload, self.n_bytes(n)).chunk(2) if n else (payload, payload)
        found = words(positions, torch.int32).long()
        if n and (int(found.min()) < 0 or int(found.max()) >= n):
            raise ValueError("a position is outside of the gradient")
        out = torch.zeros(n, device=payload.device)
        out[found] = words(values, torch.float32)
        return out


@dataclass(frozen=True)
class RandomK:
    """A random part of density: one element of every stretch. The payload has the seed, so positions need no bytes.

    Source: Stich, Cordonnier and Jaggi, NeurIPS '18; BytePS' randomk.
    """

    density: float = 0.01

    def n_bytes(self, n: int) -> int:
        return SEED_BYTES + 4 * _k(n, self.density)

    def encode(self, values: Tensor, *, seed: int = 0) -> Tensor:
        found = self._positions(values.numel(), seed).to(values.device)
        return torch.cat([seed_bytes(seed).to(values.device), values[found].view(torch.uint8)])

    def decode(self, payload: Tensor, *, n: int) -> Tensor:
        checked(payload, self.n_bytes(n))
        seed = int(words(payload[:SEED_BYTES], torch.int64)) & (2**63 - 1)
        out = torch.zeros(n, device=payload.device)
        out[self._positions(n, seed).to(payload.device)] = words(payload[SEED_BYTES:], torch.float32)
        return out

    def _positions(self, n: int, seed: int) -> Tensor:
        """Shape (k,): one position in each of k stretches, which cover all elements."""
        k = _k(n, self.density)
        ends = torch.arange(k + 1) * n // max(1, k)
        where = torch.rand(k, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        return ends[:-1] + (where * (ends[1:] - ends[:-1])).long()


class ErrorFeedback:
    """A sender's codec and residual, shape (n,). The residual is state: a checkpoint without it loses gradients."""

    def __init__(self, codec: Codec, residual: Tensor, *, seed: str = "", turn: int = 0) -> None:
        """seed: of the job and the sender. turn: how many gradients an earlier attempt has encoded."""
        self.codec, self.residual = codec, residual
        self._keeps_residual = not isinstance(codec, Dithering) or codec.is_damped
        self._seed, self._turns, self._start = seed, Counter[int](), turn

    def encode(self, gradient: Tensor, *, begin: int = 0) -> Tensor:
        """Encodes elements [begin, begin + length) of a gradient plus their residual, and updates the residual."""
        corrected = self.residual[begin : begin + gradient.numel()]
        corrected += gradient
        payload = self.codec.encode(corrected, seed=seed_of(self._seed, self._start + self._turns[begin], begin))
        self._turns[begin] += 1
        if self._keeps_residual:
            corrected -= self.codec.decode(payload, n=gradient.numel())
        else:
            corrected.zero_()
        return payload


def codec_for(parameters: Mapping[str, Any]) -> Codec | None:
    """The codec of a validated strategy's parameters; None: gradients are not compressed."""
    match parameters.get("compression", "none"):
        case "fp16":
            return Half()
        case "one_bit":
            return OneBit()
        case "scaled_sign":
            return ScaledSign()
        case "dithering":
            given = parameters["levels"], parameters["partition"], parameters["norm"], parameters["feedback"]
            return Dithering(*given)
        case "two_bit":
            return TwoBit(float(parameters["threshold"]))
        case "top_k":
            return TopK(float(parameters["density"]))
        case "random_k":
            return RandomK(float(parameters["density"]))
        case "none":
            return None
        case name:
            raise KeyError(f"there is no compression {name!r}")


def seed_of(*parts: object) -> int:
    """A seed that is the same for the same parts on every machine."""
    return random.Random("/".join(map(str, parts))).getrandbits(63)


def _k(n: int, density: float) -> int:
    return min(n, max(1, round(n * density)))
