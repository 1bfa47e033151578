# SPDX-License-Identifier: Apache-2.0
"""Large files, sent in pieces by the protocol tus 1.0.0: a connection that is cut costs at most one piece."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import httpx

from mlhub.client.problems import Refused, content_of
from mlhub.client.requests import MOST_PAUSE_S

if TYPE_CHECKING:
    from mlhub.client.asynchronous.transport import AsyncTransport

FROM_BYTES = 8 * 2**20  # smaller files are sent in one request
PIECE_BYTES = 8 * 2**20
UPLOADS = "/uploads"
VERSION = {"Tus-Resumable": "1.0.0"}
GONE = (403, 404, 410)
LATER = (409, 423, 502, 503, 504)  # the offset has moved, another request still writes, the platform is away


@dataclass
class AsyncResumableFile:
    """file: seekable. on_begun is called with the id of the upload, on_bytes with how many bytes have arrived."""

    file: BinaryIO
    size_bytes: int
    filename: str
    project: str
    on_begun: Callable[[str], object] = lambda _: None
    on_bytes: Callable[[int], object] = lambda _: None

    async def send(self, api: AsyncTransport, upload_id: str = "") -> str:
        """The id of the whole upload. upload_id: of one that was begun before, which goes on if it still can.

        After a cut it goes on where the platform says, as long as a byte arrives within the patience of `api`. Raises
        Refused, Unreachable.
        """
        offset = await self._offset_of_known(api, upload_id) if upload_id else None
        if offset is None:
            upload_id, offset = await self._begin(api), 0
            self.on_begun(upload_id)
        until = time.monotonic() + api.patience_s
        while offset < self.size_bytes:
            self.on_bytes(offset)
            sent = await self._send_piece(api, upload_id, offset, until=until)
            if sent > offset:
                until = time.monotonic() + api.patience_s
            offset = sent
        self.on_bytes(offset)
        return upload_id

    async def _begin(self, api: AsyncTransport) -> str:
        metadata = ",".join(
            f"{key} {base64.b64encode(value.encode()).decode()}"
            for key, value in (("filename", self.filename), ("project", self.project))
        )
        headers = {**VERSION, "Upload-Length": str(self.size_bytes), "Upload-Metadata": metadata}
        answer = await api.exchange("POST", UPLOADS, headers=headers)
        content_of(answer)
        return str(answer.headers["Location"]).rpartition("/")[2]

    async def _offset_of_known(self, api: AsyncTransport, upload_id: str) -> int | None:
        """None when it is gone, or of another length. While the platform is away it is not known to be gone."""
        answer = await _head(api, upload_id, until=time.monotonic() + api.patience_s)
        if answer.status_code in GONE or int(answer.headers["Upload-Length"]) != self.size_bytes:
            return None
        return int(answer.headers["Upload-Offset"])

    async def _send_piece(self, api: AsyncTransport, upload_id: str, offset: int, *, until: float) -> int:
        """The offset afterwards."""
        self.file.seek(offset)
        piece = self.file.read(PIECE_BYTES)
        headers = {**VERSION, "Upload-Offset": str(offset), "Content-Type": "application/offset+octet-stream"}
        try:
            answer = await api.exchange("PATCH", f"{UPLOADS}/{upload_id}", content=piece, headers=headers)
            if answer.is_success:
                return int(answer.headers["Upload-Offset"])
            if answer.status_code not in LATER or time.monotonic() > until:
                content_of(answer)
        except httpx.TransportError:
            if time.monotonic() > until:
                raise
        await asyncio.sleep(_pause_s(api))
        answer = await _head(api, upload_id, until=until)
        if answer.status_code in GONE:
            raise Refused({"detail": f"The upload cannot go on: HTTP {answer.status_code}."})
        return int(answer.headers["Upload-Offset"])


async def _head(api: AsyncTransport, upload_id: str, *, until: float) -> httpx.Response:
    """What the platform knows of the upload: an answer of success, or of GONE. Raises Refused, Unreachable."""
    while True:
        try:
            answer = await api.exchange("HEAD", f"{UPLOADS}/{upload_id}", headers=VERSION)
            if answer.is_success or answer.status_code in GONE:
                return answer
            if answer.status_code not in LATER or time.monotonic() > until:
                raise Refused({"detail": f"The upload cannot go on: HTTP {answer.status_code}."})
        except httpx.TransportError:
            if time.monotonic() > until:
                raise
        await asyncio.sleep(_pause_s(api))


def _pause_s(api: AsyncTransport) -> float:
    return min(MOST_PAUSE_S, api.patience_s / 10)
