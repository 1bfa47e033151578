"""Gradients in fewer bytes: half precision, one bit, two bits, the largest, a random part. What is left out is kept.

A codec is a pure function both ways, and its size depends on the number of elements only: pushes to servers announce
it, and an all-gather of encoded gradients needs it to be the same on every rank. ErrorFeedback adds what a codec lost
to the next gradient, so that in the long run everything is sent: sum of gradients = sum of what arrived + residual.
What is random comes from a seed that is given, so that a training can be repeated and resumed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

HALF_MAX = 65504.0  # the largest number of 16 bits; what is beyond waits for the next step
SEED_BYTES = 8
COLUMN = 1024


class Codec(Protocol):
    """values: shape (n,), float32, on any device. payload: shape (n_bytes(n),), uint8."""

    def n_bytes(self, n: int) -> int: ...

    def encode(self, values: Tensor, *, seed: int = 0) -> Tensor:
        """seed: of what is chosen at random, below 2 ** 63."""

    def decode(self, payload: Tensor, *, n: int) -> Tensor:
        """Shape (n,), float32. Raises ValueError for a payload that no encoder wrote."""


@dataclass(frozen=True)
class Half:
    """float16: half the bytes."""

    def n_bytes(self, n: int) -> int:
        return 2 * n

    def encode(self, values: Tensor, *, seed: int = 0) -> Tensor:  # noqa: ARG002 (nothing is random)
        return values.clamp(-HALF_MAX, HALF_MAX).half().view(torch.uint8)

    def decode(self, payload: Tensor, *, n: int) -> Tensor:
        return _words(_checked(payload, self.n_bytes(n)), torch.float16).float()


@dataclass(frozen=True)
class OneBit:
    """A bit an element, and two levels a column: the means of what is positive there, and of what is negative.

    column: elements. Source: Seide et al., Interspeech '14, and CNTK, whose columns are the matrix's; here they are
    equal stretches, so that a gradient may be cut anywhere.
    """

    column: int = COLUMN

    def n_bytes(self, n: int) -> int:
        return 8 * _parts(n, self.column) + _parts(n, 8)

    def encode(self, values: Tensor, *, seed: int = 0) -> Tensor:  # noqa: ARG002 (nothing is random)
        n, n_columns = values.numel(), _parts(values.numel(), self.column)
        columns = _padded(values, n_columns * self.column).view(n_columns, self.column)
        is_positive = columns >= 0
        n_positive = is_positive.sum(1)
        n_negative = self.column - n_positive
        if n_columns:
            n_positive[-1] -= n_columns * self.column - n  # padding is no element
        high = columns.clamp(min=0).sum(1) / n_positive.clamp(min=1)
        low = columns.clamp(max=0).sum(1) / n_negative.clamp(min=1)
        levels = torch.stack([low, high], dim=1).reshape(-1)
        return torch.cat([levels.view(torch.uint8), _pack(values >= 0, bits=1)])

    def decode(self, payload: Tensor, *, n: int) -> Tensor:
        n_columns = _parts(n, self.column)
        _checked(payload, self.n_bytes(n))
        levels = _words(payload[: 8 * n_columns], torch.float32).view(n_columns, 2)
        signs = _unpack(payload[8 * n_columns :], bits=1, n=n)
        signs = _padded(signs, n_columns * self.column).view(n_columns, self.column).bool()
        return torch.where(signs, levels[:, 1:], levels[:, :1]).view(-1)[:n]


@dataclass(frozen=True)
class TwoBit:
    """Plus or minus a fixed threshold, or nothing: a sixteenth of the bytes.

    Where gradients are far below the threshold nothing is sent for many steps. Source: MXNet, gradient compression.
    """

    threshold: float = 0.5

    def n_bytes(self, n: int) -> int:
        return _parts(n, 4)

    def encode(self, values: Tensor, *, seed: int = 0) -> Tensor:  # noqa: ARG002 (nothing is random)
        # 11: plus, 10: minus, 00: nothing
        up, down = (values >= self.threshold).to(torch.uint8), (values <= -self.threshold).to(torch.uint8)
        return _pack(up * 3 + down * 2, bits=2)

    def decode(self, payload: Tensor, *, n: int) -> Tensor:
        codes = _unpack(_checked(payload, self.n_bytes(n)), bits=2, n=n)
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
        positions, values = _checked(payload, self.n_bytes(n)).chunk(2) if n else (payload, payload)
        found = _words(positions, torch.int32).long()
        if n and (int(found.min()) < 0 or int(found.max()) >= n):
            raise ValueError("a position lies outside of the gradient")
        out = torch.zeros(n, device=payload.device)
        out[found] = _words(values, torch.float32)
        return out


@dataclass(frozen=True)
class RandomK:
    """A random part of density: one element of every stretch. The seed travels along, so positions need no bytes.

    Source: Stich, Cordonnier and Jaggi, NeurIPS '18; BytePS' randomk.
    """

    density: float = 0.01

    def n_bytes(self, n: int) -> int:
        return SEED_BYTES + 4 * _k(n, self.density)

    def encode(self, values: Tensor, *, seed: int = 0) -> Tensor:
        found = self._positions(values.numel(), seed).to(values.device)
        return torch.cat([_seed_bytes(seed).to(values.device), values[found].view(torch.uint8)])

    def decode(self, payload: Tensor, *, n: int) -> Tensor:
        _checked(payload, self.n_bytes(n))
        seed = int(_words(payload[:SEED_BYTES], torch.int64)) & (2**63 - 1)
        out = torch.zeros(n, device=payload.device)
        out[self._positions(n, seed).to(payload.device)] = _words(payload[SEED_BYTES:], torch.float32)
        return out

    def _positions(self, n: int, seed: int) -> Tensor:
        """Shape (k,): one in each of k stretches, which together are everything."""
        k = _k(n, self.density)
        ends = torch.arange(k + 1) * n // max(1, k)
        where = torch.rand(k, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        return ends[:-1] + (where * (ends[1:] - ends[:-1])).long()


class ErrorFeedback:
    """One sender's: codec and residual, shape (n,). The residual is state: a checkpoint without it loses gradients."""

    def __init__(self, codec: Codec, residual: Tensor, *, seed: str = "", turn: int = 0) -> None:
        """seed: the job's and the sender's. turn: how many gradients were encoded before, by an earlier attempt."""
        self.codec, self.residual = codec, residual
        self._seed, self._turns, self._start = seed, Counter[int](), turn

    def encode(self, gradient: Tensor, *, begin: int = 0) -> Tensor:
        """Of elements [begin, begin + length) of the whole; together with what they were owed."""
        owed = self.residual[begin : begin + gradient.numel()]
        owed += gradient
        payload = self.codec.encode(owed, seed=seed_of(self._seed, self._start + self._turns[begin], begin))
        self._turns[begin] += 1
        owed -= self.codec.decode(payload, n=gradient.numel())
        return payload


def codec_for(parameters: Mapping[str, Any]) -> Codec | None:
    """Of a validated strategy (compression, threshold, density: strategies/schema.py); None: gradients as they are."""
    match parameters.get("compression", "none"):
        case "fp16":
            return Half()
        case "one_bit":
            return OneBit()
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
    """The same for the same parts, on every machine."""
    return random.Random("/".join(map(str, parts))).getrandbits(63)


def _k(n: int, density: float) -> int:
    return min(n, max(1, round(n * density)))


def _parts(n: int, size: int) -> int:
    return -(-n // size)


def _padded(values: Tensor, n: int) -> Tensor:
    return values if values.numel() == n else torch.cat([values, values.new_zeros(n - values.numel())])


def _pack(codes: Tensor, *, bits: int) -> Tensor:
    """codes: shape (n,), below 2 ** bits. Returns shape (n * bits / 8,), uint8, the first in the lowest bits."""
    per_byte = 8 // bits
    lanes = _padded(codes.to(torch.uint8), _parts(codes.numel(), per_byte) * per_byte).view(-1, per_byte)
    out = lanes[:, 0].clone()
    for lane in range(1, per_byte):
        out |= lanes[:, lane] << (bits * lane)
    return out


def _unpack(packed: Tensor, *, bits: int, n: int) -> Tensor:
    shifts = torch.arange(0, 8, bits, dtype=torch.uint8, device=packed.device)
    lanes: Tensor = (packed.unsqueeze(1) >> shifts) & (2**bits - 1)
    return lanes.view(-1)[:n]


def _words(raw: Tensor, kind: torch.dtype) -> Tensor:
    """Bytes as numbers; copied where they do not lie at a multiple of the number's size."""
    size = torch.empty(0, dtype=kind).element_size()
    return (raw if raw.is_contiguous() and raw.data_ptr() % size == 0 else raw.clone()).view(kind)


def _seed_bytes(seed: int) -> Tensor:
    return torch.tensor([seed], dtype=torch.int64).view(torch.uint8)


def _checked(payload: Tensor, n_bytes: int) -> Tensor:
    if payload.numel() != n_bytes:
        raise ValueError(f"{payload.numel()} bytes of an encoded gradient, not {n_bytes}")
    return payload
