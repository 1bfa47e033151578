# SPDX-License-Identifier: Apache-2.0
"""Refusals that still hold: who comes back before Retry-After has passed is refused at once, without any query."""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from mlhub.core.errors import RateLimitedError
from mlhub.core.rate_limits.flows import credentials_of

if TYPE_CHECKING:
    from django.http import HttpRequest

MAX_KNOWN = 10_000


class Refusals:
    """By credentials, sender, verb and path; of this process alone. The oldest are dropped."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, request: HttpRequest, *, retry_after_s: float) -> None:
        key = _key(request)
        if key is None:
            return
        with self._lock:
            self._until[key] = self._clock() + retry_after_s
            self._until.move_to_end(key)
            if len(self._until) > MAX_KNOWN:
                self._until.popitem(last=False)

    def error_for(self, request: HttpRequest) -> RateLimitedError | None:
        """The error of a request that comes too soon after a refusal of the same one; None for all others."""
        key = _key(request)
        if key is None or key not in self._until:
            return None
        left_s = self._until.get(key, 0.0) - self._clock()
        if left_s <= 0:
            with self._lock:
                self._until.pop(key, None)
            return None
        wait_s = math.ceil(left_s)
        return RateLimitedError(
            "This request was refused before, and comes again too soon.",
            remedy=f"Wait {wait_s} s, then send it again.",
            retry_after_s=wait_s,
        )


def _key(request: HttpRequest) -> str | None:
    """None for requests without credentials: many people may share an address."""
    credentials = credentials_of(request)
    if not credentials:
        return None
    sender = request.META.get("REMOTE_ADDR", "")
    return hashlib.sha256(f"{credentials}|{sender}|{request.method}|{request.path}".encode()).hexdigest()
