# SPDX-License-Identifier: Apache-2.0
"""One WebSocket between a browser and a pod: kernels and terminals."""

from __future__ import annotations

import asyncio

from websockets.asyncio.client import ClientConnection, unix_connect
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.typing import Subprotocol

from mlhub.control.pods.backends import notebook_socket
from mlhub.notebooks.access import NotebookTarget
from mlhub.notebooks.headers import OF_SOCKETS, header_of, headers_for_pod
from mlhub.storage.streamed_uploads import Receive, Scope, Send

MAX_MESSAGE_BYTES = 16 * 2**20  # such as a figure in the output of a cell
MAX_QUEUED = 1  # messages that a slow browser has not taken yet
# Jupyter answers the handshake of a kernel's socket once the kernel has started; it gives up after 60 s by itself
OPEN_S = 75.0
ABNORMAL = (1005, 1006, 1015)  # codes that no close frame may carry


async def forward_socket(target: NotebookTarget, scope: Scope, receive: Receive, send: Send) -> None:
    """Until one of both ends it. Raises OSError where the pod's server cannot be reached, or refuses the socket."""
    await receive()  # websocket.connect
    path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    query = scope["query_string"].decode("latin-1")
    host = header_of(scope, b"host")
    headers = [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in headers_for_pod(scope, token=target.token)
        if name not in OF_SOCKETS
    ]
    offered = [Subprotocol(name) for name in scope.get("subprotocols") or ()]
    try:
        with notebook_socket(target.attempt_id) as socket_path:
            pod = await unix_connect(
                socket_path,
                f"ws://{host}{path}{f'?{query}' if query else ''}",
                additional_headers=headers,
                subprotocols=offered or None,
                user_agent_header=None,
                compression=None,
                max_size=MAX_MESSAGE_BYTES,
                max_queue=MAX_QUEUED,
                open_timeout=OPEN_S,
                ping_interval=None,
                proxy=None,
            )
    except (WebSocketException, TimeoutError, ValueError) as error:  # ValueError: it leads elsewhere
        raise ConnectionError(str(error)) from error
    async with pod:
        await send({"type": "websocket.accept", "subprotocol": pod.subprotocol})
        ways = [asyncio.ensure_future(_to_pod(receive, pod)), asyncio.ensure_future(_to_browser(pod, send))]
        try:
            done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in done:
                way.result()
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)


async def _to_pod(receive: Receive, pod: ClientConnection) -> None:
    """Ends when the browser does."""
    while (message := await receive())["type"] == "websocket.receive":
        content = message.get("bytes")
        try:
            await pod.send(content if content is not None else message["text"])
        except ConnectionClosed:
            return


async def _to_browser(pod: ClientConnection, send: Send) -> None:
    """Ends when the pod does, and then closes the browser's side with the pod's code."""
    try:
        async for message in pod:
            kind = "text" if isinstance(message, str) else "bytes"
            await send({"type": "websocket.send", kind: message})
    except ConnectionClosed:
        pass
    code = pod.close_code
    await send({"type": "websocket.close", "code": 1001 if code is None or code in ABNORMAL else code})
