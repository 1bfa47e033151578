# SPDX-License-Identifier: Apache-2.0
"""Server processes of PostgreSQL on this machine step back as far as the processes that they work for.

The server starts a process for each connection, in a session of its own. Without this the queries of the control loop
and of workers, which step back for the web server (mlhub/embedded/supervisor.py), would not: with autogroups, each of
them would get as much of the processors as the web server with all its threads.
"""

from __future__ import annotations

import os
import socket
from typing import Any

from mlhub.wire.priority import give_niceness

LOCAL = ("127.0.0.1", "::1")


def let_step_back(connection: Any) -> bool:
    """Gives the server's process of a psycopg2 connection the niceness of this process. False: it stays as it is.

    The process is looked for by the connection's own port in its title, which PostgreSQL writes: behind a tunnel the
    server is another machine's, and its process id may be anybody's here.
    """
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    if niceness <= 0:
        return False
    pid = connection.info.backend_pid
    address = _own_address(connection)
    if address is None or f"{address[0]}({address[1]})" not in _title(pid):
        return False
    return give_niceness(pid, niceness)


def _own_address(connection: Any) -> tuple[str, int] | None:
    """The address and port of this end; None of a connection that leaves this machine, or is no TCP connection."""
    with socket.socket(fileno=os.dup(connection.fileno())) as end:
        if end.family not in (socket.AF_INET, socket.AF_INET6) or end.getpeername()[0] not in LOCAL:
            return None
        host, port = end.getsockname()[:2]
        return host, port


def _title(pid: int) -> str:
    """Such as: postgres: mlhub mlhub 127.0.0.1(41234) idle. "" without such a process here."""
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            found = file.read()
    except OSError:
        return ""
    return found if found.startswith("postgres: ") else ""
