# SPDX-License-Identifier: Apache-2.0
"""A server of files for tests: entity tags, ranges, conditional requests, redirects, and connections that break."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from threading import Event, Thread
from typing import Any


@dataclass
class FileServer:
    """requests: path and headers of each. breaks: how many more answers end after half of their bytes.
    on_break: called with each of these. files: contents by path; without any, all paths have the content.
    redirect: where all requests are sent on to; "" = nowhere.
    trickles_s: seconds between two letters of a header that has no end; 0 = none."""

    url: str
    content: bytes = b""
    files: dict[str, bytes] = field(default_factory=dict)
    status: int = 200
    has_ranges: bool = True
    has_etag: bool = True
    breaks: int = 0
    redirect: str = ""
    trickles_s: float = 0.0
    answer_headers: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    on_break: Any = None

    @property
    def etag(self) -> str:
        return self.etag_of("")

    def etag_of(self, path: str) -> str:
        return f'"{hashlib.sha256(self.content_of(path)).hexdigest()[:16]}"'

    def content_of(self, path: str) -> bytes:
        return self.files.get(path, self.content)

    def ranges(self) -> list[str]:
        return [headers.get("range", "") for _, headers in self.requests]


@contextmanager
def file_server(content: bytes, *, tls: SSLContext | None = None) -> Iterator[FileServer]:
    stopped = Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = {name.lower(): value for name, value in self.headers.items()}
            found.requests.append((self.path, asked))
            if found.trickles_s:
                self._trickle()
            elif found.redirect:
                self._head(302, {"Location": found.redirect, "Content-Length": "0"})
            elif found.status != 200:
                self._head(found.status, {"Content-Length": "0"})
            elif asked.get("if-none-match") == found.etag_of(self.path):
                self._head(304, {"ETag": found.etag_of(self.path)})
            elif found.files and self.path not in found.files:
                self._head(404, {"Content-Length": "0"})
            else:
                self._send(asked)

        def _send(self, asked: dict[str, str]) -> None:
            body, status = found.content_of(self.path), 200
            headers = {"ETag": found.etag_of(self.path)} if found.has_etag else {}
            if found.has_ranges and "range" in asked:
                begin = int(asked["range"].removeprefix("bytes=").removesuffix("-"))
                headers["Content-Range"] = f"bytes {begin}-{len(body) - 1}/{len(body)}"
                body, status = body[begin:], 206
            self._head(status, {**headers, "Content-Length": str(len(body))})
            if found.breaks:
                found.breaks -= 1
                self.wfile.write(body[: len(body) // 2])
                if found.on_break is not None:
                    found.on_break()
                self.close_connection = True
            else:
                self.wfile.write(body)

        def _trickle(self) -> None:
            self.close_connection = True
            with suppress(OSError):
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not stopped.wait(found.trickles_s):
                    self.wfile.write(b"x")

        def _head(self, status: int, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, **found.answer_headers}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    found = FileServer(f"http{'' if tls is None else 's'}://127.0.0.1:{server.server_port}", content)
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield found
    stopped.set()
    server.shutdown()
    server.server_close()
