# SPDX-License-Identifier: Apache-2.0
"""Small codes packed into bytes, and numbers read out of bytes: what encoded gradients are written with."""

from __future__ import annotations

import torch
from torch import Tensor


def parts(n: int, size: int) -> int:
    return -(-n // size)


def padded(values: Tensor, n: int) -> Tensor:
    return values if values.numel() == n else torch.cat([values, values.new_zeros(n - values.numel())])


def pack(codes: Tensor, *, bits: int) -> Tensor:
    """codes: shape (n,), below 2 ** bits. Returns shape (n * bits / 8,), uint8, the first in the lowest bits."""
    per_byte = 8 // bits
    lanes = padded(codes.to(torch.uint8), parts(codes.numel(), per_byte) * per_byte).view(-1, per_byte)
    out = lanes[:, 0].clone()
    for lane in range(1, per_byte):
        out |= lanes[:, lane] << (bits * lane)
    return out


def unpack(packed: Tensor, *, bits: int, n: int) -> Tensor:
    shifts = torch.arange(0, 8, bits, dtype=torch.uint8, device=packed.device)
    lanes: Tensor = (packed.unsqueeze(1) >> shifts) & (2**bits - 1)
    return lanes.view(-1)[:n]


def words(raw: Tensor, kind: torch.dtype) -> Tensor:
    """Bytes as numbers, copied where their address is no multiple of the number's size."""
    size = torch.empty(0, dtype=kind).element_size()
    return (raw if raw.is_contiguous() and raw.data_ptr() % size == 0 else raw.clone()).view(kind)


def seed_bytes(seed: int) -> Tensor:
    return torch.tensor([seed], dtype=torch.int64).view(torch.uint8)


def checked(payload: Tensor, n_bytes: int) -> Tensor:
    if payload.numel() != n_bytes:
        raise ValueError(f"{payload.numel()} bytes of an encoded gradient, not {n_bytes}")
    return payload
