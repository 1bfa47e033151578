# SPDX-License-Identifier: Apache-2.0
"""The real ASGI application in this process, with a PostgreSQL and a Valkey of its own; requests without a network."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def web_process(variables: Mapping[str, str] | None = None) -> Iterator[Any]:
    """Yields the application. variables: more settings; Django must not be set up yet, and stays set up after this."""
    from mlhub.embedded.servers import temporary_servers

    with temporary_servers() as servers, tempfile.TemporaryDirectory(prefix="mlhub-requests-") as home:
        os.environ |= {
            "DATABASE_URL": servers.database_url,
            "REDIS_URL": servers.redis_url,
            "MLHUB_HOME": home,
            "MLHUB_LOG_LEVEL": "ERROR",
            "DJANGO_SETTINGS_MODULE": "mlhub.settings",
            **(variables or {}),
        }
        os.environ.setdefault("MLHUB_SECRET_KEY", secrets.token_urlsafe(48))
        (Path(home) / "static").mkdir()
        from mlhub.asgi import application

        yield application


async def ask(application: Any, verb: str, path: str, headers: dict[str, str], body: Any) -> tuple[int, bytes]:
    """One request, as uvicorn would hand it on."""
    sent = b"" if body is None else json.dumps(body).encode()
    path, _, query = path.partition("?")
    all_headers = {"host": "127.0.0.1:8000", "accept": "application/json", **headers}
    if body is not None:
        all_headers |= {"content-type": "application/json", "content-length": str(len(sent))}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": verb, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in all_headers.items()],
        "client": ("127.0.0.1", 50000), "server": ("127.0.0.1", 8000), "state": {},
    }  # fmt: skip
    received = [{"type": "http.request", "body": sent, "more_body": False}]
    is_done, answer, status = asyncio.Event(), bytearray(), 0

    async def receive() -> Any:
        if received:
            return received.pop()
        await is_done.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            answer.extend(message.get("body", b""))
            if not message.get("more_body"):
                is_done.set()

    await application(scope, receive, send)
    return status, bytes(answer)
