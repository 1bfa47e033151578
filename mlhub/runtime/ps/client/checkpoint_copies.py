# SPDX-License-Identifier: Apache-2.0
"""Rank 0's connections for checkpoints: every shard copies its optimiser's state at once, and writes it meanwhile."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

from mlhub.runtime.ps.client.link import ServerConnections
from mlhub.runtime.ps.client.shard_links import ShardLinks
from mlhub.runtime.ps.layout import ShardPlan
from mlhub.runtime.ps.wire.messages import InitialValues, SnapshotRequest, StartRequest, WriteSnapshotRequest
from mlhub.runtime.ps.wire.transfer import call, receive_reply, send


class CheckpointCopies:
    """roots: connections to the model's own servers, where workers speak to leaves; otherwise the links are used."""

    def __init__(self, links: ShardLinks, roots: Sequence[socket.socket]) -> None:
        self._links, self.roots = links, roots
        self._copied_at = [0] * len(links)  # by shard: how often its server had restarted when it copied

    def take(self) -> None:
        """Returns when all have copied. Raises PeerLostError."""
        for root in self.roots:
            call(root, SnapshotRequest())
        if not self.roots:
            for shard in range(len(self._links)):
                self._links.on_shard(shard, self._take)

    def write(self, folder: Path) -> None:
        """Returns when all have written what they copied into the folder. Raises PeerLostError."""
        request = WriteSnapshotRequest(str(folder))

        def one(shard: int, connections: ServerConnections) -> None:
            if self._copied_at[shard] != connections.n_returns:  # the copy died with the server
                self._take(shard, connections)
            call(connections.snapshots, request)

        for root in self.roots:
            call(root, request)
        if not self.roots:
            for shard in range(len(self._links)):
                self._links.on_shard(shard, one)

    def _take(self, shard: int, connections: ServerConnections) -> None:
        call(connections.snapshots, SnapshotRequest())
        self._copied_at[shard] = connections.n_returns


def start_shard(connection: socket.socket, plan: ShardPlan, *values: memoryview) -> None:
    """Sends what a shard starts from: its weights, then rows of its tables. Raises PeerLostError."""
    send(connection, StartRequest(plan.to_json()))
    for content in values:
        send(connection, InitialValues(len(content)), content)
    receive_reply(connection, StartRequest)
