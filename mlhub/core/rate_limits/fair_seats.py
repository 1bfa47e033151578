# SPDX-License-Identifier: Apache-2.0
"""Seats for requests that cost much: few at a time in one process, shared fairly, with a short queue for each tenant.

A rate limit bounds what one tenant may send on average; seats bound what many of them cost at one moment. It is the
scheme of Kubernetes' API Priority and Fairness: a flow for each tenant, a bounded queue of each, refusal beyond it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from mlhub.core.errors import RateLimitedError

QUEUE_LENGTH = 4  # requests of one flow that wait
TOTAL_LENGTH = 24  # of all flows; beyond it a flow has one: each that waits has a thread and a database connection
PATIENCE_S = 20.0
MAX_RETRY_AFTER_S = 30
SMOOTHING = 0.2  # of the mean time that a seat is held
MAX_FLOWS = 1000  # beyond it those without a request are forgotten
SPARSE_S = 1.0  # a flow without requests for so long has its next one passed before all queues, one at a time


@dataclass
class _Flow:
    n_running: int = 0
    served_at: int = 0  # the number of the last request that was seated; lower: longer ago
    ended_at: float = float("-inf")  # its last request
    waiting: list[Future[None]] = field(default_factory=list)  # done: the request has its seat


class FairSeats:
    """At most `n_seats` at a time, and one of each flow while others wait. The flow served least recently is next.

    queue_length, total_length: how many requests of one flow and of all may wait; beyond the second a flow has one.
    """

    def __init__(
        self,
        n_seats: int,
        *,
        queue_length: int = QUEUE_LENGTH,
        total_length: int = TOTAL_LENGTH,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.n_seats = n_seats
        self._queue_length, self._total_length = queue_length, total_length
        self._clock = clock
        self._flows: dict[str, _Flow] = {}
        self._lock = threading.Lock()
        self._n_running = self._n_served = 0
        self._has_passing = False
        self._mean_s = 0.0

    @contextmanager
    def taken(self, flow_id: str) -> Iterator[None]:
        """Waits for a seat and holds it for the block. Raises RateLimitedError when the flow's queue is full."""
        turn = self._ask(flow_id)
        try:
            turn.result(PATIENCE_S)
        except TimeoutError:
            if self._left(flow_id, turn):
                raise self._too_many() from None
        with self._held(flow_id):
            yield

    @asynccontextmanager
    async def taken_by_task(self, flow_id: str) -> AsyncIterator[None]:
        """As taken(), of a task of the event loop: what waits has no thread."""
        turn = self._ask(flow_id)
        try:
            await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(turn)), PATIENCE_S)
        except TimeoutError:
            if self._left(flow_id, turn):
                raise self._too_many() from None
        except asyncio.CancelledError:  # who asked is gone
            if not self._left(flow_id, turn):
                self._stand_up(flow_id, held_s=0.0)
            raise
        with self._held(flow_id):
            yield

    @contextmanager
    def passing(self, flow_id: str) -> Iterator[bool]:
        """Whether the request goes ahead without a seat, for the block: its flow sends few. False: it takes a seat.

        Source: the new flows of FQ-CoDel, RFC 8290, sec. 4.1.1.
        """
        with self._lock:
            flow = self._flows.setdefault(flow_id, _Flow())
            is_idle = not flow.n_running and not flow.waiting and self._clock() - flow.ended_at >= SPARSE_S
            is_passing = is_idle and not self._has_passing
            if is_passing:
                self._has_passing = True
                flow.n_running += 1
        try:
            yield is_passing
        finally:
            if is_passing:
                with self._lock:
                    self._has_passing = False
                    flow.n_running -= 1
                    flow.ended_at = self._clock()
                    self._forget_idle_flows()

    def _ask(self, flow_id: str) -> Future[None]:
        turn: Future[None] = Future()
        with self._lock:
            flow = self._flows.setdefault(flow_id, _Flow())
            if self._n_running < self.n_seats and not flow.waiting:
                self._seat(flow, turn)
                return turn
            n_waiting = sum(len(one.waiting) for one in self._flows.values())
            if len(flow.waiting) >= (self._queue_length if n_waiting < self._total_length else 1):
                raise self._too_many()
            flow.waiting.append(turn)
        return turn

    def _left(self, flow_id: str, turn: Future[None]) -> bool:
        """Whether the request waits no more; False when its turn came in this very moment."""
        with self._lock:
            if turn.done():
                return False
            self._flows[flow_id].waiting.remove(turn)
            return True

    @contextmanager
    def _held(self, flow_id: str) -> Iterator[None]:
        began = self._clock()
        try:
            yield
        finally:
            self._stand_up(flow_id, held_s=self._clock() - began)

    def _stand_up(self, flow_id: str, *, held_s: float) -> None:
        with self._lock:
            self._mean_s += SMOOTHING * (held_s - self._mean_s)
            self._n_running -= 1
            self._flows[flow_id].n_running -= 1
            self._flows[flow_id].ended_at = self._clock()
            while self._n_running < self.n_seats:
                waiting = [flow for flow in self._flows.values() if flow.waiting]
                if not waiting:
                    break
                next_flow = min(waiting, key=lambda flow: (flow.n_running, flow.served_at))
                self._seat(next_flow, next_flow.waiting.pop(0))
            self._forget_idle_flows()

    def _forget_idle_flows(self) -> None:
        """Each address without credentials is a flow."""
        if len(self._flows) > MAX_FLOWS:
            self._flows = {key: flow for key, flow in self._flows.items() if flow.n_running or flow.waiting}

    def _seat(self, flow: _Flow, turn: Future[None]) -> None:
        self._n_running += 1
        self._n_served += 1
        flow.n_running += 1
        flow.served_at = self._n_served
        turn.set_result(None)

    def _too_many(self) -> RateLimitedError:
        n_waiting = sum(len(flow.waiting) for flow in self._flows.values())
        wait_s = min(MAX_RETRY_AFTER_S, max(1, round(n_waiting * self._mean_s / self.n_seats)))
        return RateLimitedError(
            "Too many requests of your organisation wait already.",
            code="too_many_at_once",
            remedy=f"Wait {wait_s} s, then send it again; send fewer at a time.",
            retry_after_s=wait_s,
        )
