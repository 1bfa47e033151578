# SPDX-License-Identifier: Apache-2.0
"""Threads of one shard that wait for one another: one lock, and a failure that ends every wait."""

from __future__ import annotations

import threading
from collections.abc import Callable

from mlhub.runtime.errors import PeerLostError


class ShardCondition:
    """changed: held while the shard's state is read or changed, and notified after."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.failure: str | None = None

    def wait(self, is_done: Callable[[], bool]) -> None:
        """With `changed` held. Raises PeerLostError."""
        self.changed.wait_for(lambda: is_done() or self.failure is not None)
        if not is_done():
            raise PeerLostError(self.failure)

    def fail(self, reason: str) -> None:
        """Raises PeerLostError in every thread that waits, now or later; the first reason stays."""
        with self.changed:
            self.failure = self.failure or reason
            self.changed.notify_all()
