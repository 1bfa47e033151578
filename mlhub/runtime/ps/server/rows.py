# SPDX-License-Identifier: Apache-2.0
"""The server's side of requests for rows of embedding tables (ps/client/rows.py)."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import torch

from mlhub.runtime.ps.embedding_tables import EmbeddingTable
from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.frames import FrameError, Header, Operation
from mlhub.runtime.ps.wire.tensors import packed, receive_tensor


def serve_rows(
    connection: socket.socket, header: Header, tables: Sequence[EmbeddingTable], *, worker: int, factor: float
) -> None:
    """One request. Raises FrameError, ValueError, PeerLostError."""
    if header.step >= len(tables):
        raise FrameError(f"There is no table {header.step}.")
    table, k = tables[header.step], int(header.weight)
    n_bytes = 8 * k + (4 * k * table.plan.width if header.operation is Operation.ROWS_PUSH else 0)
    if header.length != n_bytes or not 0 <= k <= table.plan.n_rows:
        raise FrameError(f"{header.length} bytes for {k} of {table.plan.n_rows} rows.")
    ids = torch.empty(k, dtype=torch.int64)
    receive_tensor(connection, ids)
    if header.operation is Operation.ROWS_PUSH:
        gradient = torch.empty(k, table.plan.width)
        receive_tensor(connection, gradient)
        table.push(ids, gradient, factor=factor, worker=worker, number=header.number)
        frames.send(connection, Header(Operation.OK, 0))
        return
    values = table.pull(ids)
    frames.send(connection, Header(Operation.ROWS_PULL, values.nbytes), packed(values))
