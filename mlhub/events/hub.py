# SPDX-License-Identifier: Apache-2.0
"""One ear a process: a single Redis subscription wakes all streams of this event loop that listen to a topic.

Redis only notifies, with no more content than the mark of a change; while it is away, listeners look every POLL_S.
"""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from typing import TypeVar

import redis.asyncio
import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from redis.exceptions import RedisError

from mlhub.events.wakeups import MARKS, NEWEST, PREFIX

logger = structlog.stdlib.get_logger(__name__)
POLL_S = 2.0
RECONNECT_S = 3.0
SUBSCRIBED_S = 1.0  # how long a stream that begins waits for the subscription, when Redis does not answer
N_READERS = 4
T = TypeVar("T")


class Listener:
    """Wakes when something was published to one of its topics, also when that was before it waited."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._event = asyncio.Event()
        self._topics: set[str] = set()

    def wake(self, topic: str) -> None:
        self._topics.add(topic)
        self._event.set()

    @property
    def is_connected(self) -> bool:
        """False while Redis is away, and nothing can be heard."""
        return self._hub.is_connected

    @property
    def mark(self) -> int | None:
        """The newest mark of changes: of all up to it, this listener was woken. None while Redis is away."""
        return self._hub.mark if self._hub.is_connected else None

    async def begin(self) -> None:
        """Waits until it can hear, or Redis is known to be away. Some topics may count as heard for that alone."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._hub.has_tried.wait(), SUBSCRIBED_S)

    def heard(self, topic: str) -> bool:
        """Returns whether something was published to this topic since this was asked last."""
        is_news = topic in self._topics
        self._topics.discard(topic)
        return is_news

    async def wait(self, timeout_s: float) -> bool:
        """Returns whether something was published, or may have been while Redis was away."""
        is_polling = not self._hub.is_connected
        try:
            await asyncio.wait_for(self._event.wait(), min(timeout_s, POLL_S) if is_polling else timeout_s)
        except TimeoutError:
            return is_polling
        self._event.clear()
        return True


class _Reader:
    """A thread with a database connection of its own: to open one for every wake would cost more than the reads."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="stream")

    def run(self, query: Callable[[], T]) -> T:
        try:
            return query()
        except (OperationalError, InterfaceError):
            connection.close()  # the server may have been restarted; if it is not there, the second try raises
            return query()

    def rest(self) -> None:
        self.thread.submit(lambda: connection.close())  # looked up over there: each thread has its own


class Hub:
    def __init__(self, url: str) -> None:
        self._url = url
        self._listeners: dict[str, set[Listener]] = {}
        self._task: asyncio.Task[None] | None = None
        self._readers = cycle([_Reader() for _ in range(N_READERS)])
        self.is_connected = False
        self.mark: int | None = None
        self.has_tried = asyncio.Event()  # to subscribe, since there are listeners

    @contextlib.asynccontextmanager
    async def listen(self, *topics: str) -> AsyncIterator[Listener]:
        listener = Listener(self)
        for topic in topics:
            self._listeners.setdefault(topic, set()).add(listener)
        if self._task is None or self._task.done():
            self.has_tried.clear()
            self._task = asyncio.create_task(self._receive())
        try:
            yield listener
        finally:
            for topic in topics:
                self._listeners[topic].discard(listener)
                if not self._listeners[topic]:
                    del self._listeners[topic]
            if not self._listeners:
                if self._task is not None:
                    self._task.cancel()
                    self._task = None
                for _ in range(N_READERS):
                    next(self._readers).rest()

    async def read(self, query: Callable[[], T]) -> T:
        """Runs a database query outside the event loop, on one of a few connections that stay open for listeners."""
        reader = next(self._readers)
        found = await asyncio.get_running_loop().run_in_executor(reader.thread, reader.run, query)
        if not self._listeners:
            reader.rest()
        return found

    async def _receive(self) -> None:
        """Until it is cancelled. redis-py loses a cancellation that comes together with an answer: a task that
        was replaced, or has no listener left to wake, therefore ends by itself at the next step."""
        while self._is_wanted():
            client = redis.asyncio.Redis.from_url(self._url)
            try:
                async with client.pubsub() as subscription:
                    await subscription.psubscribe(f"{PREFIX}*")
                    if not self._is_wanted():
                        return
                    self.mark = int(await client.hget(MARKS, NEWEST) or 0)
                    if not self._is_wanted():
                        return
                    self.is_connected = True
                    self._wake_all()  # what was published before this moment was not received
                    self.has_tried.set()
                    async for message in subscription.listen():
                        if not self._is_wanted():
                            return
                        if message["type"] == "pmessage":
                            self.mark = max(self.mark or 0, int(message["data"] or 0))
                            self._wake(message["channel"].decode().removeprefix(PREFIX))
            except (RedisError, OSError) as error:
                logger.warning("stream.redis_away", error=error)
            finally:
                if self._task is None or self._is_wanted():
                    self.is_connected = False
                    self.has_tried.set()
                with contextlib.suppress(RedisError, OSError):
                    await client.aclose()
            await asyncio.sleep(RECONNECT_S)

    def _is_wanted(self) -> bool:
        return asyncio.current_task() is self._task

    def _wake(self, topic: str) -> None:
        for listener in self._listeners.get(topic, ()):
            listener.wake(topic)

    def _wake_all(self) -> None:
        for topic in list(self._listeners):
            self._wake(topic)


_hubs: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = weakref.WeakKeyDictionary()


def hub() -> Hub:
    """The hub of the running event loop."""
    loop = asyncio.get_running_loop()
    found = _hubs.get(loop)
    if found is None or found._url != settings.REDIS_URL:
        found = _hubs[loop] = Hub(settings.REDIS_URL)
    return found
