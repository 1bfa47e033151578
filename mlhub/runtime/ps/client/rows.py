# SPDX-License-Identifier: Apache-2.0
"""Rows over the wire. ids: int64, in the machine's order; values: float32.

worker: ROWS_PULL {ids} -> server: ROWS_PULL {values}        worker: ROWS_PUSH {ids, values} -> server: OK
The header's step names the table, its weight is the number of ids.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection
from itertools import pairwise

import torch
from torch import Tensor

from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.frames import Header, Operation
from mlhub.runtime.ps.wire.request_numbers import RequestNumbers
from mlhub.runtime.ps.wire.tensors import packed, receive_tensor

OnShards = Callable[[Collection[int], Callable[[int, socket.socket], None]], object]
PULLS, PUSHES = Operation.ROWS_PULL, Operation.ROWS_PUSH


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
        parts, rows = self._parts(ids), into.detach()  # other threads may not know that no gradient is wanted

        def one(shard: int, connection: socket.socket) -> None:
            own, begin, _ = parts[shard]
            self._send(connection, PULLS, own - begin)
            values = torch.empty(own.numel(), into.shape[1])
            frames.receive_header(connection, PULLS)
            receive_tensor(connection, values)
            rows[own] = values

        self._on_shards(parts, one)
        n_rows = sum(own.numel() for own, _, _ in parts.values())
        self.bytes_sent += frames.HEADER_BYTES * len(parts) + 8 * n_rows
        self.bytes_received += frames.HEADER_BYTES * len(parts) + 4 * n_rows * into.shape[1]

    def push(self, ids: Tensor, gradient: Tensor) -> None:
        """ids: sorted, each once. gradient: shape (k, width)."""
        parts, number = self._parts(ids), self._numbers.next()

        def one(shard: int, connection: socket.socket) -> None:
            own, begin, at = parts[shard]
            self._send(connection, PUSHES, own - begin, gradient[at : at + own.numel()], number=number)
            frames.receive_header(connection, Operation.OK)

        self._on_shards(parts, one)
        n_rows = sum(own.numel() for own, _, _ in parts.values())
        self.bytes_sent += frames.HEADER_BYTES * len(parts) + n_rows * (8 + 4 * gradient.shape[1])

    def _send(
        self,
        connection: socket.socket,
        operation: Operation,
        ids: Tensor,
        values: Tensor | None = None,
        number: int = 0,
    ) -> None:
        extra = 0 if values is None else values.nbytes
        n_ids = float(ids.numel())
        header = Header(operation, ids.nbytes + extra, step=self._table, weight=n_ids, number=number)
        frames.send(connection, header, packed(ids))
        if values is not None:
            frames.send_together(connection, b"", packed(values))

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
