# SPDX-License-Identifier: Apache-2.0
"""What is pushed goes out on a thread of its own, the highest priority first; of one key in the order of its pushes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable


class Sender:
    """send() returns at once; flush() waits. An error is raised by the next call of either."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: list[tuple[Hashable, int, Callable[[], None]]] = []
        self._under_way: Hashable | None = None
        self._error: BaseException | None = None
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name="kv pushes", daemon=True)
        self._thread.start()

    def send(self, key: Hashable, act: Callable[[], None], *, priority: int) -> None:
        with self._changed:
            self._check()
            self._queue.append((key, priority, act))
            self._changed.notify_all()

    def flush(self, key: Hashable | None = None, *, priority: int = 0) -> None:
        """Until all pushes of that key, or of all, have been taken in by the servers. priority: theirs, if higher."""
        with self._changed:
            if key is not None:
                self._queue = [(k, max(p, priority) if k == key else p, act) for k, p, act in self._queue]
            self._changed.wait_for(lambda: self._error is not None or not self._holds(key))
            self._check()

    def close(self) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        self._thread.join()

    def _holds(self, key: Hashable | None) -> bool:
        if key is None:
            return bool(self._queue) or self._under_way is not None
        return self._under_way == key or any(k == key for k, _, _ in self._queue)

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _next(self) -> int:
        """The place of the one to send: the oldest of its key, and of those the one of highest priority."""
        first: dict[Hashable, int] = {}
        for place, (key, _, _) in enumerate(self._queue):
            first.setdefault(key, place)
        return max(first.values(), key=lambda place: (self._queue[place][1], -place))

    def _run(self) -> None:
        while True:
            with self._changed:
                self._under_way = None
                self._changed.notify_all()
                self._changed.wait_for(lambda: bool(self._queue) or self._is_over)
                if not self._queue or self._error is not None:
                    return
                self._under_way, _, act = self._queue.pop(self._next())
            try:
                act()
            except BaseException as error:
                with self._changed:
                    self._error = error
                    self._changed.notify_all()
                return
