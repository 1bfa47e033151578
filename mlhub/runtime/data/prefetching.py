"""Batches made ready in another thread, while those before are learnt from."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from torch import Tensor

from mlhub.runtime.strategies.protocol import Batch

Micros = list[tuple[Tensor, Tensor]]  # inputs and targets of each micro-batch
Made = deque[tuple[Batch, Micros | Exception]]

STRETCH_S = 0.002  # small batches are made several at a time: waking a thread for each would cost more than the batch
STRETCH_BYTES = 16 * 2**20


class Prefetcher:
    """make: all of an order, a pure function of it. foresee: the order that most likely comes next; None: nobody knows.

    A guess that was wrong costs some work, and changes nothing.
    """

    def __init__(self, make: Callable[[Batch], Micros], foresee: Callable[[Batch], Batch | None]) -> None:
        self._make, self._foresee = make, foresee
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="feed")
        self._ready: Made = deque()
        self._coming: Future[Made] | None = None

    def take(self, order: Batch) -> Micros:
        """Raises what make() raises."""
        found = self._find(order)
        if found is None:
            found = self._make(order)
        if isinstance(found, Exception):
            raise found
        if self._coming is None:
            following = self._foresee(self._ready[-1][0] if self._ready else order)
            if following is not None:
                self._coming = self._thread.submit(self._stretch, following)
        return found

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _find(self, order: Batch) -> Micros | Exception | None:
        """Everything before it is dropped: orders are never given twice."""
        while self._ready or self._coming is not None:
            if not self._ready and self._coming is not None:
                self._ready, self._coming = self._coming.result(), None
            while self._ready:
                made, found = self._ready.popleft()
                if made == order:
                    return found
        return None

    def _stretch(self, order: Batch | None) -> Made:
        """The order and some that follow it. What goes wrong is told to whoever needs it."""
        made: Made = deque()
        until, n_bytes = time.perf_counter() + STRETCH_S, 0
        while order is not None:
            try:
                found = self._make(order)
            except Exception as error:
                made.append((order, error))
                break
            made.append((order, found))
            n_bytes += sum(inputs.nbytes + targets.nbytes for inputs, targets in found)
            if time.perf_counter() > until or n_bytes > STRETCH_BYTES:
                break
            order = self._foresee(order)
        return made
