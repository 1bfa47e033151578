# SPDX-License-Identifier: Apache-2.0
"""A web server that has the built dashboard and answers of its API, for pages that are drawn without a platform.

A server and no answers of the browser's driver: with these a browser keeps neither files nor compiled scripts.
"""

from __future__ import annotations

import json
import mimetypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.e2e.answers import Content, answer

FRONTEND = Path(__file__).resolve().parents[2] / "frontend"
DIST = FRONTEND / "dist"
FONTS = FRONTEND / "node_modules" / "@fontsource-variable"
# one family for each of the two, whatever the machine has: pictures are the same on all
FONT_FILES = {
    "Inter": FONTS / "inter" / "files" / "inter-latin-wght-normal.woff2",
    "Dashboard Mono": FONTS / "jetbrains-mono" / "files" / "jetbrains-mono-latin-wght-normal.woff2",
}
SIGNED_OUT = ("/sign-in", "/set-password", "/forgot-password", "/join")
NOT_HERE = {"title": "Not here", "status": 401, "detail": "Nothing is stored here.", "errors": []}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, content: Content) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content = content
        self.has_ended = Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that was left takes no answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Files of the build, answers of the API, and nothing else."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def _respond(self) -> None:
        url = urlsplit(self.path)
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if url.path.endswith("/stream"):
            self._stay_silent()
        elif url.path.startswith("/api/"):
            self._respond_as_api(url.path, url.query)
        elif url.path.startswith("/test-fonts/"):
            self._send_file(FONT_FILES[url.path.removeprefix("/test-fonts/").replace("%20", " ")], is_kept=True)
        else:
            file = DIST / url.path.lstrip("/")
            self._send_file(file if file.is_file() else DIST / "index.html", is_kept="/assets/" in url.path)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _respond  # noqa: N815 (the library's names)

    def _respond_as_api(self, path: str, query: str) -> None:
        is_signed_out = urlsplit(self.headers.get("Referer", "")).path in SIGNED_OUT
        if path.endswith("/auth/csrf"):
            self._send(204, b"", "")
        elif is_signed_out and path.endswith("/auth/me"):
            self._send(401, json.dumps(NOT_HERE).encode(), "application/problem+json")
        else:
            self._send(200, _answered(self.command, path, self.server.content, query), "application/json")

    def _stay_silent(self) -> None:
        """A stream that is on its way for ever."""
        self.close_connection = True
        self.server.has_ended.wait()

    def _send_file(self, file: Path, *, is_kept: bool) -> None:
        kind = mimetypes.guess_type(file.name)[0] or "text/plain"
        self._send(200, file.read_bytes(), kind, kept_s=3600 if is_kept else 0)

    def _send(self, status: int, body: bytes, kind: str, *, kept_s: int = 0) -> None:
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", f"max-age={kept_s}" if kept_s else "no-store")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing."""


@cache
def _answered(method: str, path: str, content: Content, query: str) -> bytes:
    """Made once: every page asks for what the shell shows."""
    return json.dumps(answer(method, path, content, parse_qs(query))).encode()


@contextmanager
def serving(content: Content) -> Iterator[int]:
    """The port of a server of the dashboard with that content, on this machine only."""
    with _Server(content) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.has_ended.set()
            server.shutdown()
            thread.join()
