# SPDX-License-Identifier: Apache-2.0
"""Tests of fetching inputs: on from where a connection broke off, and by way of an object store without our token."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mlhub.runtime.launcher import inputs
from mlhub.runtime.launcher.ingest_api import IngestApi
from mlhub.runtime.launcher.inputs import InputUnavailableError, bring
from mlhub.wire.launch import Input

CONTENT = bytes(range(256)) * 4000
ITEM = Input("data", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT), "")


@dataclass
class Servers:
    """The API at /api, which points to the object store at /bucket. breaks: so many answers end half way."""

    url: str = ""
    breaks: int = 0
    seen: list[tuple[str, str | None, str | None]] = field(default_factory=list)  # path, token, range


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    found = Servers()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers["Range"]
            found.seen.append((self.path, self.headers["Authorization"], asked))
            if self.path == "/api":
                self.send_response(307)
                self.send_header("Location", f"{found.url}/bucket")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            first = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
            self.send_response(206 if asked else 200)
            self.send_header("Content-Length", str(len(CONTENT) - first))
            self.end_headers()
            half = (first + len(CONTENT)) // 2
            self.wfile.write(CONTENT[first : half if found.breaks > 0 else None])
            found.breaks -= 1

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(inputs.time, "sleep", lambda _: None)
    yield found
    server.shutdown()
    server.server_close()


def fetched(servers: Servers, folder: Path) -> bytes:
    item = Input(ITEM.name, ITEM.sha256, ITEM.size_bytes, f"{servers.url}/api")
    found = bring((item,), api=IngestApi(servers.url, "attempt", "the-token"), folder=folder)
    return found["data"].read_bytes()


def test_an_object_store_never_sees_the_attempts_token(servers: Servers, tmp_path: Path) -> None:
    assert fetched(servers, tmp_path) == CONTENT
    assert servers.seen == [("/api", "Bearer the-token", None), ("/bucket", None, None)]


def test_what_broke_off_goes_on_where_it_was(servers: Servers, tmp_path: Path) -> None:
    servers.breaks = 2
    assert fetched(servers, tmp_path) == CONTENT
    ranges = [asked for path, _, asked in servers.seen if path == "/bucket"]
    half = len(CONTENT) // 2
    assert ranges == [None, f"bytes={half}-", f"bytes={half + half // 2}-"]


def test_what_never_comes_whole_is_given_up(servers: Servers, tmp_path: Path) -> None:
    servers.breaks = 99
    with pytest.raises(InputUnavailableError, match="bytes are missing"):
        fetched(servers, tmp_path)
