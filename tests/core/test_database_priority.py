# SPDX-License-Identifier: Apache-2.0
"""The database's work for a process in the background steps back as that process does."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from django.db import connection

from mlhub.core.database import priority

NICENESS = 3
getpriority = os.getpriority


@pytest.fixture
def _steps_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process, as far as it can tell; its niceness could not be taken back."""
    monkeypatch.setattr(os, "getpriority", lambda kind, pid: NICENESS if pid == 0 else getpriority(kind, pid))


def opened(**other: Any) -> Any:
    names = ("dbname", "user", "password", "host", "port")
    asked = {name: value for name, value in connection.get_connection_params().items() if name in names}
    return closing(psycopg2.connect(**asked | other))


def niceness_of(pid: int) -> int:
    return getpriority(os.PRIO_PROCESS, pid)


@contextmanager
def tunnel(port: int) -> Iterator[int]:
    """A port of this machine behind which the server is, as with a tunnel to another machine."""

    def copy(source: socket.socket, target: socket.socket) -> None:
        while content := source.recv(65536):
            target.sendall(content)
        target.shutdown(socket.SHUT_WR)

    with socket.create_server(("127.0.0.1", 0)) as entrance, socket.create_connection(("127.0.0.1", port)) as exit_:

        def serve() -> None:
            came, _ = entrance.accept()
            with came:
                back = threading.Thread(target=copy, args=(exit_, came))
                back.start()
                copy(came, exit_)
                back.join()

        serving = threading.Thread(target=serve)
        serving.start()
        yield entrance.getsockname()[1]
        serving.join()


@pytest.mark.usefixtures("db", "_steps_back")
def test_the_servers_process_gets_the_niceness_of_the_one_that_it_works_for():
    with opened() as one:
        pid = one.info.backend_pid
        if niceness_of(pid) > NICENESS:
            pytest.skip("the tests step back further than that")
        assert priority.let_step_back(one)
        assert niceness_of(pid) == NICENESS
        if (session := Path(f"/proc/{pid}/autogroup")).exists():
            assert session.read_text().split()[-1] == str(NICENESS)


@pytest.mark.usefixtures("db", "_steps_back")
def test_a_process_that_may_be_anybodys_behind_a_tunnel_stays_as_it_is():
    with tunnel(int(connection.get_connection_params()["port"])) as port, opened(port=port) as one:
        before = niceness_of(one.info.backend_pid)
        assert not priority.let_step_back(one)
        assert niceness_of(one.info.backend_pid) == before


@pytest.mark.usefixtures("db")
def test_for_a_process_that_does_not_step_back_nothing_changes(monkeypatch):
    monkeypatch.setattr(os, "getpriority", lambda *_: 0)
    with opened() as one:
        assert not priority.let_step_back(one)
