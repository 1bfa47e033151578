# SPDX-License-Identifier: Apache-2.0
"""The way from this machine to the server of a notebook's pod: a Unix socket in a folder that the pod may write to."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlhub.wire.launch import NOTEBOOK_SOCKET


@contextmanager
def notebook_socket(home: Path, attempt_id: str) -> Iterator[str]:
    """A path to connect to, for as long as the block lasts. Raises OSError where there is no such socket.

    The pod may put anything in the socket's place, such as a link to another server's socket: so the file itself is
    opened, no link is followed, and what is connected to is what was looked at.
    """
    path = home / "pods" / attempt_id / "worker-0" / "work" / NOTEBOOK_SOCKET
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            raise FileNotFoundError(f"{path.name} is no socket")
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
