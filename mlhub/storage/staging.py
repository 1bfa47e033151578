# SPDX-License-Identifier: Apache-2.0
"""Bytes on their way into a store; here in a file of their own on this machine's disk, hashed as they come."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self

import structlog

from mlhub.core.errors import TooLargeError, UnavailableError
from mlhub.storage.hashing import sha256_of

logger = structlog.stdlib.get_logger(__name__)
CHUNK_BYTES = 2**20
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EXDEV, errno.EMLINK, errno.ENOSYS)
RETRY_AFTER_S = 60
READ = "read-"  # begins the names of folders with a blob that is read from a bucket
SHA256 = re.compile(r"[0-9a-f]{64}")


class Stored(NamedTuple):
    sha256: str
    size_bytes: int


class StagedBytes(ABC):
    """Bytes on their way in. A context manager: what was not stored when it ends is removed.

    stays: they are still there once they are stored, and can be stored again.
    """

    size_bytes: int
    stays = False

    @abstractmethod
    def finish(self) -> Stored:
        """The name and the size, once the bytes are safe. May be called again."""

    @abstractmethod
    def open(self) -> BinaryIO:
        """The bytes as a file that can be sought in, once finish() has returned."""

    @abstractmethod
    def discard(self) -> None:
        """Removes the bytes if they were not stored."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()


class IncomingBytes(StagedBytes):
    """Bytes that come one chunk after the other, and are hashed as they come."""

    def __init__(self, *, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.size_bytes = 0
        self._hash = hashlib.sha256()

    def write(self, chunk: bytes) -> None:
        """Raises TooLargeError, and removes what came so far, once the limit is passed."""
        self.size_bytes += len(chunk)
        if self.size_bytes > self.limit_bytes:
            self.discard()
            raise TooLargeError(
                f"The upload is larger than {self.limit_bytes:,} bytes.",
                field="file",
                remedy="Send less, or ask an administrator to raise MLHUB_MAX_UPLOAD_BYTES.",
                limit_bytes=self.limit_bytes,
            )
        self._hash.update(chunk)
        self._store(chunk)

    @abstractmethod
    def _store(self, chunk: bytes) -> None:
        """Raises UnavailableError where there is no room, or the store cannot be reached."""


class Staging(IncomingBytes):
    """Bytes in a file of their own."""

    def __init__(self, folder: Path, *, limit_bytes: int) -> None:
        super().__init__(limit_bytes=limit_bytes)
        with room_on_disk():
            folder.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=folder, prefix="staged-")
        self.path = Path(name)
        self._file = os.fdopen(descriptor, "wb")

    def _store(self, chunk: bytes) -> None:
        with room_on_disk():
            self._file.write(chunk)

    def adopt(self, source: Path) -> None:
        """Takes the bytes of a file on the same file system in place of its own, by another name for the same file.

        Where the file system has no such names, the bytes are copied. The source must not change any more.
        """
        self._file.close()
        with room_on_disk():
            self._hash = sha256_of(source)
        self.size_bytes = source.stat().st_size
        os.utime(source)  # sweep() judges by it
        self.path.unlink()
        with room_on_disk():
            try:
                os.link(source, self.path)
            except OSError as error:
                if error.errno not in NO_LINKS:
                    raise
                shutil.copyfile(source, self.path)
                with self.path.open("rb") as copied:
                    os.fsync(copied.fileno())  # the source is removed once this is registered

    def finish(self) -> Stored:
        if not self._file.closed:
            with room_on_disk():
                self._file.flush()
                os.fsync(self._file.fileno())
            self._file.close()
        return Stored(self._hash.hexdigest(), self.size_bytes)

    def open(self) -> BinaryIO:
        return self.path.open("rb")

    def discard(self) -> None:
        with contextlib.suppress(OSError):  # what is buffered is not wanted any more
            self._file.close()
        self.path.unlink(missing_ok=True)


@contextlib.contextmanager
def room_on_disk() -> Iterator[None]:
    """A full or read-only disk is no fault of the request: raises UnavailableError, so that it is sent again later."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        logger.error("storage.no_room", error=error)
        raise UnavailableError(
            "The platform's store takes no bytes at the moment: it is full or read-only.",
            remedy="Try again later; an administrator must make room.",
            retry_after_s=RETRY_AFTER_S,
        ) from error


def copy_into(staging: IncomingBytes, stream: BinaryIO) -> None:
    """Raises TooLargeError."""
    while chunk := stream.read(CHUNK_BYTES):
        staging.write(chunk)


def sync_folder(folder: Path) -> None:
    """So that a new name in it survives a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep(folder: Path, *, older_than_s: float) -> int:
    """Removes what processes that died left in a folder of staging; returns how many."""
    stale = [path for path in folder.glob("staged-*") if age_of_file_s(path) > older_than_s]
    for path in stale:
        path.unlink(missing_ok=True)
    read = [path for path in folder.glob(f"{READ}*") if age_of_file_s(path) > older_than_s]
    for path in read:
        shutil.rmtree(path, ignore_errors=True)
    return len(stale) + len(read)


def age_of_file_s(path: Path) -> float:
    """Infinite when it is not there."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")
