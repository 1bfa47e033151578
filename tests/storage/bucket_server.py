# SPDX-License-Identifier: Apache-2.0
"""An S3 server for tests: the package localbucket, which speaks the real protocol over real HTTP, on a folder."""

from __future__ import annotations

import io
import json
import sys
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from localbucket import S3_NAMESPACE, UPLOAD_META, UPLOADS_DIR, S3Error, S3Handler, iso_timestamp, sub_element


class Fault(StrEnum):
    """What becomes of a request. LOST: it is carried out, and the connection ends before the answer. IN_200: an error
    under the status 200, as S3 ends what took long. HELD: no answer, and the connection stays."""

    NONE = ""
    SLOW_DOWN = "slow down"
    CUT = "cut"
    LOST = "lost"
    IN_200 = "in 200"
    HELD = "held"


class Asked(NamedTuple):
    """A request. query: the names in it."""

    method: str
    path: str
    query: frozenset[str]

    @property
    def verb(self) -> str:
        """What the request does, of those that storing an upload makes."""
        if self.method == "POST":
            return "begin" if "uploads" in self.query else "complete"
        if self.method == "PUT":
            return "part" if "partNumber" in self.query else "put"
        if self.method == "GET":
            return "list" if {"list-type", "uploads"} & self.query else "get"
        return "abort" if "uploadId" in self.query else self.method.lower()


@dataclass
class BucketServer:
    """requests: method and path of each, without the query; copies: the sources of those that copied a part.

    lists_uploads: multipart uploads under way are listed. is_away: connections are closed without an answer.
    fault: called before each request, in its thread; done: after it was carried out, before its answer is sent.
    """

    url: str
    root: Path
    requests: list[tuple[str, str]]
    copies: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)  # ends requests that are held
    lists_uploads: bool = True
    is_away: bool = False
    fault: Callable[[Asked], Fault] = lambda _: Fault.NONE
    done: Callable[[Asked], None] = lambda _: None

    def file(self, key: str) -> Path:
        return self.root / "blobs" / key

    def unfinished(self) -> list[Path]:
        """A file for each multipart upload that was neither completed nor aborted; it was begun when it was written."""
        return sorted((self.root / UPLOADS_DIR).glob(f"*/{UPLOAD_META}"))


@contextmanager
def bucket_server(root: Path) -> Iterator[BucketServer]:
    (root / "blobs").mkdir(parents=True)
    found = BucketServer("", root, [])

    class Handler(S3Handler):  # type: ignore[misc]
        data_root = root

        def parse_request(self) -> bool:
            is_sound = bool(super().parse_request())
            if is_sound:
                found.requests.append((self.command, self.path.partition("?")[0]))
                if (source := self.headers.get("x-amz-copy-source")) and "partNumber=" in self.path:
                    found.copies.append(source)
            return is_sound and not found.is_away

        def _dispatch(self, action: Any) -> None:
            url = urlsplit(self.path)
            asked = Asked(self.command, url.path, frozenset(parse_qs(url.query, keep_blank_values=True)))
            fault, to_client = found.fault(asked), self.wfile
            if fault is Fault.HELD:
                found.released.wait()
            if fault in (Fault.CUT, Fault.HELD):
                self.close_connection = True
                return
            if fault in (Fault.SLOW_DOWN, Fault.IN_200):
                self._read_body()
                status = HTTPStatus.OK if fault is Fault.IN_200 else HTTPStatus.SERVICE_UNAVAILABLE
                self._send_error(S3Error(status, "SlowDown", "Please reduce your request rate."))
                return
            self.wfile = io.BytesIO()  # the answer is sent once all is done
            super()._dispatch(action)
            found.done(asked)
            answer, self.wfile = self.wfile.getvalue(), to_client
            if fault is Fault.LOST:
                self.close_connection = True
            else:
                self.wfile.write(answer)

        def _get_request(self, bucket: str, key: str) -> None:
            """Lists multipart uploads besides, in one page."""
            if key or "uploads" not in self.query or not found.lists_uploads:
                super()._get_request(bucket, key)
                return
            listed = ET.Element("ListMultipartUploadsResult", xmlns=S3_NAMESPACE)
            sub_element(listed, "IsTruncated", "false")
            for path in found.unfinished():
                begun = json.loads(path.read_text())
                if begun["bucket"] == bucket and begun["key"].startswith(self.query.get("prefix", "")):
                    upload = ET.SubElement(listed, "Upload")
                    sub_element(upload, "Key", begun["key"])
                    sub_element(upload, "UploadId", path.parent.name)
                    sub_element(upload, "Initiated", iso_timestamp(path.stat().st_mtime))
            self._send_xml(listed)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Of clients that were killed nothing is said."""
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(request, client_address)

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_port}"
    yield found
    found.released.set()
    server.shutdown()
    server.server_close()
