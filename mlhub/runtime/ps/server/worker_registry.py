# SPDX-License-Identifier: Apache-2.0
"""Which workers of a server are connected, which have left, and which are awaited after a restart."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping

from mlhub.runtime.errors import PeerLostError


class WorkerRegistry:
    """Shared by the connections' threads."""

    def __init__(self, n_workers: int, *, joined: Collection[int] = (), left: Mapping[int, bool] | None = None) -> None:
        """joined: workers that had connected before the restart; the others come for the first time.

        left: by worker that is not here any more, whether it left and was not lost.
        """
        self.n_workers = n_workers
        self._changed = threading.Condition()
        self._n_waiting = 0  # successors of workers whose end this server has not noticed yet
        self._connected: set[int] = set()
        has_left = left or {}
        self._joined = set(joined)
        self._awaited = self._joined - has_left.keys()
        self._has_left = any(has_left.values())  # one of them, and was not lost

    @property
    def n_joined(self) -> int:
        return len(self._joined)

    @property
    def connected(self) -> frozenset[int]:
        with self._changed:
            return frozenset(self._connected)

    @property
    def awaited(self) -> frozenset[int]:
        """Workers of an earlier incarnation that have not come back yet."""
        with self._changed:
            return frozenset(self._awaited)

    def connect(self, worker: int, *, within_s: float) -> bool:
        """Waits so long for the end of a connection that a predecessor left behind.

        Returns False for a worker that is here still, or that the gang does not have.
        """
        if not 0 <= worker < self.n_workers:
            return False
        with self._changed:
            self._n_waiting += 1
            try:
                is_free = self._changed.wait_for(lambda: worker not in self._connected, within_s)
            finally:
                self._n_waiting -= 1
            if not is_free:
                return False
            self._joined.add(worker)
            self._connected.add(worker)
            return True

    def disconnect(self, worker: int, *, is_expected: bool) -> None:
        """is_expected: it left and was not lost."""
        with self._changed:
            self._connected.discard(worker)
            self._has_left |= is_expected
            self._changed.notify_all()

    def end_waiting(self, worker: int) -> bool:
        """The worker came back, or will not. Returns whether it is the last that was awaited."""
        with self._changed:
            was_awaiting = bool(self._awaited)
            self._awaited.discard(worker)
            return was_awaiting and not self._awaited

    def is_over(self) -> bool:
        """Whether all workers have left, and none is coming. Raises PeerLostError when all were lost."""
        with self._changed:
            if len(self._joined) < self.n_workers or self._connected or self._awaited or self._n_waiting:
                return False
            if not self._has_left:
                raise PeerLostError("All workers are gone.")
            return True
