"""Batches made ready in another thread, while the one before is learnt from."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from torch import Tensor

from mlhub.runtime.strategies.protocol import Batch

Micros = list[tuple[Tensor, Tensor]]  # inputs and targets of each micro-batch


class Feed:
    """make: all of an order, a pure function of it. foresee: the order that most likely comes next; None: nobody knows.

    A guess that was wrong costs some work, and changes nothing.
    """

    def __init__(self, make: Callable[[Batch], Micros], foresee: Callable[[Batch], Batch | None]) -> None:
        self._make, self._foresee = make, foresee
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="feed")
        self._ready: tuple[Batch, Future[Micros]] | None = None

    def take(self, order: Batch) -> Micros:
        """Raises what make() raises."""
        ready, self._ready = self._ready, None
        found = ready[1].result() if ready is not None and ready[0] == order else self._make(order)
        following = self._foresee(order)
        if following is not None:
            self._ready = following, self._thread.submit(self._make, following)
        return found

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
