# SPDX-License-Identifier: Apache-2.0
"""Which thread answers a request: one that is free, whose last request has ended altogether."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from django.core import signals
from django.http import HttpResponse, StreamingHttpResponse

from mlhub.core.asgi_handler import OneThreadHandler


class Views(OneThreadHandler):
    """Answers without the middleware; notes which thread answers what. /wait answers once it may."""

    def __init__(self) -> None:
        super().__init__()
        self.answered_by: dict[str, threading.Thread] = {}
        self.may_end = threading.Event()

    def get_response(self, request: Any) -> Any:
        self.answered_by[request.path] = threading.current_thread()
        if request.path == "/wait":
            assert self.may_end.wait(120)
        if request.path == "/stream":
            return StreamingHttpResponse(pieces())
        return HttpResponse(request.path)

    async def ask(self, path: str, *, leaves: asyncio.Event | None = None) -> bytes:
        """leaves: when the client does; by default once it is answered."""
        scope = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": b"", "root_path": ""}
        received = [{"type": "http.request", "body": b"", "more_body": False}]
        is_done, answer = asyncio.Event(), bytearray()

        async def receive() -> Any:
            if received:
                return received.pop()
            await (leaves or is_done).wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            answer.extend(message.get("body", b""))
            if message["type"] == "http.response.body" and not message.get("more_body"):
                is_done.set()

        await asyncio.wait_for(self(scope, receive, send), 120)
        return bytes(answer)


async def pieces() -> Any:
    for piece in (b"one ", b"two"):
        yield piece


def test_requests_one_after_the_other_have_the_same_thread():
    async def requests() -> Views:
        views = Views()
        assert [await views.ask(path) for path in ("/a", "/stream", "/b")] == [b"/a", b"one two", b"/b"]
        return views

    assert len(set(asyncio.run(requests()).answered_by.values())) == 1


def test_requests_at_the_same_time_have_threads_of_their_own():
    async def requests() -> Views:
        views = Views()
        waiting = asyncio.create_task(views.ask("/wait"))
        while "/wait" not in views.answered_by:
            await asyncio.sleep(0.005)
        assert await views.ask("/a") == b"/a"
        views.may_end.set()
        assert await waiting == b"/wait"
        return views

    assert len(set(asyncio.run(requests()).answered_by.values())) == 2


def test_a_thread_at_work_for_a_client_that_left_answers_nobody_else():
    async def requests() -> Views:
        views, leaves = Views(), asyncio.Event()
        left = asyncio.create_task(views.ask("/wait", leaves=leaves))
        while "/wait" not in views.answered_by:
            await asyncio.sleep(0.005)
        leaves.set()
        assert await left == b""  # its thread waits still
        assert [await views.ask(path) for path in ("/a", "/b")] == [b"/a", b"/b"]
        views.may_end.set()
        return views

    answered_by = asyncio.run(requests()).answered_by
    assert answered_by["/a"] is answered_by["/b"] is not answered_by["/wait"]
    answered_by["/wait"].join(120)
    assert not answered_by["/wait"].is_alive()


@pytest.mark.parametrize("path", ["/a", "/stream", "/wait"])
def test_a_request_begins_and_ends_once_in_its_thread(path: str):
    seen: list[tuple[str, threading.Thread]] = []

    def begun(**_: Any) -> None:
        seen.append(("begun", threading.current_thread()))

    def ended(**_: Any) -> None:
        seen.append(("ended", threading.current_thread()))

    views = Views()
    views.may_end.set()
    signals.request_started.connect(begun)
    signals.request_finished.connect(ended)
    try:
        asyncio.run(views.ask(path))
    finally:
        signals.request_started.disconnect(begun)
        signals.request_finished.disconnect(ended)
    own = views.answered_by[path]
    assert seen == [("begun", own), ("ended", own)]
