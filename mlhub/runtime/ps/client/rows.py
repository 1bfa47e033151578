# SPDX-License-Identifier: Apache-2.0
"""A worker's side of embedding tables: it pulls and pushes the rows that a step touches."""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection
from itertools import pairwise

import torch
from torch import Tensor

from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.declaration import HEADER_BYTES
from mlhub.runtime.ps.wire.messages import RowPullRequest, RowPushRequest
from mlhub.runtime.ps.wire.request_numbers import RequestNumbers
from mlhub.runtime.ps.wire.tensors import packed, receive_tensor
from mlhub.runtime.ps.wire.transfer import receive_reply, send

OnShards = Callable[[Collection[int], Callable[[int, socket.socket], None]], object]


class RowClient:
    """A worker's side of one table.

    on_shards: carries out one part of a request a shard, at the same time, and again where a shard had to come back.
    n_bytes: sent and received for rows, so far.
    """

    def __init__(self, on_shards: OnShards, numbers: RequestNumbers, *, n_shards: int, table: int, n_rows: int) -> None:
        self._on_shards, self._numbers, self._table = on_shards, numbers, table
        self._cuts = row_bounds(n_rows, n_shards)
        self.bytes_sent = self.bytes_received = 0

    def pull(self, ids: Tensor, into: Tensor) -> None:
        """ids: sorted, each once. into: the whole table, shape (n_rows, width); its rows `ids` are set."""
        parts, rows = self._parts(ids.cpu()), into.detach()  # other threads may not know that no gradient is wanted

        def one(shard: int, connection: socket.socket) -> None:
            own, begin, _ = parts[shard]
            n_ids = own.numel()
            send(connection, RowPullRequest(self._table, n_ids, 8 * n_ids), packed(own - begin))
            values = torch.empty(n_ids, into.shape[1])
            reply = receive_reply(connection, RowPullRequest)
            if reply.n_bytes != values.nbytes:
                raise frames.FrameError(f"{reply.n_bytes} bytes of rows, not {values.nbytes}.")
            receive_tensor(connection, values)
            rows[own.to(rows.device)] = values.to(rows.device)

        self._on_shards(parts, one)
        n_rows = sum(own.numel() for own, _, _ in parts.values())
        self.bytes_sent += HEADER_BYTES * len(parts) + 8 * n_rows
        self.bytes_received += HEADER_BYTES * len(parts) + 4 * n_rows * into.shape[1]

    def push(self, ids: Tensor, gradient: Tensor) -> None:
        """ids: sorted, each once. gradient: shape (k, width). Both may be on an accelerator."""
        parts, number = self._parts(ids.cpu()), self._numbers.next()
        gradient = gradient.cpu()

        def one(shard: int, connection: socket.socket) -> None:
            own, begin, at = parts[shard]
            ids, values = own - begin, gradient[at : at + own.numel()]
            request = RowPushRequest(self._table, ids.numel(), number, ids.nbytes + values.nbytes)
            send(connection, request, packed(ids))
            frames.send_together(connection, b"", packed(values))
            receive_reply(connection, RowPushRequest)

        self._on_shards(parts, one)
        n_rows = sum(own.numel() for own, _, _ in parts.values())
        self.bytes_sent += HEADER_BYTES * len(parts) + n_rows * (8 + 4 * gradient.shape[1])

    def _parts(self, ids: Tensor) -> dict[int, tuple[Tensor, int, int]]:
        """By shard that holds some: its ids, its first row, and where its ids begin."""
        parts = {}
        for shard, (begin, end) in enumerate(self._cuts):
            first, last = torch.searchsorted(ids, torch.tensor([begin, end])).tolist()
            if first < last:
                parts[shard] = (ids[first:last], begin, first)
        return parts


def row_bounds(n_rows: int, n_shards: int) -> list[tuple[int, int]]:
    """First and last row, exclusive, of each shard."""
    return list(pairwise(round(i * n_rows / n_shards) for i in range(n_shards + 1)))
