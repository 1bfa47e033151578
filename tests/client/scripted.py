# SPDX-License-Identifier: Apache-2.0
"""A platform whose answers a test writes down one by one, over a real connection, cuts included."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Scripted:
    """One answer. announced: the Content-Length, when it is not that of the body: the connection is cut after it."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    announced: int | None = None
    is_cut: bool = False  # before anything is answered


@dataclass
class Arrived:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class ScriptedPlatform:
    url: str
    answers: list[Scripted]
    arrived: list[Arrived]


def of_json(content: Any, status: int = 200, **headers: str) -> Scripted:
    written = {name.replace("_", "-"): value for name, value in headers.items()}
    return Scripted(status, json.dumps(content).encode(), written)


@contextmanager
def scripted_platform(*answers: Scripted) -> Iterator[ScriptedPlatform]:
    waiting, arrived = list(answers), list[Arrived]()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            arrived.append(Arrived(self.command, self.path, dict(self.headers), self.rfile.read(length)))
            found = waiting.pop(0)
            self.close_connection = True
            if found.is_cut:
                return
            self.send_response(found.status)
            for name, value in found.headers.items():
                self.send_header(name, value)
            if "Content-Type" not in found.headers:
                self.send_header("Content-Type", "application/json")
            if found.announced != -1:
                self.send_header("Content-Length", str(found.announced or len(found.body)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(found.body)

        do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815 (http.server finds them so)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield ScriptedPlatform(f"http://127.0.0.1:{server.server_port}", waiting, arrived)
    finally:
        server.shutdown()
        server.server_close()
