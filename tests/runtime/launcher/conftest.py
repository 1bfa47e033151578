# SPDX-License-Identifier: Apache-2.0
"""What tests of the launcher share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer

import pytest

from mlhub.runtime.launcher.shipping import Shipper
from tests.runtime.launcher.ingest_server import Handler, Ingest


@pytest.fixture
def ingest() -> Iterator[Ingest]:
    found = Ingest()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("BoundHandler", (Handler,), {"ingest": found}))
    found.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    left = [each for each in threading.enumerate() if isinstance(each, Shipper)]
    assert not left, "a shipper is left, which would send to whoever gets this port next"
