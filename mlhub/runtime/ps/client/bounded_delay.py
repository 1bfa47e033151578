# SPDX-License-Identifier: Apache-2.0
"""Bounded delay: a worker goes on computing while its last exchanges are under way, up to a number of them."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mlhub.runtime.ps.client.client import Client


@dataclass(frozen=True)
class _ExchangeBuffers:
    """Copies, so that the model's own vectors are free while this exchange is under way."""

    gradient: Tensor
    weights: Tensor


@dataclass
class Outstanding:
    """Bounded delay of one worker: how many of its own exchanges may be under way when it starts another.

    max_delay 0: one after the other. Source: Li et al., OSDI '14, sec. 3.4.
    """

    max_delay: int
    n_started: int = 0
    _finished: set[int] = field(default_factory=set)
    first_unfinished: int = 0  # every exchange below this one is finished

    def may_start(self) -> bool:
        return self.n_started - self.first_unfinished <= self.max_delay

    def start(self) -> int:
        """The number of the exchange. Raises ValueError when it may not start yet."""
        if not self.may_start():
            raise ValueError(f"exchange {self.n_started} may not start: {self.first_unfinished} are finished")
        self.n_started += 1
        return self.n_started - 1

    def finish(self, exchange: int) -> None:
        self._finished.add(exchange)
        while self.first_unfinished in self._finished:
            self._finished.remove(self.first_unfinished)
            self.first_unfinished += 1


class BoundedDelayQueue:
    """Exchanges of one worker, in order, on a thread of their own. weights: the model's, changed by push() only.

    max_outstanding 0: every push waits for its weights, which then contain it.
    """

    def __init__(self, client: Client, weights: Tensor, *, max_outstanding: int) -> None:
        self._client, self._weights = client, weights
        self.window = Outstanding(max_outstanding)
        self._thread = ThreadPoolExecutor(1)
        self._under_way: deque[tuple[int, Future[tuple[int, ...]], _ExchangeBuffers]] = deque()
        self._free: list[_ExchangeBuffers] = []
        self._versions = client.versions  # of the weights in use

    @property
    def n_under_way(self) -> int:
        return len(self._under_way)

    def push(self, gradient: Tensor, *, weight: float) -> None:
        """Returns when the next may be computed, on the newest weights that are here. Raises PeerLostError."""
        buffers = (
            self._free.pop() if self._free else _ExchangeBuffers(torch.empty_like(gradient), torch.empty_like(gradient))
        )
        buffers.gradient.copy_(gradient)
        number = self.window.start()
        exchange = self._thread.submit(self._exchange, buffers, weight, self._versions, self._client.stream_from_here())
        self._under_way.append((number, exchange, buffers))
        newest: _ExchangeBuffers | None = None
        while self._under_way and (not self.window.may_start() or self._under_way[0][1].done()):
            newest = self._take()
        if newest is not None:
            self._weights.copy_(newest.weights)

    def drain(self) -> None:
        """Waits for all that is under way. Raises PeerLostError."""
        while self._under_way:
            newest = self._take()
            if not self._under_way:
                self._weights.copy_(newest.weights)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _take(self) -> _ExchangeBuffers:
        number, exchange, buffers = self._under_way.popleft()
        self._versions = exchange.result()
        self.window.finish(number)
        self._free.append(buffers)
        return buffers

    def _exchange(
        self,
        buffers: _ExchangeBuffers,
        weight: float,
        versions: tuple[int, ...],
        stream: AbstractContextManager[object],
    ) -> tuple[int, ...]:
        with stream:
            self._client.exchange(buffers.gradient, into=buffers.weights, versions=versions, weight=weight)
        return self._client.versions
