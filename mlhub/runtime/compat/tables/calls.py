# SPDX-License-Identifier: Apache-2.0
"""Requests to a table server and its replies: fields as JSON, then tensors as they lie in memory."""

from __future__ import annotations

import math
import socket
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.declaration import encode
from mlhub.runtime.ps.wire.frames import FrameError
from mlhub.runtime.ps.wire.messages import TableErrorReply, TableReply, TableRequest
from mlhub.runtime.ps.wire.sockets import bytes_of
from mlhub.runtime.ps.wire.transfer import send as send_message

KINDS = {"float32": torch.float32, "float64": torch.float64, "int64": torch.int64, "uint8": torch.uint8}
MAX_BYTES = 2**40
MAX_REASON = 2**20  # characters


def send(
    connection: socket.socket, kind: type[TableRequest | TableReply], fields: Mapping[str, Any],
    tensors: Sequence[Tensor] = (),
) -> None:  # fmt: skip
    """Raises PeerLostError, FrameError, ValueError for types of numbers that do not travel."""
    held = [tensor.detach().contiguous().cpu() for tensor in tensors]
    layouts = tuple((name_of(tensor.dtype), tuple(tensor.shape)) for tensor in held)
    n_bytes = sum(tensor.nbytes for tensor in held)
    head = encode(kind(dict(fields), layouts, n_bytes))
    small = n_bytes <= frames.SMALL_BYTES
    parts = [bytes(bytes_of(tensor.view(-1))) for tensor in held] if small else []
    frames.send_bytes(connection, b"".join((head, *parts)))
    if not small:
        for tensor in held:
            frames.send_together(connection, b"", bytes_of(tensor.view(-1)))


def receive_tensors(
    connection: socket.socket, content: TableRequest | TableReply, *, into: Tensor | None = None
) -> list[Tensor]:
    """Reads the tensors of a message. into: contiguous; where a single tensor of its size and type of number goes.

    Raises PeerLostError, FrameError for tensors that are not as declared.
    """
    for kind, _ in content.tensors:
        if kind not in KINDS:
            raise FrameError(f"Tables hold {', '.join(KINDS)}, not {kind[:80]}.")
    wanted = [(KINDS[kind], shape) for kind, shape in content.tensors]
    n_bytes = sum(math.prod(shape) * dtype.itemsize for dtype, shape in wanted)
    if n_bytes != content.n_bytes or n_bytes > MAX_BYTES or any(n < 0 for _, shape in wanted for n in shape):
        raise FrameError(f"{content.n_bytes} bytes of tensors, not {n_bytes}.")
    tensors = []
    for dtype, shape in wanted:
        is_meant = into is not None and len(wanted) == 1 and (into.numel(), into.dtype) == (math.prod(shape), dtype)
        tensor = into.view(shape) if into is not None and is_meant else torch.empty(shape, dtype=dtype)
        if tensor.numel():
            frames.receive_into(connection, bytes_of(tensor.view(-1)))
        tensors.append(tensor)
    return tensors


def refuse(connection: socket.socket, error: Exception) -> None:
    """Reports to the other side why the call failed, and whether another worker is lost."""
    reason = (str(error) or type(error).__name__)[:MAX_REASON]
    send_message(connection, TableErrorReply(reason, isinstance(error, PeerLostError)))


def name_of(dtype: torch.dtype) -> str:
    """Raises ValueError."""
    name = str(dtype).removeprefix("torch.")
    if name not in KINDS:
        raise ValueError(f"Tables hold {', '.join(KINDS)}, not {name}.")
    return name
