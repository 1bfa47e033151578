# SPDX-License-Identifier: Apache-2.0
"""How Horovod's tensors travel: as they are, or in half the bits. A script may bring a class of its own."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor


class Compressor(Protocol):
    """compress() returns what decompress() needs to undo it."""

    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, Any]: ...

    @staticmethod
    def decompress(tensor: Tensor, context: Any) -> Tensor: ...


class _AsItIs:
    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, torch.dtype]:
        return tensor, tensor.dtype

    @staticmethod
    def decompress(tensor: Tensor, context: torch.dtype) -> Tensor:  # noqa: ARG004
        return tensor


class _Half:
    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, torch.dtype]:
        return (tensor.half() if tensor.is_floating_point() else tensor), tensor.dtype

    @staticmethod
    def decompress(tensor: Tensor, context: torch.dtype) -> Tensor:
        return tensor.to(context)


class Compression:
    none: type[Compressor] = _AsItIs
    fp16: type[Compressor] = _Half
