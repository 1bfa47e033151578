# SPDX-License-Identifier: Apache-2.0
"""One HTTP request to a pod and its answer, both streamed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpcore

from mlhub.control.pods.backends import notebook_socket
from mlhub.notebooks.access import NotebookTarget
from mlhub.notebooks.headers import headers_for_browser, headers_for_pod
from mlhub.storage.streamed_uploads import Receive, Scope, Send

TIMEOUTS = {"connect": 5.0, "write": 60.0, "pool": 5.0}  # a cell may compute for long before it answers
FAILURES = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException)


async def forward_request(target: NotebookTarget, scope: Scope, receive: Receive, send: Send) -> None:
    """Until it is answered, or the browser goes away. Raises OSError where the pod's server cannot be reached."""
    is_sent = asyncio.Event()
    if not _has_body(scope):
        is_sent.set()
    answering = asyncio.ensure_future(_exchange(target, scope, receive, send, is_sent))
    gone = asyncio.ensure_future(_browser_is_gone(receive, is_sent))
    try:
        await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
        if answering.done():
            answering.result()
    finally:
        for task in (answering, gone):
            task.cancel()
        await asyncio.gather(answering, gone, return_exceptions=True)


async def _exchange(target: NotebookTarget, scope: Scope, receive: Receive, send: Send, is_sent: asyncio.Event) -> None:
    """is_sent: set once the body has been read."""
    path = scope.get("raw_path") or scope["path"].encode()
    query = scope["query_string"]
    url = httpcore.URL(scheme=b"http", host=b"notebook", port=None, target=path + (b"?" + query if query else b""))
    try:
        with notebook_socket(target.attempt_id) as socket_path:
            async with (
                httpcore.AsyncConnectionPool(uds=socket_path, max_connections=1) as pool,
                pool.stream(
                    scope["method"].encode(),
                    url,
                    headers=headers_for_pod(scope, token=target.token),
                    content=None if is_sent.is_set() else _body(receive, is_sent),
                    extensions={"timeout": TIMEOUTS},
                ) as answer,
            ):
                headers = headers_for_browser(answer.headers)
                await send({"type": "http.response.start", "status": answer.status, "headers": headers})
                async for part in answer.aiter_stream():
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
    except FAILURES as error:
        raise ConnectionError(str(error)) from error


async def _browser_is_gone(receive: Receive, is_sent: asyncio.Event) -> None:
    """While the body is read, its reader notices."""
    await is_sent.wait()
    while (await receive())["type"] != "http.disconnect":
        pass


def _has_body(scope: Scope) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


async def _body(receive: Receive, is_sent: asyncio.Event) -> AsyncIterator[bytes]:
    """Piece by piece. Raises ConnectionError when the browser went away."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError("The browser went away.")
        if message.get("body"):
            yield message["body"]
        if not message.get("more_body"):
            is_sent.set()
            return
