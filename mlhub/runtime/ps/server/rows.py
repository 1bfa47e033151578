# SPDX-License-Identifier: Apache-2.0
"""The server's side of requests for rows of embedding tables (ps/client/rows.py)."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import torch
from torch import Tensor

from mlhub.runtime.ps.embedding_tables import EmbeddingTable
from mlhub.runtime.ps.wire.frames import FrameError
from mlhub.runtime.ps.wire.messages import RowPullRequest, RowPushRequest, RowsReply
from mlhub.runtime.ps.wire.tensors import packed, receive_tensor
from mlhub.runtime.ps.wire.transfer import send


def pull_rows(connection: socket.socket, request: RowPullRequest, tables: Sequence[EmbeddingTable]) -> None:
    """Answers with the rows. Raises FrameError, ValueError, PeerLostError."""
    table = _table(request, tables, n_bytes_a_row=8)
    values = table.pull(_receive_ids(connection, request.n_ids))
    send(connection, RowsReply(values.nbytes), packed(values))


def push_rows(
    connection: socket.socket, request: RowPushRequest, tables: Sequence[EmbeddingTable], *, worker: int, factor: float
) -> None:
    """Applies the gradients. factor: of the learning rate. Raises FrameError, ValueError, PeerLostError."""
    width = tables[request.table].plan.width if request.table < len(tables) else 0
    table = _table(request, tables, n_bytes_a_row=8 + 4 * width)
    ids, gradient = _receive_ids(connection, request.n_ids), torch.empty(request.n_ids, width)
    receive_tensor(connection, gradient)
    table.push(ids, gradient, factor=factor, worker=worker, number=request.number)


def _table(
    request: RowPullRequest | RowPushRequest, tables: Sequence[EmbeddingTable], *, n_bytes_a_row: int
) -> EmbeddingTable:
    if request.table >= len(tables):
        raise FrameError(f"There is no table {request.table}.")
    table = tables[request.table]
    if request.n_bytes != n_bytes_a_row * request.n_ids or request.n_ids > table.plan.n_rows:
        raise FrameError(f"{request.n_bytes} bytes for {request.n_ids} of {table.plan.n_rows} rows.")
    return table


def _receive_ids(connection: socket.socket, n_ids: int) -> Tensor:
    ids = torch.empty(n_ids, dtype=torch.int64)
    receive_tensor(connection, ids)
    return ids
