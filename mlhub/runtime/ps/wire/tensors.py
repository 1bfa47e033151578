# SPDX-License-Identifier: Apache-2.0
"""Tensors as the payload of frames: float32 or int64, in the machine's order."""

from __future__ import annotations

import socket

from torch import Tensor

from mlhub.runtime.ps.wire import frames


def receive_tensor(connection: socket.socket, target: Tensor) -> None:
    """Fills the target. Raises PeerLostError."""
    if target.numel():
        frames.receive_into(connection, packed(target))


def packed(tensor: Tensor) -> memoryview:
    """The tensor's bytes, row by row; a copy where its memory has gaps."""
    return tensor.contiguous().numpy().data.cast("B") if tensor.numel() else memoryview(b"")
