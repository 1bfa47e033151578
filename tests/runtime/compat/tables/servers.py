# SPDX-License-Identifier: Apache-2.0
"""Servers of tables and workers' connections on threads of one process: the real sockets, in milliseconds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from mlhub.runtime.compat.tables.client import Line
from mlhub.runtime.compat.tables.connection import Connection
from mlhub.runtime.compat.tables.server import TableServer

SECRET = b"secret" * 5


class TableGang:
    def __init__(self, *, n_workers: int = 2, n_servers: int = 1, is_encrypted: bool = False) -> None:
        self.n_workers, self.is_encrypted = n_workers, is_encrypted
        self.errors: list[BaseException] = []
        self.servers = [
            TableServer(
                ("127.0.0.1", 0), index=i, n_workers=n_workers, attempt="a", secret=SECRET, is_encrypted=is_encrypted
            )
            for i in range(n_servers)
        ]
        self._threads = [threading.Thread(target=self._serve, args=(s,), daemon=True) for s in self.servers]
        for thread in self._threads:
            thread.start()

    def connection(self, worker: int) -> Connection:
        addresses = [f"127.0.0.1:{server.port}" for server in self.servers]
        lines = [
            Line(
                addresses, index=worker, attempt="a", secret=SECRET, start_timeout_s=60, is_encrypted=self.is_encrypted
            )
            for _ in range(2)
        ]
        return Connection(worker, self.n_workers, len(self.servers), None, *lines)

    def each(self, act: Callable[[Connection], Any]) -> list[Any]:
        """act(connection) on a thread a worker, then goodbye. Returns what they return."""
        out: list[Any] = [None] * self.n_workers

        def one(worker: int) -> None:
            try:
                connection = self.connection(worker)
                out[worker] = act(connection)
                connection.close()
            except BaseException as error:
                self.errors.append(error)

        threads = [threading.Thread(target=one, args=(w,), daemon=True) for w in range(self.n_workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), f"it hangs: {self.errors}"
        assert not self.errors, self.errors
        self.join()
        return out

    def join(self) -> None:
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), "a server hangs"

    def _serve(self, server: TableServer) -> None:
        try:
            server.serve()
        except Exception as error:
            self.errors.append(error)
