# SPDX-License-Identifier: Apache-2.0
"""A short path to the pod's folder of temporary files, so that sockets can be opened in it.

The kernel takes at most 107 bytes as the path of a Unix socket. Python's multiprocessing, and with it the worker
processes of torch's DataLoader, open such sockets below TMPDIR; where the path is too long they hang.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MAX_SOCKET_PATH = 107  # bytes, of struct sockaddr_un
SOCKET_NAME = len("/pymp-12345678/listener-12345678")  # what multiprocessing adds to TMPDIR
SHORT_ROOT = Path("/tmp")  # noqa: S108 - only a link with a random name is put there


@contextmanager
def short_temporary_folder() -> Iterator[None]:
    """While it lasts, TMPDIR is a short link to the folder of temporary files, if that folder's own path is too long.

    The files themselves stay where they were. Where no link can be made, TMPDIR is left as it is.
    """
    folder = tempfile.gettempdir()
    if len(os.fsencode(folder)) + SOCKET_NAME <= MAX_SOCKET_PATH:
        yield
        return
    link = _link_to(folder)
    if link is None:
        yield
        return
    os.environ["TMPDIR"] = tempfile.tempdir = str(link)
    try:
        yield
    finally:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        with suppress(OSError):
            link.unlink()


def _link_to(folder: str) -> Path | None:
    with suppress(OSError):
        link = SHORT_ROOT / f"mlhub-{os.urandom(8).hex()}"
        link.symlink_to(folder, target_is_directory=True)
        return link
    return None
