# SPDX-License-Identifier: Apache-2.0
"""A worker's connections to the servers of tables, and how rows lie over them."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from mlhub.runtime.compat.tables import calls
from mlhub.runtime.errors import GangTimeoutError, PeerLostError
from mlhub.runtime.ps.client.rows import row_bounds
from mlhub.runtime.ps.wire.handshake import StrangerError, greet
from mlhub.runtime.ps.wire.messages import LeaveRequest, Purpose, TableErrorReply, TableRequest
from mlhub.runtime.ps.wire.sockets import call, tune
from mlhub.runtime.ps.wire.tls import context_for
from mlhub.runtime.ps.wire.tls_socket import TlsSocket
from mlhub.runtime.ps.wire.transfer import receive_reply
from mlhub.runtime.ps.wire.transfer import send as send_message

RETRY_S = 0.1


class Line:
    """One connection to each server. Questions to several are all asked before the first answer is read."""

    def __init__(
        self, addresses: Sequence[str], *, index: int, attempt: str, secret: bytes, start_timeout_s: float,
        is_encrypted: bool = False,
    ) -> None:  # fmt: skip
        """Raises GangTimeoutError when a server does not come, StrangerError when it is none of the gang's."""
        self.index = index
        self._attempt, self._secret = attempt, secret
        self._tls = context_for(secret, is_server=False) if is_encrypted else None
        until = time.monotonic() + start_timeout_s
        self.connections = [self._connect(address, until=until) for address in addresses]

    @property
    def n_servers(self) -> int:
        return len(self.connections)

    def ask(
        self, questions: dict[int, tuple[dict[str, Any], list[Tensor]]], *, into: Mapping[int, Tensor] | None = None
    ) -> dict[int, tuple[Any, list[Tensor]]]:
        """By server. into: where answers of one tensor go.

        Raises PeerLostError, and ValueError with the server's words when it refuses.
        """
        for server, (request, tensors) in questions.items():
            calls.send(self.connections[server], TableRequest, request, tensors)
        out: dict[int, tuple[Any, list[Tensor]]] = {}
        refusal: TableErrorReply | None = None
        for server in questions:
            connection = self.connections[server]
            reply = receive_reply(connection, TableRequest)
            if isinstance(reply, TableErrorReply):
                refusal = refusal or reply
                continue
            tensors = calls.receive_tensors(connection, reply, into=None if into is None else into[server])
            out[server] = reply.fields, tensors
        if refusal is not None:
            raise (PeerLostError if refusal.is_peer_lost else ValueError)(refusal.reason)
        return out

    def ask_all(self, request: dict[str, Any]) -> list[tuple[Any, list[Tensor]]]:
        return list(self.ask({server: (request, []) for server in range(self.n_servers)}).values())

    def total(self, values: Sequence[float]) -> list[float]:
        """Sums over all workers that have not left; waits for them."""
        request: dict[str, Any] = {"verb": "total"}
        ((_, (summed,)),) = self.ask({0: (request, [torch.tensor(values, dtype=torch.float64)])}).values()
        out: list[float] = summed.tolist()
        return out

    def close(self) -> None:
        """Leaves every server and closes the connections."""
        for connection in self.connections:
            with suppress(PeerLostError, OSError):
                send_message(connection, LeaveRequest())
            connection.close()

    def _connect(self, address: str, *, until: float) -> socket.socket:
        host, _, port = address.rpartition(":")
        while True:
            try:
                connection = call((host, int(port)), timeout_s=5)
                if self._tls is not None:
                    connection = TlsSocket(connection, self._tls, is_server=False)
                greet(connection, secret=self._secret, attempt=self._attempt, index=self.index, purpose=Purpose.TABLES)
            except StrangerError:
                raise
            except ssl.SSLCertVerificationError as error:
                raise StrangerError(f"The server {address} is none of the gang's: {error}") from error
            except (OSError, PeerLostError) as error:
                if time.monotonic() > until:
                    raise GangTimeoutError(f"The server {address} does not answer: {error}") from error
                time.sleep(RETRY_S)
            else:
                connection.settimeout(None)
                tune(connection)
                return connection


class Spread:
    """Which rows lie on which server: numbered rows in stretches, keys by their remainder, or all on one."""

    def __init__(self, n_servers: int, *, n_rows: int | None, only: int | None = None) -> None:
        """n_rows: None for rows by key. only: the server that holds all."""
        self.only = only
        self._n_rows, self._n = n_rows, n_servers
        self._cuts = None if n_rows is None or only is not None else row_bounds(n_rows, n_servers)

    @property
    def servers(self) -> list[int]:
        return list(range(self._n)) if self.only is None else [self.only]

    def bounds(self, server: int) -> tuple[int, int]:
        """Of numbered rows: first and last, exclusive."""
        assert self._n_rows is not None
        return (0, self._n_rows) if self._cuts is None else self._cuts[server]

    def divide(self, ids: Tensor) -> dict[int, Tensor]:
        """By server, the places in ids, shape (k,), whose rows lie there; servers without any are left out.

        Raises ValueError for rows that the table has not.
        """
        if self._n_rows is not None and ids.numel() and (int(ids.min()) < 0 or int(ids.max()) >= self._n_rows):
            raise ValueError(f"The table has {self._n_rows} rows; {int(ids.min())} to {int(ids.max())} were named.")
        if self.only is not None:
            return {self.only: torch.arange(ids.numel())}
        if self._cuts is None:
            where = ids % self._n
        else:
            where = torch.searchsorted(torch.tensor([end for _, end in self._cuts]), ids, right=True)
        found = {server: (where == server).nonzero().flatten() for server in range(self._n)}
        return {server: places for server, places in found.items() if places.numel()}
