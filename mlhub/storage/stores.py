# SPDX-License-Identifier: Apache-2.0
"""Where blobs are stored: a small protocol, and folders on a disk. Bytes are named by their SHA-256 and never change.

The other place is buckets.py. Writing has two steps, so that a refused upload leaves nothing: stage() takes bytes in,
keep() names them by content.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Protocol

from django.conf import settings

from mlhub.storage.spools import UPLOADS, DiskSpool, Spool
from mlhub.storage.staging import (
    CHUNK_BYTES,
    SHA256,
    IncomingBytes,
    StagedBytes,
    Staging,
    Stored,
    age_of_file_s,
    copy_into,
    room_on_disk,
    sweep,
    sync_folder,
)

__all__ = ["CHUNK_BYTES", "BlobStore", "DiskStore", "IncomingBytes", "StagedBytes", "Staging", "Stored", "blob_store"]


class BlobStore(Protocol):
    """What a back end of storage does. All verbs are idempotent; sha256 in lower-case hex."""

    def stage(self, *, limit_bytes: int) -> IncomingBytes:
        """A place to write an upload to."""

    def keep(self, staging: StagedBytes) -> Stored:
        """Gives the staged bytes their name, at once or not at all. The same bytes stored twice are one blob."""

    def write(self, stream: BinaryIO, *, limit_bytes: int) -> Stored:
        """stage and keep in one. Raises TooLargeError."""

    def uri(self, sha256: str) -> str:
        """Where pods of this machine read those bytes in place; "" when they cannot."""

    def lend(self, sha256: str) -> str:
        """An address at which any client that has it may read those bytes for a while; "" when there is none."""

    def local_file(self, sha256: str) -> AbstractContextManager[Path]:
        """A file of this machine with those bytes, to be read while the context lasts. Raises FileNotFoundError."""

    def open(self, sha256: str) -> BinaryIO:
        """Raises FileNotFoundError when there is no such blob."""

    def exists(self, sha256: str) -> bool: ...

    def delete(self, sha256: str) -> None: ...

    def verify(self, sha256: str) -> bool:
        """Reads all of it: whether the bytes still have the hash that names them."""

    def age_s(self, sha256: str) -> float:
        """Seconds since the bytes were last stored; infinite when they are not there."""

    def older_than(self, seconds: float) -> Iterator[str]:
        """The names of blobs that were stored longer ago than that."""

    def spool(self) -> Spool:
        """Where uploads that take several requests gather."""

    def sweep_staging(self, *, older_than_s: float) -> int:
        """Removes what processes that died left half written; returns how many."""


class DiskStore:
    """Blobs as files in two levels of 256 folders: ab/cd/abcd... Staging is next to them, on the same file system."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root)
        self.staging = self.root / "staging"

    def stage(self, *, limit_bytes: int) -> Staging:
        return Staging(self.staging, limit_bytes=limit_bytes)

    def keep(self, staging: StagedBytes) -> Stored:
        assert isinstance(staging, Staging)  # its own, or of its spool
        stored = staging.finish()
        target = self.path(stored.sha256)
        with room_on_disk():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.chmod(staging.path, 0o444)
            os.utime(staging.path)
            # replaced even when it exists: the fresh time keeps the collector away until it is held
            os.replace(staging.path, target)
            sync_folder(target.parent)
        return stored

    def write(self, stream: BinaryIO, *, limit_bytes: int) -> Stored:
        with self.stage(limit_bytes=limit_bytes) as staging:
            copy_into(staging, stream)
            return self.keep(staging)

    def path(self, sha256: str) -> Path:
        if not SHA256.fullmatch(sha256):
            raise ValueError(f"{sha256!r} is not a SHA-256 in lower-case hex")
        return self.root / sha256[:2] / sha256[2:4] / sha256

    def uri(self, sha256: str) -> str:
        return self.path(sha256).as_uri()

    def lend(self, sha256: str) -> str:  # noqa: ARG002 (the protocol's: a disk has no addresses)
        return ""

    @contextlib.contextmanager
    def local_file(self, sha256: str) -> Iterator[Path]:
        path = self.path(sha256)
        if not path.is_file():
            raise FileNotFoundError(path)
        yield path

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
        return age_of_file_s(self.path(sha256))

    def older_than(self, seconds: float) -> Iterator[str]:
        for path in self.root.glob("??/??/*"):
            if SHA256.fullmatch(path.name) and age_of_file_s(path) > seconds:
                yield path.name

    def spool(self) -> Spool:
        return DiskSpool(self.root / UPLOADS, staging=self.staging)

    def sweep_staging(self, *, older_than_s: float) -> int:
        return sweep(self.staging, older_than_s=older_than_s)


def blob_store() -> BlobStore:
    """The platform's store, as the settings have it. Raises ValueError for an address that means nothing."""
    if not settings.STORE:
        return DiskStore(settings.BLOB_ROOT)
    return _bucket(settings.STORE, settings.STORE_ENDPOINT, settings.STORE_POD_ENDPOINT, settings.BLOB_ROOT / "staging")


@functools.lru_cache(maxsize=4)
def _bucket(address: str, endpoint: str, pod_endpoint: str, staging: Path) -> BlobStore:
    from mlhub.storage.buckets import BucketStore  # its client is large: only who uses it pays for the import

    return BucketStore(address, staging=staging, endpoint=endpoint, pod_endpoint=pod_endpoint)
