# SPDX-License-Identifier: Apache-2.0
"""Wakes: "look again" by Redis publish/subscribe. PostgreSQL holds what happened.

While Redis is away listeners look on their own, every few seconds; a single wake that is lost costs until the next one.
"""

from __future__ import annotations

import threading
import time
from uuid import UUID

import redis
import structlog
from django.conf import settings
from django.db import transaction

logger = structlog.stdlib.get_logger(__name__)

PREFIX = "mlhub:wake:"
EVENTS = "events"  # an event was appended: the organisation-wide streams and the control loop look
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


def wake(*topics: str) -> bool:
    """Whether Redis took it. Never raises; while Redis is away it costs nothing."""
    return _publisher().publish(topics)


class _Publisher:
    """One connection pool a process; after a failure it stands aside for PAUSE_S, so that requests stay quick."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = redis.Redis.from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
        self._not_before = 0.0

    def publish(self, topics: tuple[str, ...]) -> bool:
        if time.monotonic() < self._not_before:
            return False
        try:
            with self._client.pipeline(transaction=False) as pipeline:
                for topic in topics:
                    pipeline.publish(channel(topic), "")
                pipeline.execute()
        except (redis.RedisError, OSError) as error:
            self._not_before = time.monotonic() + PAUSE_S
            logger.warning("wake.not_sent", topics=",".join(topics), error=error)
            return False
        return True


_lock = threading.Lock()
_current: _Publisher | None = None


def _publisher() -> _Publisher:
    global _current
    with _lock:
        if _current is None or _current.url != settings.REDIS_URL:
            _current = _Publisher(settings.REDIS_URL)
        return _current
