# SPDX-License-Identifier: Apache-2.0
"""Blobs and bytes as HTTP downloads: entity tags, conditions, one byte range, streamed in pieces (RFC 9110)."""

from __future__ import annotations

import io
import re
from collections.abc import AsyncIterator, Iterator
from typing import BinaryIO

import structlog
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header

from mlhub.core.problems import problem
from mlhub.events.access import DownloadAccess
from mlhub.events.hub import hub
from mlhub.storage.models import Blob
from mlhub.storage.stores import CHUNK_BYTES, blob_store

logger = structlog.stdlib.get_logger(__name__)
RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


def blob_response(
    request: HttpRequest, blob: Blob, *, filename: str, content_type: str = "application/octet-stream"
) -> HttpResponseBase:
    """The blob, or the part asked for; its SHA-256 is the entity tag. 304 and 416 where RFC 9110 wants them."""
    early = _without_body(request, etag=blob.sha256, size_bytes=blob.size_bytes)
    if early is not None:
        return early
    try:
        file = blob_store().open(blob.sha256)
    except FileNotFoundError:
        logger.exception("storage.bytes_lost", sha256=blob.sha256)
        return problem(500, "bytes_lost", "The bytes of this file are gone from the store. Ask an administrator.")
    return _response(
        request, file, etag=blob.sha256, size_bytes=blob.size_bytes, filename=filename, content_type=content_type
    )


def bytes_response(
    request: HttpRequest, content: bytes, *, etag: str, filename: str, content_type: str
) -> HttpResponseBase:
    """The same for content that is made on the spot."""
    early = _without_body(request, etag=etag, size_bytes=len(content))
    if early is not None:
        return early
    file = io.BytesIO(content)
    return _response(request, file, etag=etag, size_bytes=len(content), filename=filename, content_type=content_type)


def file_response(
    request: HttpRequest, file: BinaryIO, *, etag: str, size_bytes: int, filename: str,
    content_type: str = "application/octet-stream",
) -> HttpResponseBase:  # fmt: skip
    """The same for an open file, which is closed with the response."""
    early = _without_body(request, etag=etag, size_bytes=size_bytes)
    if early is not None:
        file.close()
        return early
    return _response(request, file, etag=etag, size_bytes=size_bytes, filename=filename, content_type=content_type)


def stream_response(
    request: HttpRequest, pieces: Iterator[bytes], *, filename: str, content_type: str
) -> StreamingHttpResponse:
    """The same for content of unknown length that is made while it is sent: neither ranges nor entity tags."""
    access = DownloadAccess(request)
    sent = _each_async(pieces, access) if isinstance(request, ASGIRequest) else _each(pieces, access)
    response = StreamingHttpResponse(sent, content_type=content_type)
    response.headers["Content-Disposition"] = content_disposition_header(True, filename) or "attachment"
    response.headers["Cache-Control"] = "private, no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _without_body(request: HttpRequest, *, etag: str, size_bytes: int) -> HttpResponseBase | None:
    seen = request.headers.get("If-None-Match", "")
    if seen == "*" or f'"{etag}"' in (tag.strip().removeprefix("W/") for tag in seen.split(",")):
        return HttpResponse(status=304, headers={"ETag": f'"{etag}"'})
    if _span(request, etag=etag, size_bytes=size_bytes) is None:
        refused = problem(416, "no_such_range", f"The file has {size_bytes:,} bytes; the range asked for begins after.")
        refused.headers["Content-Range"] = f"bytes */{size_bytes}"
        return refused
    return None


def _span(request: HttpRequest, *, etag: str, size_bytes: int) -> tuple[int, int] | None:
    """First byte and one past the last; the whole file when no single usable range is asked; None = not satisfiable."""
    whole = (0, size_bytes)
    condition = request.headers.get("If-Range")
    match = RANGE.fullmatch(request.headers.get("Range", "").strip())
    if match is None or (condition is not None and condition != f'"{etag}"'):
        return whole
    first, last = match.groups()
    if not first:
        if not last:
            return whole
        return (max(0, size_bytes - int(last)), size_bytes) if int(last) and size_bytes else None
    if last and int(last) < int(first):
        return whole
    if int(first) >= size_bytes:
        return None
    return int(first), min(int(last) + 1, size_bytes) if last else size_bytes


def _response(
    request: HttpRequest, file: BinaryIO, *, etag: str, size_bytes: int, filename: str, content_type: str
) -> HttpResponseBase:
    begin, end = _span(request, etag=etag, size_bytes=size_bytes) or (0, size_bytes)
    file.seek(begin)
    # ASGI would collect a synchronous iterator in memory before it sends the first byte
    read = _read_async if isinstance(request, ASGIRequest) else _read
    pieces = read(file, end - begin, DownloadAccess(request))
    response = StreamingHttpResponse(pieces, content_type=content_type)
    response._resource_closers.append(file.close)  # type: ignore[attr-defined]
    response.headers["Content-Length"] = str(end - begin)
    response.headers["ETag"] = f'"{etag}"'
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["Content-Disposition"] = content_disposition_header(True, filename) or "attachment"
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers["X-Content-Type-Options"] = "nosniff"
    if (begin, end) != (0, size_bytes):
        response.status_code = 206
        response.headers["Content-Range"] = f"bytes {begin}-{end - 1}/{size_bytes}"
    return response


def _read(file: BinaryIO, n_bytes: int, access: DownloadAccess) -> Iterator[bytes]:
    while n_bytes > 0 and (piece := file.read(min(CHUNK_BYTES, n_bytes))):
        n_bytes -= len(piece)
        if access.is_due:
            access.check()
        yield piece


async def _read_async(file: BinaryIO, n_bytes: int, access: DownloadAccess) -> AsyncIterator[bytes]:
    read = sync_to_async(file.read, thread_sensitive=False)
    while n_bytes > 0 and (piece := await read(min(CHUNK_BYTES, n_bytes))):
        n_bytes -= len(piece)
        if access.is_due:
            await hub().read(access.check)
        yield piece


def _each(pieces: Iterator[bytes], access: DownloadAccess) -> Iterator[bytes]:
    for piece in pieces:
        if access.is_due:
            access.check()
        yield piece


async def _each_async(pieces: Iterator[bytes], access: DownloadAccess) -> AsyncIterator[bytes]:
    def following() -> bytes | None:
        return next(pieces, None)

    read = sync_to_async(following, thread_sensitive=False)
    while (piece := await read()) is not None:
        if access.is_due:
            await hub().read(access.check)
        yield piece
