# SPDX-License-Identifier: Apache-2.0
"""Blobs in an S3-compatible bucket, named as on a disk; read by ranges, lent to pods by signed addresses.

Credentials come the way that S3 clients know: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a web identity token, or
the machine's own role.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import re
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import urlparse

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from mlhub.core.errors import UnavailableError
from mlhub.storage.bucket_spool import BucketSpool, SpooledBytes
from mlhub.storage.bucket_staging import BucketStaging
from mlhub.storage.spools import UPLOADS
from mlhub.storage.staging import READ, SHA256, IncomingBytes, StagedBytes, Stored, copy_into, sweep

if TYPE_CHECKING:
    from mlhub.storage.bucket_joins import Joiner

READ_AHEAD_BYTES = 4 * 2**20
# a bucket looks at it when a request begins: a download that began goes on, one that breaks off asks the platform for a
# new address. The clocks of platform and bucket may differ by so much
LENT_FOR = timedelta(minutes=5)
TIMEOUT = timedelta(minutes=5)  # of a request, its body included
RETRY_AFTER_S = 10
BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


class StoreAwayError(UnavailableError):
    """The bucket cannot be reached, or does not let us in; the same request may succeed later."""

    code = "store_away"


class BucketStore:
    """A blob is there once all of it is, never half. staging: a folder for blobs that are read as files.

    endpoint: "" = Amazon's. pod_endpoint: where pods reach the same bucket; "" = they do not, and the web brings them
    what they read.
    """

    def __init__(self, address: str, *, staging: Path, endpoint: str = "", pod_endpoint: str = "") -> None:
        self.bucket, self.prefix = parse_address(address)
        self._endpoint = endpoint
        self.staging = staging
        self._store = _connect(self.bucket, endpoint)
        self._for_pods = _connect(self.bucket, pod_endpoint) if pod_endpoint else None

    def stage(self, *, limit_bytes: int) -> IncomingBytes:
        return BucketStaging(self.spool(), limit_bytes=limit_bytes)

    def keep(self, staging: StagedBytes) -> Stored:
        assert isinstance(staging, SpooledBytes | BucketStaging)  # of its spool, or its own
        stored = staging.finish()
        key = self._key(stored.sha256)
        # written even when it is there: the fresh time keeps the collector away until it is held
        if isinstance(staging, BucketStaging) and (content := staging.content) is not None:
            with _reaching():
                obstore.put(self._store, key, content, use_multipart=False)
            return stored
        pieces = staging.pieces() if isinstance(staging, BucketStaging) else staging
        with _joining():
            self._joiner.join(pieces, key)
        return stored

    def write(self, stream: BinaryIO, *, limit_bytes: int) -> Stored:
        with self.stage(limit_bytes=limit_bytes) as staging:
            copy_into(staging, stream)
            return self.keep(staging)

    def uri(self, sha256: str) -> str:  # noqa: ARG002 (the protocol's: a bucket is no disk)
        return ""

    def lend(self, sha256: str) -> str:
        if self._for_pods is None:
            return ""
        with _reaching():
            return obstore.sign(self._for_pods, "GET", self._key(sha256), LENT_FOR)

    @contextlib.contextmanager
    def local_file(self, sha256: str) -> Iterator[Path]:
        self.staging.mkdir(parents=True, exist_ok=True)
        with self.open(sha256) as source, tempfile.TemporaryDirectory(dir=self.staging, prefix=READ) as folder:
            path = Path(folder) / sha256
            with path.open("wb") as target:
                while chunk := source.read(READ_AHEAD_BYTES):
                    target.write(chunk)
            yield path

    def open(self, sha256: str) -> BinaryIO:
        key = self._key(sha256)
        with _reaching():
            size = int(obstore.head(self._store, key)["size"])
        return cast("BinaryIO", io.BufferedReader(_Ranges(self._store, key, size), READ_AHEAD_BYTES))

    def exists(self, sha256: str) -> bool:
        return self._head(sha256) is not None

    def delete(self, sha256: str) -> None:
        with contextlib.suppress(FileNotFoundError), _reaching():
            obstore.delete(self._store, self._key(sha256))

    def verify(self, sha256: str) -> bool:
        try:
            with self.open(sha256) as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == sha256  # type: ignore[arg-type]
        except FileNotFoundError:
            return False

    def age_s(self, sha256: str) -> float:
        found = self._head(sha256)
        return float("inf") if found is None else time.time() - found["last_modified"].timestamp()

    def older_than(self, seconds: float) -> Iterator[str]:
        before = time.time() - seconds
        with _reaching():
            for batch in obstore.list(self._store, self.prefix or None, chunk_size=1000):
                for found in batch:
                    name = str(found["path"]).rpartition("/")[2]
                    if SHA256.fullmatch(name) and found["last_modified"].timestamp() < before:
                        yield name

    def spool(self) -> BucketSpool:
        prefix = f"{self.prefix}/{UPLOADS}" if self.prefix else UPLOADS
        return BucketSpool(self._store, prefix=prefix, reaching=_reaching)

    def sweep_staging(self, *, older_than_s: float) -> int:
        """Of this machine's disk, and unfinished multipart uploads in the bucket."""
        swept = sweep(self.staging, older_than_s=older_than_s)
        with _joining():
            return swept + self._joiner.end_unfinished(
                prefix=f"{self.prefix}/" if self.prefix else "", is_ours=self._is_ours, older_than_s=older_than_s
            )

    @functools.cached_property
    def _joiner(self) -> Joiner:
        from mlhub.storage.bucket_joins import Joiner  # its client takes time and memory: only who joins pays for it

        return Joiner(self.bucket, endpoint=self._endpoint)

    def _head(self, sha256: str) -> Any:
        try:
            with _reaching():
                return obstore.head(self._store, self._key(sha256))
        except FileNotFoundError:
            return None

    def _is_ours(self, key: str) -> bool:
        """A blob's, or a piece's: those were multipart uploads, too, once."""
        name = key.rpartition("/")[2]
        return (bool(SHA256.fullmatch(name)) and key == self._key(name)) or self.spool().is_piece(key)

    def _key(self, sha256: str) -> str:
        if not SHA256.fullmatch(sha256):
            raise ValueError(f"{sha256!r} is not a SHA-256 in lower-case hex")
        return "/".join(part for part in (self.prefix, sha256[:2], sha256[2:4], sha256) if part)


class _Ranges(io.RawIOBase):
    """A blob as a file: each read asks for one range, and nothing else is brought."""

    def __init__(self, store: S3Store, key: str, size: int) -> None:
        self._store, self._key, self._size, self._at = store, key, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readall(self) -> bytes:
        """All that is left by one request; the base class asks for 8 KiB at a time."""
        buffer = bytearray(max(0, self._size - self._at))
        return bytes(buffer[: self.readinto(buffer)])

    def readinto(self, buffer: Any) -> int:
        n_bytes = min(len(buffer), self._size - self._at)
        if n_bytes <= 0:
            return 0
        with _reaching():
            got = bytes(obstore.get_range(self._store, self._key, start=self._at, length=n_bytes))
        buffer[: len(got)] = got
        self._at += len(got)
        return len(got)


def parse_address(address: str) -> tuple[str, str]:
    """s3://bucket/prefix in its two parts. Raises ValueError that names the setting."""
    found = urlparse(address)
    if found.scheme != "s3" or not BUCKET.fullmatch(found.netloc):
        raise ValueError(
            f"MLHUB_STORE is {address!r}; write it like s3://bucket/prefix, or leave it empty for the disk."
        )
    return found.netloc, found.path.strip("/")


def _connect(bucket: str, endpoint: str) -> S3Store:
    """Nothing is asked yet."""
    if not endpoint:
        return S3Store(bucket, disable_bulk_delete=True)
    return S3Store(
        bucket,
        endpoint=endpoint.rstrip("/"),
        virtual_hosted_style_request=False,
        disable_bulk_delete=True,
        client_options={"allow_http": endpoint.startswith("http://"), "timeout": TIMEOUT},
        retry_config={"max_retries": 4, "retry_timeout": timedelta(seconds=30)},
    )


@contextlib.contextmanager
def _reaching() -> Iterator[None]:
    """Raises StoreAwayError for all that is not "there is no such blob"."""
    try:
        yield
    except BaseError as error:
        raise _away(error) from error


@contextlib.contextmanager
def _joining() -> Iterator[None]:
    """The same for the client that joins."""
    from mlhub.storage.bucket_joins import JoinError

    try:
        yield
    except JoinError as error:
        raise _away(error) from error


def _away(error: Exception) -> StoreAwayError:
    return StoreAwayError(
        f"The object store cannot be used: {str(error)[:500]}",
        remedy="Try again; if it lasts, an administrator should look at MLHUB_STORE and its credentials.",
        retry_after_s=RETRY_AFTER_S,
    )
