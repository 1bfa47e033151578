# SPDX-License-Identifier: Apache-2.0
"""A push on its way to one shard, which can be sent again byte for byte when the shard has to come back."""

from __future__ import annotations

import socket

from torch import Tensor

from mlhub.runtime.compression.codecs import ErrorFeedback
from mlhub.runtime.ps.layout import CHUNK_ELEMENTS
from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.declaration import Message, encode
from mlhub.runtime.ps.wire.messages import PushOnlyRequest, PushRequest, SharedPushRequest
from mlhub.runtime.ps.wire.sockets import bytes_of
from mlhub.runtime.ps.wire.transfer import send


class OutgoingPush:
    """vector: the shard's stretch, which begins at element `begin` of the whole; it is not copied. It may be on an
    accelerator where it is compressed.

    feedback: compresses it, and holds afterwards what was left out: a chunk is encoded once, however often sent.
    """

    def __init__(self, request: PushRequest, vector: Tensor, begin: int, feedback: ErrorFeedback | None) -> None:
        self.request = request
        self._vector, self._begin, self._feedback = vector, begin, feedback
        self._encoded: list[Tensor] = []

    def send(self, connection: socket.socket) -> None:
        """Raises PeerLostError."""
        self._send(connection, self.request)

    def send_only(self, connection: socket.socket) -> None:
        """Sends the push without asking for weights. Raises PeerLostError."""
        own = self.request
        self._send(connection, PushOnlyRequest(own.version, own.weight, own.number, own.clock, own.n_bytes))

    def announce_shared(self, connection: socket.socket) -> None:
        """Reports that the push is in memory which the server shares. Raises PeerLostError."""
        own = self.request
        send(
            connection,
            SharedPushRequest(own.stop, own.checkpoint, own.version, own.value, own.weight, own.number, own.clock),
        )

    def _send(self, connection: socket.socket, request: Message) -> None:
        """Encodes a chunk while the last is on its way."""
        if self._feedback is None:
            send(connection, request, bytes_of(self._vector))
            return
        head = encode(request)
        for index, at in enumerate(range(0, self._vector.numel(), CHUNK_ELEMENTS)):
            if index == len(self._encoded):
                chunk = self._vector[at : at + CHUNK_ELEMENTS]
                self._encoded.append(self._feedback.encode(chunk, begin=self._begin + at).cpu())
            frames.send_together(connection, head, bytes_of(self._encoded[index]))
            head = b""
        if head:  # a shard that holds nothing
            frames.send_bytes(connection, head)
