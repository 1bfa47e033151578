# SPDX-License-Identifier: Apache-2.0
"""python serve.py: predictions over HTTP, by default for this machine only.

GET / describes the model; POST /predict takes {"rows": [...]} and gives {"predictions": [...]}.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import traceback
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .errors import UnusableRowError
from .model import ExportedModel

HOST, PORT = "127.0.0.1", 8600
MAX_BODY_BYTES = 32 * 2**20
MAX_DIGITS = 20
SILENT_S = 60.0  # a client that sends nothing for so long is left


class PredictionServer(ThreadingHTTPServer):
    """Answers with one model, which stays in memory; refuses connections until server_activate()."""

    daemon_threads = True
    model: ExportedModel

    def __init__(self, host: str, port: int) -> None:
        """Takes the address. Raises OSError or OverflowError where that cannot be."""
        super().__init__((host, port), PredictionHandler, bind_and_activate=False)
        try:
            self.server_bind()
        except BaseException:
            self.server_close()
            raise


class PredictionHandler(BaseHTTPRequestHandler):
    """One request. Errors are problem+json (RFC 9457) with the field and the remedy."""

    server: PredictionServer
    timeout = SILENT_S
    server_version = "exported-model"

    def do_GET(self) -> None:
        if self.path != "/":
            self._refuse(HTTPStatus.NOT_FOUND, "There are GET / and POST /predict.")
            return
        self._answer(HTTPStatus.OK, {"model": self.server.model.about, "inputs": self.server.model.reader.described()})

    def do_POST(self) -> None:
        if self.path != "/predict":
            self._refuse(HTTPStatus.NOT_FOUND, "There are GET / and POST /predict.")
            return
        length = self.headers.get("Content-Length")
        self.close_connection = True  # unless the body was read to its end
        if length is None or not length.isdecimal():
            self._refuse(
                HTTPStatus.LENGTH_REQUIRED,
                "The request does not say how long its body is.",
                remedy="Send the header Content-Length with the number of its bytes.",
            )
            return
        if len(length) > MAX_DIGITS or int(length) > MAX_BODY_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A request has at most {MAX_BODY_BYTES:,} bytes.")
            return
        body = self.rfile.read(int(length))
        self.close_connection = False
        try:
            rows = json.loads(body)["rows"]
            if not isinstance(rows, list):
                raise TypeError("rows are no list")
        except (ValueError, KeyError, TypeError, RecursionError):
            self._refuse(HTTPStatus.BAD_REQUEST, 'The body is no JSON object {"rows": [...]}.', field="rows")
            return
        try:
            self._answer(HTTPStatus.OK, {"predictions": self.server.model.predict(rows)})
        except UnusableRowError as error:
            self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, error.message, field=error.field, remedy=error.remedy)
        except ConnectionError:  # the client has gone
            self.close_connection = True
        except Exception as error:  # of the model's own code
            traceback.print_exc()
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, f"The model failed: {type(error).__name__}: {error}"[:500])

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """What the library refuses, such as a method or a head that cannot be read, in the same form."""
        status = HTTPStatus(code)
        self.close_connection = True
        self._refuse(status, f"{message or status.phrase}. There are GET / and POST /predict.")

    def _refuse(self, status: HTTPStatus, detail: str, **more: str) -> None:
        self._answer(status, {"status": status, "title": status.phrase, "detail": detail, **more}, "problem+json")

    def _answer(self, status: HTTPStatus, content: Any, kind: str = "json") -> None:
        body = json.dumps(_as_json(content), ensure_ascii=False, allow_nan=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", f"application/{kind}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _as_json(content: Any) -> Any:
    """JSON has no number for what is none, such as a prediction that overflowed: it is null."""
    if isinstance(content, dict):
        return {name: _as_json(value) for name, value in content.items()}
    if isinstance(content, list):
        return [_as_json(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def serve(folder: Path, argv: Sequence[str] | None = None) -> int:
    """Serves until it is interrupted; 1 when it cannot listen at the address."""
    parser = argparse.ArgumentParser(prog="serve.py", description="Serve an exported model over HTTP.")
    parser.add_argument("--host", default=HOST, help=f"the address to listen at (default {HOST}: this machine only)")
    parser.add_argument("--port", type=int, default=PORT, help=f"0 takes a free one (default {PORT})")
    asked = parser.parse_args(argv)
    try:
        listening = PredictionServer(asked.host, asked.port)  # before the model is loaded, which takes seconds
    except (OSError, OverflowError) as error:
        return _no_address(asked, error)
    with listening as server:
        print("Loading the model ...", file=sys.stderr, flush=True)
        server.model = ExportedModel(folder)
        try:
            server.server_activate()
        except OSError as error:  # another program, which took the address meanwhile
            return _no_address(asked, error)
        print(f"Serving at http://{asked.host}:{server.server_address[1]} (POST /predict)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


def _no_address(asked: argparse.Namespace, error: Exception) -> int:
    remedy = "Give another one with --host or --port; --port 0 takes a free port."
    print(f"It cannot listen at {asked.host}:{asked.port}: {str(error).rstrip('.')}. {remedy}", file=sys.stderr)
    return 1
