# SPDX-License-Identifier: Apache-2.0
"""Dithering: every element is rounded at random to one of a few levels, without bias.

An element is between two levels, fractions of its column's norm, and the chance to round up grows with the distance
from the lower one. Sources: Alistarh et al., QSGD, NIPS '17 (linear levels); Horvath et al., Natural Compression, 2019
(levels that are powers of two); BytePS, which has both. Deviations: columns of equal length, so that a gradient may be
cut anywhere, and codes of one width, so that sizes are known in advance.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mlhub.runtime.compression.bit_packing import checked, pack, padded, parts, unpack, words

COLUMN = 1024


@dataclass(frozen=True)
class Dithering:
    """levels: above zero; with signs and zero they take 2, 4 or 8 bits an element (1, up to 7, up to 127 levels).

    partition: linear (equal steps) or natural (each level twice the one before). norm: max or l2, of a column.
    is_damped: values are divided by 1 + their variance relative to the column. Error feedback needs that, since it
    would accumulate the noise of a code whose variance exceeds its signal. Otherwise the code is unbiased.
    """

    levels: int = 7
    partition: str = "linear"
    norm: str = "max"
    is_damped: bool = False
    column: int = COLUMN

    @property
    def bits(self) -> int:
        return next(bits for bits in (2, 4, 8) if 2 * self.levels + 1 <= 2**bits)

    def n_bytes(self, n: int) -> int:
        return 4 * parts(n, self.column) + parts(n, 8 // self.bits)

    def encode(self, values: Tensor, *, seed: int = 0) -> Tensor:
        n, n_columns = values.numel(), parts(values.numel(), self.column)
        columns = padded(values, n_columns * self.column).view(n_columns, self.column)
        size = columns.abs()
        norms = size.amax(1) if self.norm == "max" else size.norm(dim=1)
        points = self._points(values.device)
        part = size / norms.clamp(min=torch.finfo(torch.float32).tiny)[:, None]
        below = (torch.searchsorted(points, part, right=True) - 1).clamp(0, self.levels - 1)
        gap = points[below + 1] - points[below]
        chance = ((part - points[below]) / gap).clamp(0.0, 1.0)
        random = torch.rand(columns.shape, generator=torch.Generator().manual_seed(seed)).to(values.device)
        level = below + (random < chance)
        if self.is_damped:
            variance, square = (chance * (1 - chance) * gap.square()).sum(1), part.square().sum(1)
            norms = norms / (1.0 + variance / square.clamp(min=torch.finfo(torch.float32).tiny))
        codes = (level + (columns < 0) * (level > 0) * self.levels).view(-1)[:n]
        return torch.cat([norms.contiguous().view(torch.uint8), pack(codes, bits=self.bits)])

    def decode(self, payload: Tensor, *, n: int) -> Tensor:
        n_columns = parts(n, self.column)
        checked(payload, self.n_bytes(n))
        codes = unpack(payload[4 * n_columns :], bits=self.bits, n=n).long()
        if n and int(codes.max()) > 2 * self.levels:
            raise ValueError("a code is beyond the levels")
        points = self._points(payload.device)
        signed = torch.cat([points, -points[1:]])
        norms = words(payload[: 4 * n_columns], torch.float32).repeat_interleave(self.column)[:n]
        return signed[codes] * norms

    def _points(self, device: torch.device) -> Tensor:
        """Shape (levels + 1,), from 0 to 1."""
        steps = torch.arange(self.levels + 1, dtype=torch.float32, device=device)
        if self.partition == "linear":
            return steps / self.levels
        out = torch.exp2(steps - self.levels)
        out[0] = 0.0
        return out
