# SPDX-License-Identifier: Apache-2.0
"""Bytes of one stream on their way into a bucket: pieces like those of an upload of several requests.

What is smaller than a piece stays in memory until it is stored. Pieces of a process that was killed belong to no
upload, and are swept as such.
"""

from __future__ import annotations

import io
from typing import BinaryIO

import structlog

from mlhub.core.errors import UnavailableError
from mlhub.core.ids import new_id
from mlhub.storage.bucket_spool import BucketSpool, SpooledBytes, StoredPiece
from mlhub.storage.staging import IncomingBytes, Stored

logger = structlog.stdlib.get_logger(__name__)
PIECE_BYTES = 8 * 2**20  # more than the least part of a multipart upload: the bucket copies it


class BucketStaging(IncomingBytes):
    """Nothing of it is on this machine's disk. content: all bytes, while none was stored."""

    stays = True

    def __init__(self, spool: BucketSpool, *, limit_bytes: int) -> None:
        super().__init__(limit_bytes=limit_bytes)
        self._spool, self._id = spool, new_id()
        self._pieces: list[StoredPiece] = []
        self._waiting = bytearray()
        self._n_stored = 0
        self._was_tried = False  # a piece may be there, though its answer never came

    @property
    def content(self) -> bytes | None:
        return None if self._pieces else bytes(self._waiting)

    def pieces(self) -> SpooledBytes:
        """All bytes as pieces in the bucket."""
        self._put(len(self._waiting))
        return SpooledBytes(self._pieces, self._spool.reader())

    def finish(self) -> Stored:
        return Stored(self._hash.hexdigest(), self.size_bytes)

    def open(self) -> BinaryIO:
        content = self.content
        return self.pieces().open() if content is None else io.BytesIO(content)

    def discard(self) -> None:
        self._waiting.clear()
        if not self._was_tried:
            return
        try:
            self._spool.discard(self._id)
        except UnavailableError as error:  # of what is stored or refused by now; they are swept in a day
            logger.warning("storage.pieces_left", uploads=[str(self._id)], error=str(error))
        self._was_tried = False

    def _store(self, chunk: bytes) -> None:
        self._waiting += chunk
        while len(self._waiting) >= PIECE_BYTES:
            self._put(PIECE_BYTES)

    def _put(self, n_bytes: int) -> None:
        if not n_bytes:
            return
        self._was_tried = True
        self._pieces.append(self._spool.put(self._id, bytes(self._waiting[:n_bytes]), offset=self._n_stored))
        self._n_stored += n_bytes
        del self._waiting[:n_bytes]
