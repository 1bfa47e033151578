# SPDX-License-Identifier: Apache-2.0
"""What is going to happen in a simulation, in the order of time."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple


class EventKind(IntEnum):
    """Names what happens, in the order in which simultaneous events happen."""

    SEGMENT = 0  # a segment of training ends
    LEFT = 1  # a job that was stopped has left
    TRAINS = 2  # a job that was launched trains
    SUBMITTED = 3
    FAILURE = 4
    TICK = 5  # a round is due


class SimulationEvent(NamedTuple):
    """Holds an event. version: of the job's history (or what identifies a submission or a round); an event of an older
    one is void.
    """

    at_s: float
    kind: EventKind
    number: int
    job_id: str
    version: int


class EventQueue:
    """Holds the events to come; simultaneous ones by kind, then in the order in which they were scheduled."""

    def __init__(self) -> None:
        self._heap: list[SimulationEvent] = []
        self._n_pushed = 0

    def __bool__(self) -> bool:
        return bool(self._heap)

    @property
    def next_at_s(self) -> float:
        """Returns the time of the next event."""
        return self._heap[0].at_s

    def push(self, at_s: float, kind: EventKind, job_id: str = "", version: int = 0) -> None:
        """Schedules an event."""
        self._n_pushed += 1
        heapq.heappush(self._heap, SimulationEvent(at_s, kind, self._n_pushed, job_id, version))

    def pop_instant(self) -> Iterator[SimulationEvent]:
        """Returns everything that happens at the next instant, what is pushed for it meanwhile included."""
        now_s = self.next_at_s
        while self._heap and self._heap[0].at_s == now_s:
            yield heapq.heappop(self._heap)
