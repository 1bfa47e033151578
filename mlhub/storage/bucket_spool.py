# SPDX-License-Identifier: Apache-2.0
"""Uploads under way in an S3-compatible bucket: an object for each piece, named by its offset.

An object cannot be appended to, and the parts of S3's own multipart uploads are 5 MiB at least, more than some clients
send at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any
from uuid import UUID

import obstore

if TYPE_CHECKING:
    from obstore.store import S3Store

    from mlhub.storage.staging import Staging

DIGITS = 15  # of an offset, so that names are in the order of offsets


class BucketSpool:
    """prefix: below which its objects are. reaching: turns what the bucket's client raises into StoreAwayError."""

    def __init__(self, store: S3Store, *, prefix: str, reaching: Callable[[], AbstractContextManager[None]]) -> None:
        self._store, self._prefix, self._reaching = store, prefix, reaching

    def append(self, upload_id: UUID, content: bytes, *, offset: int) -> None:
        """A gap is found by fill(), which reads all pieces: asking here would cost a request for each piece."""
        if not content:
            return
        with self._reaching():
            obstore.put(self._store, self._key(upload_id, offset), content)

    def size(self, upload_id: UUID) -> int:
        return sum(size for _, size in self._pieces(upload_id))

    def fill(self, staging: Staging, upload_ids: Sequence[UUID]) -> None:
        for upload_id in upload_ids:
            for offset, _ in self._pieces(upload_id):
                with self._reaching():
                    content = obstore.get(self._store, self._key(upload_id, offset)).bytes()
                staging.write(memoryview(content))  # type: ignore[arg-type]  # hashed and written as bytes are

    def discard(self, upload_id: UUID) -> None:
        with self._reaching():
            for found in self._listed(f"{self._prefix}/{upload_id}"):
                obstore.delete(self._store, str(found["path"]))

    def older_than(self, seconds: float) -> Iterator[UUID]:
        newest: dict[UUID, float] = {}
        with self._reaching():
            for found in self._listed(self._prefix):
                upload_id = UUID(str(found["path"]).split("/")[-2])
                newest[upload_id] = max(newest.get(upload_id, 0.0), found["last_modified"].timestamp())
        before = time.time() - seconds
        yield from (upload_id for upload_id, at in newest.items() if at < before)

    def _pieces(self, upload_id: UUID) -> list[tuple[int, int]]:
        """Offset and size of each piece up to the first gap; what dead tries left is not among them."""
        with self._reaching():
            sizes = {
                int(str(found["path"]).rpartition("/")[2]): int(found["size"])
                for found in self._listed(f"{self._prefix}/{upload_id}")
            }
        pieces, at = [], 0
        while at in sizes:
            pieces.append((at, sizes[at]))
            at += sizes[at]
        return pieces

    def _listed(self, prefix: str) -> list[Any]:
        return [found for batch in obstore.list(self._store, prefix, chunk_size=1000) for found in batch]

    def _key(self, upload_id: UUID, offset: int) -> str:
        return f"{self._prefix}/{upload_id}/{offset:0{DIGITS}d}"
