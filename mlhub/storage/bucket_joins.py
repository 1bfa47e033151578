# SPDX-License-Identifier: Apache-2.0
"""Joining pieces to one object within an S3-compatible bucket, by a multipart upload whose parts are copies.

The bucket copies; no byte passes through this process but those of pieces below the least size of a part, which are
put together in memory. The object is there at the end, whole, or not at all. An upload that is not ended, since its
process was killed, is found by its age: see end_unfinished.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import botocore.session
import structlog
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from mlhub.storage.bucket_spool import SpooledBytes, StoredPiece

logger = structlog.stdlib.get_logger(__name__)
LEAST_PART_BYTES = 5 * 2**20  # S3's own, for all parts but the last
MOST_PARTS = 10_000
N_AT_A_TIME = 16
READ_TIMEOUT_S = 60.0  # without a byte; S3 sends some while it joins for longer
N_IN_MEMORY = 2  # parts that are put together at the same time
GONE = ("NoSuchUpload", "404")
REFUSED = ("AccessDenied", "NotImplemented", "MethodNotAllowed", "501")
JoinError = (BotoCoreError, ClientError)


class Joiner:
    """endpoint: "" = Amazon's. Credentials come as they do to the client of buckets.py."""

    def __init__(self, bucket: str, *, endpoint: str) -> None:
        self._bucket = bucket
        self._memory = threading.Semaphore(N_IN_MEMORY)
        self._s3: Any = botocore.session.get_session().create_client(
            "s3",
            endpoint_url=endpoint or None,
            region_name=os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1",
            config=Config(
                signature_version="s3v4",
                s3={"addressing_style": "path" if endpoint else "auto"},
                retries={"mode": "standard", "max_attempts": 5},
                read_timeout=READ_TIMEOUT_S,
                max_pool_connections=N_AT_A_TIME,
                # checksums that older servers of other makers do not know
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
        )

    def join(self, spooled: SpooledBytes, key: str) -> None:
        """Makes the object of the pieces in their order; they stay. Raises BotoCoreError, ClientError (also when a
        piece has changed since it was listed), StoreAwayError."""
        least = max(LEAST_PART_BYTES, -(-spooled.size_bytes // MOST_PARTS))
        parts = in_parts(spooled.pieces, least_bytes=least)
        target = {"Bucket": self._bucket, "Key": key}
        if len(parts) <= 1:  # at most a part and a piece
            self._s3.put_object(**target, Body=_content(spooled, spooled.pieces))
            return
        upload = {**target, "UploadId": self._s3.create_multipart_upload(**target)["UploadId"]}
        try:
            with ThreadPoolExecutor(N_AT_A_TIME, thread_name_prefix="join") as pool:
                etags = list(pool.map(lambda part: self._store(upload, spooled, *part), enumerate(parts, 1)))
            named = [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(etags, 1)]
            self._s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": named})
        except BaseException as error:
            if _code_of(error) in GONE and self._size_of(key) == spooled.size_bytes:
                return  # completed: the first answer was lost, and the client's own repetition found no upload
            with contextlib.suppress(*JoinError):
                self._s3.abort_multipart_upload(**upload)
            raise

    def end_unfinished(self, *, prefix: str, is_ours: Callable[[str], bool], older_than_s: float) -> int:
        """Aborts multipart uploads of processes that died, so that their parts cost nothing; returns how many.

        is_ours: by its key, since others may write to the bucket as well. Where the bucket does not let us list them,
        its lifecycle rule has to.
        """
        before, n_ended = datetime.now(UTC) - timedelta(seconds=older_than_s), 0
        try:
            for found in self._unfinished(prefix):
                if is_ours(found["Key"]) and found["Initiated"] < before:
                    self._s3.abort_multipart_upload(Bucket=self._bucket, Key=found["Key"], UploadId=found["UploadId"])
                    n_ended += 1
        except ClientError as error:
            if _code_of(error) not in REFUSED:
                raise
            logger.warning("storage.unfinished_not_listed", error=str(error))
        return n_ended

    def _store(self, upload: dict[str, Any], spooled: SpooledBytes, number: int, pieces: Sequence[StoredPiece]) -> str:
        if len(pieces) > 1:
            with self._memory:
                put = self._s3.upload_part(**upload, PartNumber=number, Body=_content(spooled, pieces))
            return str(put["ETag"])
        copied = self._s3.upload_part_copy(
            **upload,
            PartNumber=number,
            CopySource={"Bucket": self._bucket, "Key": pieces[0].key},
            CopySourceIfMatch=pieces[0].etag,
        )
        return str(copied["CopyPartResult"]["ETag"])

    def _unfinished(self, prefix: str) -> Iterator[dict[str, Any]]:
        for page in self._s3.get_paginator("list_multipart_uploads").paginate(Bucket=self._bucket, Prefix=prefix):
            yield from page.get("Uploads", ())

    def _size_of(self, key: str) -> int | None:
        try:
            return int(self._s3.head_object(Bucket=self._bucket, Key=key)["ContentLength"])
        except JoinError:
            return None


def in_parts(pieces: Sequence[StoredPiece], *, least_bytes: int) -> list[list[StoredPiece]]:
    """Neighbours together until they are large enough for a part; the last one may be smaller."""
    parts: list[list[StoredPiece]] = []
    part: list[StoredPiece] = []
    for piece in pieces:
        part.append(piece)
        if sum(each.size_bytes for each in part) >= least_bytes:
            parts.append(part)
            part = []
    return [*parts, part] if part else parts


def _content(spooled: SpooledBytes, pieces: Sequence[StoredPiece]) -> bytes:
    return b"".join(spooled.reader.read(piece) for piece in pieces)


def _code_of(error: BaseException) -> str:
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""
