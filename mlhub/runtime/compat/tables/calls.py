# SPDX-License-Identifier: Apache-2.0
"""Questions to a table server and its answers: a frame with a line of JSON, then tensors as they lie in memory.

The header's step is the length of the JSON: {"verb": ..., "tensors": [[kind of number, shape], ...], ...}.
An answer is of the same form, or a frame ERROR with words.
"""

from __future__ import annotations

import json
import math
import socket
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.frames import FrameError, Header, Operation
from mlhub.runtime.ps.wire.sockets import bytes_of

KINDS = {"float32": torch.float32, "float64": torch.float64, "int64": torch.int64, "uint8": torch.uint8}
MAX_BYTES = 2**40
LOST = "peer lost: "


def send(
    connection: socket.socket, operation: Operation, fields: dict[str, Any], tensors: Sequence[Tensor] = ()
) -> None:
    """Raises PeerLostError, ValueError for kinds of numbers that do not travel."""
    held = [tensor.detach().contiguous().cpu() for tensor in tensors]
    kinds = [[name_of(tensor.dtype), list(tensor.shape)] for tensor in held]
    text = json.dumps({**fields, "tensors": kinds}).encode()
    n_bytes = sum(tensor.nbytes for tensor in held)
    header = Header(operation, len(text) + n_bytes, step=len(text))
    small = n_bytes <= frames.SMALL_BYTES
    parts = [bytes(bytes_of(tensor.view(-1))) for tensor in held] if small else []
    frames.send_bytes(connection, b"".join((header.pack(), text, *parts)))
    if not small:
        for tensor in held:
            frames.send_together(connection, b"", bytes_of(tensor.view(-1)))


def receive(
    connection: socket.socket, *expected: Operation, into: Tensor | None = None
) -> tuple[Operation, dict[str, Any], list[Tensor]]:
    """into: contiguous; where a single tensor of its size and kind of numbers goes.

    Raises PeerLostError, FrameError for nonsense, and for the other side's ERROR with its words.
    """
    header = frames.receive_header(connection, *expected)
    if header.operation is Operation.BYE:
        return header.operation, {}, []
    if header.step > header.length:
        raise FrameError("The text of a call is longer than the call.")
    fields = json.loads(frames.receive_bytes(connection, header.step))
    wanted = [(KINDS[kind], tuple(int(n) for n in shape)) for kind, shape in fields.pop("tensors")]
    n_bytes = sum(math.prod(shape) * dtype.itemsize for dtype, shape in wanted)
    if n_bytes != header.length - header.step or n_bytes > MAX_BYTES or any(n < 0 for _, s in wanted for n in s):
        raise FrameError(f"{header.length - header.step} bytes of tensors, not {n_bytes}.")
    tensors = []
    for dtype, shape in wanted:
        is_meant = into is not None and len(wanted) == 1 and (into.numel(), into.dtype) == (math.prod(shape), dtype)
        tensor = into.view(shape) if into is not None and is_meant else torch.empty(shape, dtype=dtype)
        if tensor.numel():
            frames.receive_into(connection, bytes_of(tensor.view(-1)))
        tensors.append(tensor)
    return header.operation, fields, tensors


def refuse(connection: socket.socket, error: Exception) -> None:
    """Reports to the other side why the call failed, and whether another worker is lost."""
    words = (LOST if isinstance(error, PeerLostError) else "") + (str(error) or type(error).__name__)
    content = words.encode()[: frames.MAX_JSON_BYTES]
    frames.send(connection, Header(Operation.ERROR, len(content)), content)


def name_of(dtype: torch.dtype) -> str:
    """Raises ValueError."""
    name = str(dtype).removeprefix("torch.")
    if name not in KINDS:
        raise ValueError(f"Tables hold {', '.join(KINDS)}, not {name}.")
    return name
