# SPDX-License-Identifier: Apache-2.0
"""The client obeys Retry-After: what came too soon is sent again, as long as its patience lasts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from mlhub.client import Refused
from mlhub.client.api import PATIENCE_S, Api


class Platform(BaseHTTPRequestHandler):
    """Answers 429 as often as `refusals` says, then 200 with the number of bytes that came."""

    refusals: list[str]
    bodies: list[bytes]

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, body: bytes) -> None:
        self.bodies.append(body)
        status, content = (429, {"detail": "Too many requests."}) if self.refusals else (200, {"bytes": len(body)})
        found = json.dumps(content).encode()
        self.send_response(status)
        if self.refusals:
            self.send_header("Retry-After", self.refusals.pop(0))
        self.send_header("Content-Length", str(len(found)))
        self.end_headers()
        self.wfile.write(found)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def platform() -> Iterator[tuple[Api, type[Platform]]]:
    handler = type("Bound", (Platform,), {"refusals": [], "bodies": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Api(f"http://127.0.0.1:{server.server_port}", "mlh_token"), handler
    server.shutdown()
    server.server_close()


def test_every_kind_of_request_is_sent_again_when_it_came_too_soon(platform, tmp_path):
    api, handler = platform
    for send in (
        lambda: api.get("/jobs"),
        lambda: api.submit(epochs=1),
        lambda: api.upload("/datasets", "x.npz", b"bytes", name="x"),
        lambda: api.download("/jobs/1/result", tmp_path / "result"),
    ):
        handler.refusals[:], handler.bodies[:] = ["0", "0"], []
        send()
        assert len(handler.bodies) == 3
        assert len({len(body) for body in handler.bodies}) == 1
    assert json.loads((tmp_path / "result").read_text()) == {"bytes": 0}


def test_a_wait_beyond_the_client_s_patience_is_a_refusal(platform):
    api, handler = platform
    handler.refusals.append(str(int(PATIENCE_S) + 1))
    with pytest.raises(Refused, match="Too many requests"):
        api.get("/jobs")
    assert len(handler.bodies) == 1
