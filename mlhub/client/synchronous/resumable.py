# SPDX-License-Identifier: Apache-2.0
# Written by `make client` from asynchronous/: do not edit.
"""Large files, sent in pieces by the protocol tus 1.0.0: a connection that is cut costs at most one piece."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import httpx

from mlhub.client.problems import Refused, content_of, refusal_of
from mlhub.client.requests import Repetition

if TYPE_CHECKING:
    from mlhub.client.synchronous.transport import Transport

FROM_BYTES = 8 * 2**20  # smaller files are sent in one request
PIECE_BYTES = 8 * 2**20
UPLOADS = "/uploads"
VERSION = {"Tus-Resumable": "1.0.0"}
GONE = (403, 404, 410)
LATER = (409, 423, 502, 503, 504)  # the offset has moved, another request still writes, the platform is away


@dataclass
class ResumableFile:
    """file: seekable. on_begun is called with the id of the upload, on_bytes with how many bytes have arrived."""

    file: BinaryIO
    size_bytes: int
    filename: str
    project: str
    on_begun: Callable[[str], object] = lambda _: None
    on_bytes: Callable[[int], object] = lambda _: None

    def send(self, api: Transport, upload_id: str = "") -> str:
        """The id of the whole upload. upload_id: of one that was begun before, which goes on if it still can.

        After a cut it goes on where the platform says, as long as a byte arrives within the patience of `api`. Raises
        Refused, Unreachable.
        """
        patience = Repetition(api.patience_s, is_repeatable=True)
        offset = self._offset_of_known(api, upload_id, patience) if upload_id else None
        if offset is None:
            upload_id, offset = self._begin(api), 0
            self.on_begun(upload_id)
        is_first_try = True
        while offset < self.size_bytes:
            self.on_bytes(offset)
            sent = self._send_piece(api, upload_id, offset, patience, is_first_try=is_first_try)
            is_first_try = sent > offset
            offset = sent
        self.on_bytes(offset)
        return upload_id

    def _begin(self, api: Transport) -> str:
        metadata = ",".join(
            f"{key} {base64.b64encode(value.encode()).decode()}"
            for key, value in (("filename", self.filename), ("project", self.project))
        )
        headers = {**VERSION, "Upload-Length": str(self.size_bytes), "Upload-Metadata": metadata}
        answer = api.exchange("POST", UPLOADS, headers=headers)
        content_of(answer)
        return str(answer.headers["Location"]).rpartition("/")[2]

    def _offset_of_known(self, api: Transport, upload_id: str, patience: Repetition) -> int | None:
        """None when it is gone, or of another length. While the platform is away it is not known to be gone."""
        answer = _head(api, upload_id, patience)
        if answer.status_code in GONE or int(answer.headers["Upload-Length"]) != self.size_bytes:
            return None
        return int(answer.headers["Upload-Offset"])

    def _send_piece(
        self, api: Transport, upload_id: str, offset: int, patience: Repetition, *, is_first_try: bool
    ) -> int:
        """The offset afterwards. Patience begins when the first try of a piece ends: a slow one may take longer."""
        self.file.seek(offset)
        piece = self.file.read(PIECE_BYTES)
        headers = {**VERSION, "Upload-Offset": str(offset), "Content-Type": "application/offset+octet-stream"}
        try:
            answer = api.exchange("PATCH", f"{UPLOADS}/{upload_id}", content=piece, headers=headers)
            if answer.is_success:
                return int(answer.headers["Upload-Offset"])
            error: Exception = refusal_of(answer)
            is_final = answer.status_code not in LATER
        except httpx.TransportError as cut:
            error, is_final = cut, False
        if is_first_try:
            patience.renew()
        pause_s = None if is_final else patience.after_end()
        if pause_s is None:
            raise error
        time.sleep(pause_s)
        answer = _head(api, upload_id, patience)
        if answer.status_code in GONE:
            raise Refused({"detail": f"The upload cannot go on: HTTP {answer.status_code}."})
        return int(answer.headers["Upload-Offset"])


def _head(api: Transport, upload_id: str, patience: Repetition) -> httpx.Response:
    """What the platform knows of the upload: an answer of success, or of GONE. Raises Refused, Unreachable."""
    while True:
        try:
            answer = api.exchange("HEAD", f"{UPLOADS}/{upload_id}", headers=VERSION)
            if answer.is_success or answer.status_code in GONE:
                return answer
            pause_s = patience.after_end() if answer.status_code in LATER else None
            if pause_s is None:
                raise Refused({"detail": f"The upload cannot go on: HTTP {answer.status_code}."})
        except httpx.TransportError as error:
            pause_s = patience.after_cut(error)
            if pause_s is None:
                raise
        time.sleep(pause_s)
