"""Where blobs lie: a small protocol, and folders on a disk. Bytes are named by their SHA-256 and never change.

Writing has two steps, so that a refused upload leaves nothing: stage() takes bytes in, keep() names them by content.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple, Protocol, Self

from django.conf import settings

from mlhub.core.errors import TooLargeError

CHUNK_BYTES = 2**20
SHA256 = re.compile(r"[0-9a-f]{64}")


class Stored(NamedTuple):
    sha256: str
    size_bytes: int


class Staging:
    """Bytes on their way in, in a file of their own: hashed as they come, gone unless they are kept.

    A context manager: what was not kept when it ends is removed.
    """

    def __init__(self, folder: Path, *, limit_bytes: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder, prefix="staged-")
        self.path = Path(name)
        self.limit_bytes = limit_bytes
        self.size_bytes = 0
        self._file = os.fdopen(descriptor, "wb")
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
        self._file.write(chunk)

    def finish(self) -> Stored:
        """The name and the size, once the bytes are safe on the disk. May be called again."""
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        return Stored(self._hash.hexdigest(), self.size_bytes)

    def discard(self) -> None:
        """Removes the bytes if they were not kept."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()


class BlobStore(Protocol):
    """What a back end of storage does. All verbs are idempotent; sha256 in lower-case hex."""

    def stage(self, *, limit_bytes: int) -> Staging:
        """A place to write an upload to."""

    def keep(self, staging: Staging) -> Stored:
        """Gives the staged bytes their name, at once or not at all. The same bytes kept twice are one blob."""

    def write(self, stream: BinaryIO, *, limit_bytes: int) -> Stored:
        """stage and keep in one. Raises TooLargeError."""

    def path(self, sha256: str) -> Path:
        """A file of this machine with those bytes."""

    def open(self, sha256: str) -> BinaryIO:
        """Raises FileNotFoundError when there is no such blob."""

    def exists(self, sha256: str) -> bool: ...

    def delete(self, sha256: str) -> None: ...

    def verify(self, sha256: str) -> bool:
        """Reads all of it: whether the bytes still have the hash that names them."""

    def age_s(self, sha256: str) -> float:
        """Seconds since the bytes were last kept; infinite when they are not there."""

    def older_than(self, seconds: float) -> Iterator[str]:
        """The names of blobs that were kept longer ago than that."""

    def sweep_staging(self, *, older_than_s: float) -> int:
        """Removes what processes that died left half written; returns how many."""


class DiskStore:
    """Blobs as files in two levels of 256 folders: ab/cd/abcd... Staging lies beside them, on the same file system."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root)
        self.staging = self.root / "staging"

    def stage(self, *, limit_bytes: int) -> Staging:
        return Staging(self.staging, limit_bytes=limit_bytes)

    def keep(self, staging: Staging) -> Stored:
        stored = staging.finish()
        target = self.path(stored.sha256)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.chmod(staging.path, 0o444)
        os.utime(staging.path)
        # replaced even when it exists: the fresh time keeps the collector away until it is held
        os.replace(staging.path, target)
        _sync_folder(target.parent)
        return stored

    def write(self, stream: BinaryIO, *, limit_bytes: int) -> Stored:
        with self.stage(limit_bytes=limit_bytes) as staging:
            while chunk := stream.read(CHUNK_BYTES):
                staging.write(chunk)
            return self.keep(staging)

    def path(self, sha256: str) -> Path:
        if not SHA256.fullmatch(sha256):
            raise ValueError(f"{sha256!r} is not a SHA-256 in lower-case hex")
        return self.root / sha256[:2] / sha256[2:4] / sha256

    def open(self, sha256: str) -> BinaryIO:
        return self.path(sha256).open("rb")

    def exists(self, sha256: str) -> bool:
        return self.path(sha256).is_file()

    def delete(self, sha256: str) -> None:
        self.path(sha256).unlink(missing_ok=True)

    def verify(self, sha256: str) -> bool:
        try:
            with self.path(sha256).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == sha256
        except FileNotFoundError:
            return False

    def age_s(self, sha256: str) -> float:
        return _age_s(self.path(sha256))

    def older_than(self, seconds: float) -> Iterator[str]:
        for path in self.root.glob("??/??/*"):
            if SHA256.fullmatch(path.name) and _age_s(path) > seconds:
                yield path.name

    def sweep_staging(self, *, older_than_s: float) -> int:
        stale = [path for path in self.staging.glob("staged-*") if _age_s(path) > older_than_s]
        for path in stale:
            path.unlink(missing_ok=True)
        return len(stale)


def blob_store() -> BlobStore:
    """The platform's store, as the settings have it."""
    return DiskStore(settings.BLOB_ROOT)


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


def _sync_folder(folder: Path) -> None:
    """So that the new name survives a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
