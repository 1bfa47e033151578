# SPDX-License-Identifier: Apache-2.0
"""Prefetching: batches are read in another thread while the model trains on earlier ones."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from torch import Tensor

MicroBatchTensors = list[tuple[Tensor, Tensor]]  # inputs and targets of each micro-batch
Key = TypeVar("Key")

AHEAD_S = 0.002  # small batches are read several at a time: waking a thread for each would cost more than the batch
AHEAD_BYTES = 16 * 2**20


class Prefetcher(Generic[Key]):
    """read: the tensors of a batch, a pure function of its key. predict: the key that most likely comes next, or None.

    A wrong prediction costs some work and changes nothing.
    """

    def __init__(self, read: Callable[[Key], MicroBatchTensors], predict: Callable[[Key], Key | None]) -> None:
        self._read, self._predict = read, predict
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="prefetch")
        self._ready: deque[tuple[Key, MicroBatchTensors | Exception]] = deque()
        self._pending: Future[deque[tuple[Key, MicroBatchTensors | Exception]]] | None = None

    def get(self, key: Key) -> MicroBatchTensors:
        """The tensors of a batch, and the start of reading those after it. Raises what read() raises."""
        found = self._find(key)
        if found is None:
            found = self._read(key)
        if isinstance(found, Exception):
            raise found
        if self._pending is None:
            following = self._predict(self._ready[-1][0] if self._ready else key)
            if following is not None:
                self._pending = self._thread.submit(self._read_ahead, following)
        return found

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _find(self, key: Key) -> MicroBatchTensors | Exception | None:
        """Looks among what was prefetched, and drops all that came before it: no key is asked for twice."""
        while self._ready or self._pending is not None:
            if not self._ready and self._pending is not None:
                self._ready, self._pending = self._pending.result(), None
            while self._ready:
                ready, found = self._ready.popleft()
                if ready == key:
                    return found
        return None

    def _read_ahead(self, first: Key) -> deque[tuple[Key, MicroBatchTensors | Exception]]:
        """Reads a batch and some that follow it. An error is kept, and raised when its batch is asked for."""
        found: deque[tuple[Key, MicroBatchTensors | Exception]] = deque()
        until, n_bytes = time.perf_counter() + AHEAD_S, 0
        key: Key | None = first
        while key is not None:
            try:
                batch = self._read(key)
            except Exception as error:
                found.append((key, error))
                break
            found.append((key, batch))
            n_bytes += sum(inputs.nbytes + targets.nbytes for inputs, targets in batch)
            if time.perf_counter() > until or n_bytes > AHEAD_BYTES:
                break
            key = self._predict(key)
        return found
