# SPDX-License-Identifier: Apache-2.0
"""What the control loop waits on between two rounds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import redis
import structlog
from django.conf import settings

from mlhub.events.wakeups import EVENTS, channel

LOOK_S = 0.2
logger = structlog.stdlib.get_logger(__name__)


class WakeupListener:
    """Waits until Redis reports that something happened; without Redis, until the time has passed."""

    def __init__(self) -> None:
        self._subscription: Any = None

    def wait(self, timeout_s: float, *, is_over: Callable[[], bool] = lambda: False) -> None:
        """is_over: asked several times a second; what a signal's handler says through it ends the wait early."""
        until = time.monotonic() + timeout_s
        try:
            if self._subscription is None:
                client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=timeout_s + 5)
                self._subscription = client.pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]
                self._subscription.subscribe(channel(EVENTS))
            while (left := until - time.monotonic()) > 0 and not is_over():
                if self._subscription.get_message(timeout=min(left, LOOK_S)):
                    self._drain()
                    return
        except (redis.RedisError, OSError) as error:
            logger.warning("control.redis_away", error=error)
            self._subscription = None
            while (left := until - time.monotonic()) > 0 and not is_over():
                time.sleep(min(left, LOOK_S))

    def _drain(self) -> None:
        """Many events make one round."""
        time.sleep(0.05)
        while self._subscription.get_message(timeout=0):
            pass
