# SPDX-License-Identifier: Apache-2.0
"""Wakes: "look again" by Redis publish/subscribe. PostgreSQL holds what happened.

While Redis is away listeners look on their own, every few seconds; a single wake that is lost costs until the next one.

Of a change, of which PostgreSQL holds no record, Redis also keeps when it was last: marks count the changes of the
whole platform, and MARKS has for each topic the newest one. So who was away learns which topics changed since.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar
from uuid import UUID

import redis
import structlog
from django.conf import settings
from django.db import transaction

logger = structlog.stdlib.get_logger(__name__)
T = TypeVar("T")

PREFIX = "mlhub:wake:"
MARKS = "mlhub:marks"  # a hash: the newest mark of each topic, and the two fields below
NEWEST = "newest"
KNOWN_SINCE = "known_since"  # of what was before this mark, some may have been lost
EVENTS = "events"  # an event was appended: the organisation-wide streams and the control loop look
# The first mark is the time, so that Redis, having lost its memory, gives none a second time.
MARK = """
local mark = redis.call('HINCRBY', KEYS[1], 'newest', 1)
local is_first = mark == 1
if is_first then
  local now = redis.call('TIME')
  mark = string.format('%.0f', now[1] * 1000000 + now[2])
  redis.call('HSET', KEYS[1], 'newest', mark)
end
if is_first or ARGV[1] == '1' then
  redis.call('HSET', KEYS[1], 'known_since', mark)
end
for i = 3, #ARGV do
  redis.call('HSET', KEYS[1], ARGV[i], mark)
  redis.call('PUBLISH', ARGV[2] .. ARGV[i], mark)
end
"""
TIMEOUT_S = 0.5
PAUSE_S = 3.0  # after a failure, no request waits for Redis again before this


def job_topic(job_id: UUID | str) -> str:
    """Points, lines or progress of this job were stored."""
    return f"job:{job_id}"


def access_topic(user_id: UUID | str) -> str:
    """A membership, a role, a session or a token of this user has changed."""
    return f"access:{user_id}"


def channel(topic: str) -> str:
    return PREFIX + topic


def wake_on_commit(*topics: str) -> None:
    """Wakes the listeners of these topics once the present transaction commits; never raises."""
    transaction.on_commit(lambda: wake(*topics), robust=True)


def mark_on_commit(*topics: str) -> None:
    """As wake_on_commit, and remembers of these topics that they have changed; never raises."""
    transaction.on_commit(lambda: _publisher().mark(topics), robust=True)


def wake(*topics: str) -> bool:
    """Whether Redis took it. Never raises; while Redis is away it costs nothing."""
    return _publisher().publish(topics)


def newest_mark() -> int | None:
    """0: nothing has changed yet, as far as Redis remembers; None: Redis is away. Never raises."""
    found = _publisher().read(NEWEST)
    return None if found is None else found[0]


def marked_since(mark: int | None, topics: Sequence[str]) -> set[str]:
    """Which of these topics have changed since that mark, or may have. Never raises."""
    found = None if mark is None else _publisher().read(NEWEST, KNOWN_SINCE, *topics)
    if mark is None or found is None:
        return set(topics)
    newest, known_since, *marks = found
    if mark > newest or mark < known_since:  # a mark of before Redis lost its memory, or missed something
        return set(topics)
    return {topic for topic, newest_of_topic in zip(topics, marks, strict=True) if newest_of_topic > mark}


class _Publisher:
    """One connection pool a process; after a failure it stands aside for PAUSE_S, so that requests stay quick."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = redis.Redis.from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
        self._not_before = 0.0
        self._has_lost = False  # a mark: a listener that was away is to count everything as changed

    def publish(self, topics: tuple[str, ...]) -> bool:
        def send() -> bool:
            with self._client.pipeline(transaction=False) as pipeline:
                for topic in topics:
                    pipeline.publish(channel(topic), "")
                pipeline.execute()
            return True

        return self._tried(send, topics) is not None

    def mark(self, topics: tuple[str, ...]) -> None:
        has_lost = self._has_lost

        def send() -> bool:
            self._client.eval(MARK, 1, MARKS, "1" if has_lost else "0", PREFIX, *topics)
            return True

        self._has_lost = self._tried(send, topics) is None

    def read(self, *fields: str) -> list[int] | None:
        """These fields of MARKS, 0 for one that is not there; None while Redis is away."""
        return self._tried(lambda: [int(value or 0) for value in self._client.hmget(MARKS, fields)], fields)

    def _tried(self, ask: Callable[[], T], about: Sequence[str]) -> T | None:
        if time.monotonic() < self._not_before:
            return None
        try:
            return ask()
        except (redis.RedisError, OSError) as error:
            self._not_before = time.monotonic() + PAUSE_S
            logger.warning("wake.not_sent", topics=",".join(about), error=error)
            return None


_lock = threading.Lock()
_current: _Publisher | None = None


def _publisher() -> _Publisher:
    global _current
    with _lock:
        if _current is None or _current.url != settings.REDIS_URL:
            _current = _Publisher(settings.REDIS_URL)
        return _current
