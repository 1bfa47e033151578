# SPDX-License-Identifier: Apache-2.0
"""One HTTP request to a pod and its answer, both streamed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpcore

from mlhub.control.backends import notebook_socket
from mlhub.notebooks.access import NotebookTarget
from mlhub.notebooks.headers import headers_for_browser, headers_for_pod
from mlhub.storage.streamed_uploads import Receive, Scope, Send

TIMEOUTS = {"connect": 5.0, "write": 60.0, "pool": 5.0}  # a cell may compute for long before it answers
FAILURES = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException)


async def forward_request(target: NotebookTarget, scope: Scope, receive: Receive, send: Send) -> None:
    """Raises OSError where the pod's server cannot be reached, or ends in the middle."""
    path = scope.get("raw_path") or scope["path"].encode()
    query = scope["query_string"]
    url = httpcore.URL(scheme=b"http", host=b"notebook", port=None, target=path + (b"?" + query if query else b""))
    headers = headers_for_pod(scope, token=target.token)
    try:
        with notebook_socket(target.attempt_id) as socket_path:
            async with (
                httpcore.AsyncConnectionPool(uds=socket_path, max_connections=1) as pool,
                pool.stream(
                    scope["method"].encode(),
                    url,
                    headers=headers,
                    content=_body(receive) if _has_body(scope) else None,
                    extensions={"timeout": TIMEOUTS},
                ) as answer,
            ):
                await send(
                    {
                        "type": "http.response.start",
                        "status": answer.status,
                        "headers": headers_for_browser(answer.headers),
                    }
                )
                await _stream(answer, receive, send)
    except FAILURES as error:
        raise ConnectionError(str(error)) from error


async def _stream(answer: httpcore.Response, receive: Receive, send: Send) -> None:
    """Until the answer's end, or until the browser goes away."""

    async def to_browser() -> None:
        async for part in answer.aiter_stream():
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def browser_is_gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    sending, gone = asyncio.ensure_future(to_browser()), asyncio.ensure_future(browser_is_gone())
    try:
        await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
        if sending.done():
            sending.result()
    finally:
        for task in (sending, gone):
            task.cancel()
        await asyncio.gather(sending, gone, return_exceptions=True)


def _has_body(scope: Scope) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    """Piece by piece. Raises ConnectionError when the browser went away."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError("The browser went away.")
        if message.get("body"):
            yield message["body"]
        if not message.get("more_body"):
            return
