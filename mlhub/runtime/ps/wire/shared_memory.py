# SPDX-License-Identifier: Apache-2.0
"""Memory that a worker and the servers on its machine share, so that the kernel copies neither gradients nor weights.

The worker's vectors lie in a nameless file in memory, which it hands to servers over their unix socket once both ends
have proved to hold the gang's secret. A push is then a header alone: the server reads the gradient where the worker
computed it, and writes the new weights where the worker uses them. Between a push and its answer the memory is the
server's.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass

import torch
from torch import Tensor

from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.ps.wire.frames import FrameError
from mlhub.runtime.ps.wire.messages import ShareMemoryRequest
from mlhub.runtime.ps.wire.transfer import receive_reply, send

_FLOAT_BYTES = 4
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW if sys.platform == "linux" else 0


@dataclass(frozen=True)
class SharedStretch:
    """A server's view of a worker's stretch of the model. Both of shape (n_elements of the shard,)."""

    gradient: Tensor
    weights: Tensor


class SharedBuffer:
    """A worker's two vectors of shape (n_elements,), float32, zeros at first. Linux only; raises OSError."""

    def __init__(self, n_elements: int) -> None:
        n_bytes = 2 * n_elements * _FLOAT_BYTES
        self._file = os.memfd_create("mlhub", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self._file, n_bytes)
            fcntl.fcntl(self._file, fcntl.F_ADD_SEALS, _SEALS)  # a process that maps it may rely on its length
            self.gradient, self.weights = _vectors(self._file, n_elements)
        except OSError:
            os.close(self._file)
            raise

    def offer(self, connection: socket.socket, *, begin: int, end: int) -> None:
        """Hands over the stretch of a server's shard. connection: a unix socket. Raises PeerLostError, FrameError."""
        send(connection, ShareMemoryRequest(self.weights.numel(), begin, end))
        try:
            socket.send_fds(connection, [b"\0"], [self._file])
        except OSError as error:
            raise PeerLostError(f"The connection to a peer broke: {error}") from error
        receive_reply(connection, ShareMemoryRequest)

    def close(self) -> None:
        """The vectors live on for as long as a reference to them exists."""
        os.close(self._file)


def shared_or_none(n_elements: int) -> SharedBuffer | None:
    """None where there is no such memory, or nothing to share."""
    if sys.platform == "linux" and n_elements:
        with suppress(OSError):
            return SharedBuffer(n_elements)
    return None


def map_shared(connection: socket.socket, offer: ShareMemoryRequest) -> SharedStretch:
    """Maps the memory that a worker offers. Raises PeerLostError, FrameError for a file that is not as declared."""
    n_elements, begin, end = offer.n_elements, offer.begin, offer.end
    try:
        _, files, _, _ = socket.recv_fds(connection, 1, 1)
    except OSError as error:
        raise PeerLostError(f"The connection to a peer broke: {error}") from error
    if not files:
        raise FrameError("No file came with the offer to share memory.")
    try:
        if not 0 <= begin <= end <= n_elements or not _is_sealed(files[0], 2 * n_elements * _FLOAT_BYTES):
            raise FrameError("The memory offered is not as long as declared, or may change its length.")
        gradient, weights = _vectors(files[0], n_elements)
    finally:
        for file in files:
            os.close(file)
    return SharedStretch(gradient[begin:end], weights[begin:end])


def _is_sealed(file: int, n_bytes: int) -> bool:
    """Reading beyond the end of a mapped file would end the server."""
    return os.fstat(file).st_size == n_bytes and fcntl.fcntl(file, fcntl.F_GET_SEALS) & _SEALS == _SEALS


def _vectors(file: int, n_elements: int) -> tuple[Tensor, Tensor]:
    """gradient and weights. The mapping lives as long as they do."""
    memory = mmap.mmap(file, 2 * n_elements * _FLOAT_BYTES)
    both = torch.frombuffer(memory, dtype=torch.float32)
    return both[:n_elements], both[n_elements:]
