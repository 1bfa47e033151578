# SPDX-License-Identifier: Apache-2.0
"""Submissions and reports of pods give way to requests that somebody waits for, in the one interpreter that they share.

Threads of one process take turns of a millisecond each, so a page would take twice as long next to one submission, and
longer next to several reports. Those wait instead before each of their queries until the page is done: never in a
transaction, where they may hold locks, and for MOST_S altogether, so that they go on under a steady load of pages.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

MOST_S = 0.25  # that one request waits, all in all
YOUNG_S = 0.5  # a request that runs for longer, such as an upload, is not waited for


class Precedence:
    """Requests that others give way to, while they run."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: dict[object, float] = {}
        self._changed = threading.Condition()

    @contextmanager
    def running(self) -> Iterator[None]:
        """A request that others give way to runs for the block."""
        key = object()
        with self._changed:
            self._begun[key] = self._clock()
        try:
            yield
        finally:
            with self._changed:
                del self._begun[key]
                self._changed.notify_all()

    def wait(self, most_s: float) -> float:
        """Waits until no young one runs; returns how many seconds that took, about `most_s` at most."""
        began = self._clock()
        with self._changed:
            while True:
                now = self._clock()
                left_s = began + most_s - now
                young_s = max((at + YOUNG_S - now for at in self._begun.values()), default=0.0)
                if young_s <= 0 or left_s <= 0:
                    return now - began
                self._changed.wait(min(left_s, young_s))


class GivesWay:
    """Around the queries of one request: a wrapper for Django's connection.execute_wrapper()."""

    def __init__(self, precedence: Precedence, *, most_s: float = MOST_S) -> None:
        self._precedence, self._left_s = precedence, most_s

    def __call__(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if self._left_s > 0 and not context["connection"].in_atomic_block:
            self._left_s -= self._precedence.wait(self._left_s)
        return execute(sql, params, many, context)


precedence = Precedence()  # of this process
