# SPDX-License-Identifier: Apache-2.0
"""Uploads under way in an S3-compatible bucket: an object for each piece, named by its offset.

An object cannot be appended to, and the parts of S3's own multipart uploads are 5 MiB at least, more than some clients
send at a time. Pieces become the parts of one once the upload is whole: see bucket_joins.py.
"""

from __future__ import annotations

import io
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast
from uuid import UUID

import obstore

from mlhub.storage.hashing import sha256_of_chunks
from mlhub.storage.staging import StagedBytes, Stored

if TYPE_CHECKING:
    from obstore.store import S3Store

DIGITS = 15  # of an offset, so that names are in the order of offsets
PIECE_NAME = re.compile(rf"\d{{{DIGITS}}}")
UPLOAD_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
N_AHEAD = 3  # pieces that are read while one is hashed
LOOK_BYTES = 256 * 2**10  # of each read by who looks for the file's format


class StoredPiece(NamedTuple):
    """An object of an upload, as it was when it was listed."""

    key: str
    size_bytes: int
    etag: str


class PieceReader:
    """Reads pieces, or fails if they have changed since they were listed."""

    def __init__(self, store: S3Store, reaching: Callable[[], AbstractContextManager[None]]) -> None:
        self._store, self._reaching = store, reaching

    def read(self, piece: StoredPiece) -> memoryview:
        """Raises StoreAwayError, also for a piece that was written again."""
        with self._reaching():
            found = obstore.get(self._store, piece.key, options={"if_match": piece.etag})
            return memoryview(found.bytes())

    def read_range(self, piece: StoredPiece, start: int, n_bytes: int) -> memoryview:
        with self._reaching():
            return memoryview(obstore.get_range(self._store, piece.key, start=start, length=n_bytes))

    def read_all(self, pieces: Sequence[StoredPiece]) -> Iterator[memoryview]:
        """In their order; some are read ahead."""
        with ThreadPoolExecutor(N_AHEAD, thread_name_prefix="pieces") as pool:
            waiting: deque[Future[memoryview]] = deque()
            try:
                for piece in pieces:
                    waiting.append(pool.submit(self.read, piece))
                    if len(waiting) > N_AHEAD:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


class SpooledBytes(StagedBytes):
    """The pieces of whole uploads, one after the other, where they are: nothing is copied to this machine's disk."""

    stays = True

    def __init__(self, pieces: Sequence[StoredPiece], reader: PieceReader) -> None:
        self.pieces, self.reader = pieces, reader
        self.size_bytes = sum(piece.size_bytes for piece in pieces)
        self._sha256 = ""

    def finish(self) -> Stored:
        """Reads all of them, once."""
        if not self._sha256:
            self._sha256 = sha256_of_chunks(self.reader.read_all(self.pieces)).hexdigest()
        return Stored(self._sha256, self.size_bytes)

    def open(self) -> BinaryIO:
        return cast("BinaryIO", io.BufferedReader(_PiecesFile(self.pieces, self.reader), LOOK_BYTES))

    def discard(self) -> None:
        """The pieces are the upload's, which is there again when its use fails."""


class _PiecesFile(io.RawIOBase):
    """Each read asks for a range of one piece."""

    def __init__(self, pieces: Sequence[StoredPiece], reader: PieceReader) -> None:
        self._pieces, self._reader, self._at = pieces, reader, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        size = sum(piece.size_bytes for piece in self._pieces)
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readall(self) -> bytes:
        """The base class asks for 8 KiB at a time."""
        found, buffer = bytearray(), bytearray(LOOK_BYTES)
        while n_bytes := self.readinto(buffer):
            found += buffer[:n_bytes]
        return bytes(found)

    def readinto(self, buffer: Any) -> int:
        begin = 0
        for piece in self._pieces:
            start = self._at - begin
            if start < piece.size_bytes:
                n_bytes = min(len(buffer), piece.size_bytes - start)
                buffer[:n_bytes] = self._reader.read_range(piece, start, n_bytes)
                self._at += n_bytes
                return n_bytes
            begin += piece.size_bytes
        return 0


class BucketSpool:
    """prefix: below which its objects are. reaching: turns what the bucket's client raises into StoreAwayError."""

    def __init__(self, store: S3Store, *, prefix: str, reaching: Callable[[], AbstractContextManager[None]]) -> None:
        self._store, self._prefix, self._reaching = store, prefix, reaching

    def append(self, upload_id: UUID, content: bytes, *, offset: int) -> None:
        """A gap is found by gather(), which lists all pieces: asking here would cost a request for each piece."""
        if content:
            self.put(upload_id, content, offset=offset)

    def put(self, upload_id: UUID, content: bytes, *, offset: int) -> StoredPiece:
        key = self._key(upload_id, offset)
        with self._reaching():
            # one request: by itself the client makes a multipart upload of more than 5 MiB, of four
            stored = obstore.put(self._store, key, content, use_multipart=False)
        return StoredPiece(key, len(content), str(stored["e_tag"]))

    def size(self, upload_id: UUID) -> int:
        return sum(piece.size_bytes for piece in self._pieces(upload_id))

    def gather(self, upload_ids: Sequence[UUID], *, limit_bytes: int) -> SpooledBytes:  # noqa: ARG002 (of a disk)
        pieces = [piece for upload_id in upload_ids for piece in self._pieces(upload_id)]
        return SpooledBytes(pieces, self.reader())

    def is_piece(self, key: str) -> bool:
        """Whether the key is one of an upload's pieces, and no other program's."""
        above, _, name = key.rpartition("/")
        upload_id = above.removeprefix(f"{self._prefix}/")
        return bool(PIECE_NAME.fullmatch(name)) and bool(UPLOAD_ID.fullmatch(upload_id))

    def reader(self) -> PieceReader:
        return PieceReader(self._store, self._reaching)

    def discard(self, upload_id: UUID) -> None:
        with self._reaching():
            paths = [str(found["path"]) for found in self._listed(f"{self._prefix}/{upload_id}")]
            obstore.delete(self._store, paths)  # several at a time: a large upload has a thousand

    def older_than(self, seconds: float) -> Iterator[UUID]:
        newest: dict[UUID, float] = {}
        with self._reaching():
            for found in self._listed(self._prefix):
                upload_id = UUID(str(found["path"]).split("/")[-2])
                newest[upload_id] = max(newest.get(upload_id, 0.0), found["last_modified"].timestamp())
        before = time.time() - seconds
        yield from (upload_id for upload_id, at in newest.items() if at < before)

    def _pieces(self, upload_id: UUID) -> list[StoredPiece]:
        """Up to the first gap; what dead tries left is not among them."""
        with self._reaching():
            by_offset = {
                int(str(found["path"]).rpartition("/")[2]): StoredPiece(
                    str(found["path"]), int(found["size"]), str(found["e_tag"])
                )
                for found in self._listed(f"{self._prefix}/{upload_id}")
            }
        pieces, at = [], 0
        while at in by_offset:
            pieces.append(by_offset[at])
            at += by_offset[at].size_bytes
        return pieces

    def _listed(self, prefix: str) -> list[Any]:
        return [found for batch in obstore.list(self._store, prefix, chunk_size=1000) for found in batch]

    def _key(self, upload_id: UUID, offset: int) -> str:
        return f"{self._prefix}/{upload_id}/{offset:0{DIGITS}d}"
