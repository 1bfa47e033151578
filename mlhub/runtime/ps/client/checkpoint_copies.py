# SPDX-License-Identifier: Apache-2.0
"""Rank 0's connections for checkpoints: every shard copies its optimiser's state at once, and writes it meanwhile."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

from mlhub.runtime.ps.client.link import ServerConnections
from mlhub.runtime.ps.layout import ShardPlan
from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.frames import Header, Operation

OnShard = Callable[[int, Callable[[int, ServerConnections], None]], object]


class CheckpointCopies:
    """roots: connections to the model's own servers, where workers speak to leaves; otherwise the links are used.

    on_shard: carries something out on one shard, and again where it had to come back.
    """

    def __init__(self, on_shard: OnShard, n_shards: int, roots: Sequence[socket.socket]) -> None:
        self._on_shard, self.roots = on_shard, roots
        self._taken = [0] * n_shards  # by shard: how often it had come back when it copied

    def take(self) -> None:
        """Returns when all have copied."""
        for root in self.roots:
            _ask(root, Header(Operation.SNAPSHOT, 0))
        if not self.roots:
            for shard in range(len(self._taken)):
                self._on_shard(shard, self._take)

    def write(self, folder: Path) -> None:
        """Returns when all have written what they copied into the folder."""
        payload = json.dumps({"folder": str(folder)}).encode()

        def one(shard: int, connections: ServerConnections) -> None:
            if self._taken[shard] != connections.n_returns:  # the copy died with the server
                self._take(shard, connections)
            _ask(connections.snapshots, Header(Operation.WRITE, len(payload)), payload)

        for root in self.roots:
            _ask(root, Header(Operation.WRITE, len(payload)), payload)
        if not self.roots:
            for shard in range(len(self._taken)):
                self._on_shard(shard, one)

    def _take(self, shard: int, connections: ServerConnections) -> None:
        _ask(connections.snapshots, Header(Operation.SNAPSHOT, 0))
        self._taken[shard] = connections.n_returns


def hand_over(connection: socket.socket, plan: ShardPlan, *weights: memoryview, sender: int) -> None:
    """What a shard starts from: its weights, then rows of its tables. Raises PeerLostError."""
    payload = json.dumps(plan.to_json()).encode()
    frames.send(connection, Header(Operation.START, len(payload), sender=sender), payload)
    for content in weights:
        frames.send(connection, Header(Operation.WEIGHTS, len(content)), content)
    frames.receive_header(connection, Operation.OK)


def _ask(connection: socket.socket, header: Header, payload: bytes = b"") -> None:
    frames.send(connection, header, payload)
    frames.receive_header(connection, Operation.OK)
