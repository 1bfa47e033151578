# SPDX-License-Identifier: Apache-2.0
"""The proxy connects to the socket of the pod itself, whatever the pod puts in its place."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlhub.backends.local.notebooks import notebook_socket
from mlhub.wire.launch import NOTEBOOK_SOCKET


@pytest.fixture
def home() -> Iterator[Path]:
    """A short path: the kernel takes at most 107 bytes of a socket's."""
    with tempfile.TemporaryDirectory(prefix="nb") as folder:
        (Path(folder) / "pods/a/worker-0/work").mkdir(parents=True)
        yield Path(folder)


def listening(path: Path) -> socket.socket:
    found = socket.socket(socket.AF_UNIX)
    found.bind(str(path))
    found.listen()
    return found


def place(home: Path) -> Path:
    return home / "pods/a/worker-0/work" / NOTEBOOK_SOCKET


def test_the_server_of_the_pod_is_reached(home: Path) -> None:
    with listening(place(home)) as server, notebook_socket(home, "a") as path, socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        accepted, _ = server.accept()
        accepted.close()


def test_a_link_to_another_server_is_not_followed(home: Path) -> None:
    with listening(home / "other.sock"):
        place(home).symlink_to(home / "other.sock")
        with pytest.raises(OSError, match="is no socket"), notebook_socket(home, "a"):
            pass


@pytest.mark.parametrize("make", [lambda path: path.write_text("x"), lambda path: path.mkdir(), os.mkfifo])
def test_what_is_no_socket_is_refused_at_once(home: Path, make: object) -> None:
    make(place(home))  # type: ignore[operator]
    with pytest.raises(OSError, match="is no socket"), notebook_socket(home, "a"):
        pass


def test_a_server_that_is_gone_is_an_error(home: Path) -> None:
    with pytest.raises(FileNotFoundError), notebook_socket(home, "a"):
        pass
    with listening(place(home)), notebook_socket(home, "a") as path:
        place(home).unlink()
        assert path.startswith("/proc/self/fd/")
