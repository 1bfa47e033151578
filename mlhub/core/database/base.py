# SPDX-License-Identifier: Apache-2.0
"""Django's PostgreSQL backend, whose connections the web process uses again for later requests.

Each request runs in a thread and a context of its own, so Django opens a connection for it and closes it at its end:
that costs a password exchange here and a process there, more than the queries of most pages. With psycopg2 Django has
no pool. Here a connection that a request closes is kept once keep_connections() was called, and given to the next one.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import psycopg2
from django.db.backends.postgresql import base
from django.db.backends.postgresql.psycopg_any import IsolationLevel
from psycopg2 import extensions

from mlhub.core.database.priority import let_step_back

MAX_IDLE_S = 60.0  # an idle one costs the server memory
MAX_AGE_S = 900.0  # what a server's process has cached of the schema grows
# nothing of a request stays for the next one: settings, locks of the session, cursors, listening
RESET = "RESET ALL; SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *"


@dataclass
class _Kept:
    connection: Any
    opened_at: float
    since: float


@dataclass
class IdleConnections:
    """Of this process, by their parameters; the one used last is taken first. most: how many are kept; 0: none."""

    most: int = 0
    _kept: dict[str, list[_Kept]] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.Lock)

    def take(self, key: str) -> tuple[Any, float] | None:
        """One that the server has not closed, and when it was opened; None without one. Closes those idle for long."""
        while True:
            with self._lock:
                kept = self._kept.get(key)
                found = kept.pop() if kept else None
                stale = self._stale(key)
            for one in stale:
                _close(one.connection)
            if found is None:
                return None
            if _is_usable(found.connection):
                return found.connection, found.opened_at
            _close(found.connection)

    def put(self, key: str, connection: Any, opened_at: float) -> bool:
        """Whether it is kept; else the caller closes it."""
        now = time.monotonic()
        with self._lock:
            has_room = len(self._kept.get(key, ())) < self.most
        if not has_room or now - opened_at > MAX_AGE_S or not _is_usable(connection) or not _reset(connection):
            return False
        with self._lock:
            self._kept.setdefault(key, []).append(_Kept(connection, opened_at, now))
        return True

    def close_all(self) -> None:
        with self._lock:
            kept, self._kept = self._kept, {}
        for ones in kept.values():
            for one in ones:
                _close(one.connection)

    def forget(self) -> None:
        """In a child process: the sockets are the parent's, nothing may be sent over them."""
        self._kept, self._lock, self.most = {}, threading.Lock(), 0

    def _stale(self, key: str) -> list[_Kept]:
        limit, kept = time.monotonic() - MAX_IDLE_S, self._kept.get(key, [])
        n = next((i for i, one in enumerate(kept) if one.since > limit), len(kept))
        stale, self._kept[key] = kept[:n], kept[n:]
        return stale


idle = IdleConnections()
os.register_at_fork(after_in_child=idle.forget)


def keep_connections(most: int) -> None:
    """From now on at most so many idle connections of this process are kept for later requests; 0: none."""
    idle.most = most
    if not most:
        idle.close_all()


class DatabaseWrapper(base.DatabaseWrapper):
    """Closing hands the connection on; Django then sets up the state of a session anew, as of a new connection."""

    def get_new_connection(self, conn_params: Any) -> Any:
        self._key = repr(sorted((name, str(value)) for name, value in conn_params.items()))
        found = idle.take(self._key) if idle.most else None
        if found is None:
            self._opened_at = time.monotonic()
            opened = super().get_new_connection(conn_params)
            let_step_back(opened)
            return opened
        self.isolation_level = IsolationLevel.READ_COMMITTED
        connection, self._opened_at = found
        return connection

    def _close(self) -> Any:
        is_plain = not self.errors_occurred and "isolation_level" not in self.settings_dict["OPTIONS"]
        is_offered = self.connection is not None and idle.most > 0 and is_plain
        if is_offered and idle.put(self._key, self.connection, self._opened_at):
            return None
        return super()._close()  # type: ignore[misc]  # the stubs lack it


def _is_usable(connection: Any) -> bool:
    """Open, in no transaction, and without anything to read: a server that ends says so, or closes the socket."""
    try:
        if connection.closed or connection.get_transaction_status() != extensions.TRANSACTION_STATUS_IDLE:
            return False
        poll = select.poll()  # select() refuses descriptors above 1,023
        poll.register(connection.fileno(), select.POLLIN)
        return not poll.poll(0)
    except (psycopg2.Error, OSError, ValueError):
        return False


def _reset(connection: Any) -> bool:
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(RESET)
    except (psycopg2.Error, OSError):
        return False
    return True


def _close(connection: Any) -> None:
    with contextlib.suppress(psycopg2.Error, OSError):
        connection.close()
