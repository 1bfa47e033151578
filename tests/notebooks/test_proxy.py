# SPDX-License-Identifier: Apache-2.0
"""What the proxy of notebooks answers when it cannot ask, or nobody waits any more."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError
from jupyter_server.services.kernels.kernelmanager import MappingKernelManager

from mlhub.notebooks import forwarding, proxy, sockets
from mlhub.notebooks.access import NotebookTarget

JOB = UUID("018f0000-0000-7000-8000-000000000001")


@pytest.fixture(autouse=True)
def origin(settings: Any) -> None:
    settings.NOTEBOOK_ORIGIN = "http://*.notebooks.localhost:8000"


def asked(path: str = "/api/contents", *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    host = (b"host", f"{JOB}.notebooks.localhost:8000".encode())
    return {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [host, *headers],
    }  # fmt: skip


async def never() -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError


def test_while_the_database_is_away_the_answer_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OperationalError("no connection")

    monkeypatch.setattr(proxy, "target_of", fail)
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(proxy.NotebookHosts(never)(asked(), never, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 503
    assert json.loads(sent[1]["body"])["remedy"] == "Try again in a moment."


def test_a_request_ends_when_its_browser_goes_away_before_the_pod_answers(tmp_path: Any, monkeypatch: Any) -> None:
    accepted, gone = asyncio.Event(), []

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set()
        await reader.read()  # until the proxy hangs up
        while await reader.read(1024):
            pass
        gone.append(True)
        writer.close()

    async def receive() -> dict[str, Any]:
        await accepted.wait()
        return {"type": "http.disconnect"}

    class Place:
        def __enter__(self) -> str:
            return str(tmp_path / "s")

        def __exit__(self, *_: Any) -> None:
            pass

    async def send(_: Any) -> None:
        raise AssertionError

    async def main() -> None:
        server = await asyncio.start_unix_server(silent, tmp_path / "s")
        async with asyncio.timeout(60):
            await forwarding.forward_request(NotebookTarget("a", "t"), asked(), receive, send)
            while not gone:
                await asyncio.sleep(0.01)
        server.close()

    monkeypatch.setattr(forwarding, "notebook_socket", lambda _: Place())
    asyncio.run(main())


def test_a_kernel_may_start_for_as_long_as_jupyter_waits_for_it() -> None:
    """Jupyter answers the handshake of a kernel's socket only then."""
    assert MappingKernelManager.class_traits()["kernel_info_timeout"].default_value < sockets.OPEN_S
