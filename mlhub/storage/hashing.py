# SPDX-License-Identifier: Apache-2.0
"""SHA-256 of large files, in a thread that steps back for those that make pages in the same process."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash

NICENESS = 10
BUFFER_BYTES = 2**20  # with those of hashlib.file_digest, a quarter of it, a file takes 1.6 times the processor


def sha256_of(path: Path) -> _Hash:
    """Returns once the whole file is read."""
    return sha256_of_chunks(_chunks_of(path))


def sha256_of_chunks(chunks: Iterable[bytes | memoryview]) -> _Hash:
    """Returns once all of them came. The thread is one of its own, since niceness cannot be taken back."""
    with ThreadPoolExecutor(1, thread_name_prefix="sha256", initializer=_step_back) as pool:
        return pool.submit(_hashed, chunks).result()


def _hashed(chunks: Iterable[bytes | memoryview]) -> _Hash:
    found = hashlib.sha256()
    for chunk in chunks:
        found.update(chunk)  # without the interpreter's lock, and so is reading
    return found


def _chunks_of(path: Path) -> Iterator[memoryview]:
    """Each is good until the next one is asked for."""
    buffer = bytearray(BUFFER_BYTES)
    view = memoryview(buffer)
    with path.open("rb", buffering=0) as file:
        while n_read := file.readinto(buffer):
            yield view[:n_read]


def _step_back() -> None:
    thread = threading.get_native_id()  # Linux keeps a niceness for each thread
    os.setpriority(os.PRIO_PROCESS, thread, min(19, os.getpriority(os.PRIO_PROCESS, thread) + NICENESS))
