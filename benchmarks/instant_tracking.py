# SPDX-License-Identifier: Apache-2.0
"""A tracking server that answers MLflow's client at once and stores nothing: what the client alone takes.

No server, however fast, lets a session be faster than against this one.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

RUN = {"run_id": "0" * 32, "run_uuid": "0" * 32, "experiment_id": "0", "status": "RUNNING", "lifecycle_stage": "active"}
ANSWERS: dict[str, Any] = {
    "experiments/get-by-name": {"experiment": {"experiment_id": "0", "name": "ingest", "lifecycle_stage": "active"}},
    "runs/create": {"run": {"info": RUN, "data": {}}},
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # the connection stays

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        route = self.path.partition("?")[0].partition("/mlflow/")[2]
        content = json.dumps(ANSWERS.get(route, {})).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        self.wfile.write(head.encode() + content)  # in one piece: two would wait for each other


@contextlib.contextmanager
def instant_server() -> Iterator[str]:
    """Its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
