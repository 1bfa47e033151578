# SPDX-License-Identifier: Apache-2.0
"""An S3 server for tests: the package localbucket, which speaks the real protocol over real HTTP, on a folder."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from localbucket import S3Handler


@dataclass
class BucketServer:
    """requests: method and path of each, without the query. is_away: connections are closed without an answer."""

    url: str
    root: Path
    requests: list[tuple[str, str]]
    is_away: bool = False

    def file(self, key: str) -> Path:
        return self.root / "blobs" / key


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
            return is_sound and not found.is_away

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_port}"
    yield found
    server.shutdown()
    server.server_close()
