# SPDX-License-Identifier: Apache-2.0
"""A push on its way to one shard, which can be sent again word by word when the shard has to come back."""

from __future__ import annotations

import socket
from dataclasses import replace

from torch import Tensor

from mlhub.runtime.compression.codecs import ErrorFeedback
from mlhub.runtime.ps.layout import CHUNK_ELEMENTS
from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.frames import Header
from mlhub.runtime.ps.wire.sockets import bytes_of


class OutgoingPush:
    """vector: the shard's stretch, which begins at element `begin` of the whole; it is not copied.

    feedback: compresses it, and owes afterwards what was left out: a chunk is encoded once, however often sent.
    """

    def __init__(self, header: Header, vector: Tensor, begin: int, feedback: ErrorFeedback | None) -> None:
        self.header = header
        self._vector, self._begin, self._feedback = vector, begin, feedback
        self._encoded: list[Tensor] = []

    def send(self, connection: socket.socket) -> None:
        """Encodes a chunk while the last is on its way. Raises PeerLostError."""
        if self._feedback is None:
            frames.send(connection, self.header, bytes_of(self._vector))
            return
        head = self.header.pack()
        for index, at in enumerate(range(0, self._vector.numel(), CHUNK_ELEMENTS)):
            if index == len(self._encoded):
                chunk = self._vector[at : at + CHUNK_ELEMENTS]
                self._encoded.append(self._feedback.encode(chunk, begin=self._begin + at))
            frames.send_together(connection, head, bytes_of(self._encoded[index]))
            head = b""
        if head:  # a shard that holds nothing
            frames.send_bytes(connection, head)

    def point(self, connection: socket.socket) -> None:
        """Reports that the push is in memory which the server shares. Raises PeerLostError."""
        frames.send_bytes(connection, replace(self.header, flags=self.header.flags | frames.SHARED).pack())
