# SPDX-License-Identifier: Apache-2.0
"""Where the bytes of uploads under way are: next to the blobs, on the same disk or in the same bucket.

Every process of the platform reaches both, so that the requests of one upload may be answered by several of them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol
from uuid import UUID

from mlhub.storage.staging import (
    CHUNK_BYTES,
    StagedBytes,
    Staging,
    age_of_file_s,
    copy_into,
    room_on_disk,
    sync_folder,
)

UPLOADS = "uploads"  # the folder below the blobs'


class BytesMissingError(Exception):
    """The spool has fewer bytes than were expected, as after a restore. found: how many it has without a gap."""

    def __init__(self, found: int) -> None:
        super().__init__(f"the spool has {found} bytes")
        self.found = found


class Spool(Protocol):
    """What a store does with bytes that arrive piece by piece. All verbs may be repeated."""

    def append(self, upload_id: UUID, content: bytes, *, offset: int) -> None:
        """Writes a piece at its offset; when this returns, it survives a loss of power. What an earlier try left from
        there on is overwritten. Raises BytesMissingError when there is a gap before it."""

    def size(self, upload_id: UUID) -> int:
        """How many bytes there are without a gap; what a try that died has written may be among them."""

    def gather(self, upload_ids: Sequence[UUID], *, limit_bytes: int) -> StagedBytes:
        """The bytes of these uploads, one after the other; they stay in the spool."""

    def discard(self, upload_id: UUID) -> None:
        """Removes its bytes, if there are any."""

    def older_than(self, seconds: float) -> Iterator[UUID]:
        """Uploads whose newest bytes are older than that."""


class DiskSpool:
    """A file for each upload. staging: a folder of the same file system."""

    def __init__(self, folder: Path, *, staging: Path) -> None:
        self.folder, self.staging = folder, staging

    def append(self, upload_id: UUID, content: bytes, *, offset: int) -> None:
        with room_on_disk():
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path(upload_id), os.O_RDWR | os.O_CREAT, 0o600)
            try:
                found = os.fstat(descriptor).st_size
                if found < offset:
                    raise BytesMissingError(found)
                _write_at(descriptor, content, offset)
            finally:
                os.close(descriptor)
            if offset == 0:
                sync_folder(self.folder)

    def size(self, upload_id: UUID) -> int:
        try:
            return self._path(upload_id).stat().st_size
        except FileNotFoundError:
            return 0

    def gather(self, upload_ids: Sequence[UUID], *, limit_bytes: int) -> Staging:
        paths = [path for path in map(self._path, upload_ids) if path.exists()]  # empty ones have none
        staging = Staging(self.staging, limit_bytes=limit_bytes)
        try:
            if len(paths) == 1:
                staging.adopt(paths[0])
                return staging
            for path in paths:
                with path.open("rb") as file:
                    copy_into(staging, file)
        except BaseException:
            staging.discard()
            raise
        return staging

    def discard(self, upload_id: UUID) -> None:
        self._path(upload_id).unlink(missing_ok=True)

    def older_than(self, seconds: float) -> Iterator[UUID]:
        for path in self.folder.glob("*"):
            with contextlib.suppress(ValueError):  # not one of ours
                upload_id = UUID(path.name)
                if age_of_file_s(path) > seconds:
                    yield upload_id

    def _path(self, upload_id: UUID) -> Path:
        return self.folder / str(upload_id)


def _write_at(descriptor: int, content: bytes, offset: int) -> None:
    """The file ends with the content afterwards, and at the offset when the disk has no room for all of it."""
    try:
        left, at = memoryview(content), offset
        while left:
            n_written = os.pwrite(descriptor, left[:CHUNK_BYTES], at)
            left, at = left[n_written:], at + n_written
        os.ftruncate(descriptor, at)
        os.fsync(descriptor)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, offset)
        raise
