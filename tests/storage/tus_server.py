# SPDX-License-Identifier: Apache-2.0
"""The platform's ASGI application under uvicorn in a thread, and a proxy in front of it that cuts connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn


@contextmanager
def asgi_server() -> Iterator[str]:
    """Its address. The database is the test's own."""
    from mlhub.asgi import application

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application, log_level="error", lifespan="off"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True)
    thread.start()
    listener.listen()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(60)
        listener.close()


class CuttingProxy:
    """Passes bytes on to a server. The first n_cuts connections end after `after_bytes` bytes of the client.

    on_cut is called before each of them ends. n_sent_bytes: what clients have sent, over all connections.
    """

    def __init__(
        self, server: str, *, n_cuts: int, after_bytes: int, on_cut: Callable[[], object] = lambda: None
    ) -> None:
        self._host, self._port = server.removeprefix("http://").split(":")
        self.n_cuts, self.after_bytes, self.n_done = n_cuts, after_bytes, 0
        self.n_sent_bytes, self._on_cut = 0, on_cut
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        upstream = socket.create_connection((self._host, int(self._port)))
        back = threading.Thread(target=self._pass, args=(upstream, client, None, False), daemon=True)
        back.start()
        if self._pass(client, upstream, self.after_bytes if self.n_done < self.n_cuts else None):
            self._on_cut()
            self.n_done += 1
            for each in (upstream, client):
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        back.join(60)
        for each in (upstream, client):
            each.close()

    def _pass(
        self, source: socket.socket, target: socket.socket, limit: int | None, is_from_client: bool = True
    ) -> bool:
        """Until the source ends, or the limit is reached: True."""
        n_passed = 0
        with contextlib.suppress(OSError):
            while chunk := source.recv(65536):
                target.sendall(chunk)
                n_passed += len(chunk)
                if is_from_client:
                    self.n_sent_bytes += len(chunk)
                if limit is not None and n_passed >= limit:
                    return True
            target.shutdown(socket.SHUT_WR)
        return False


def project_metadata(project: Any, filename: str) -> dict[str, str]:
    return {"filename": filename, "project": str(project.id)}
