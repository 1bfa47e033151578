# SPDX-License-Identifier: Apache-2.0
"""What the threads of a shard spend their time on, while somebody records it; otherwise a span costs one comparison.

A span belongs to the thread that it is in, and so to the worker whose connection that thread serves.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum

MAX_SPANS = 500_000  # a recording ends with as many


class ServerPhase(StrEnum):
    RECEIVE = "receive"
    UPDATE = "aggregate and update"
    EXCHANGE_ABOVE = "exchange with the roots"
    WAIT = "wait for other workers"
    SEND = "send"
    IDLE = "wait for the next request"


@dataclass(frozen=True)
class Span:
    """thread: its ident. worker: whom it serves; None: not known. Moments on time.perf_counter()."""

    thread: int
    worker: int | None
    phase: ServerPhase
    began: float
    ended: float


@dataclass
class PhaseRecording:
    """n_updates: how many are wanted. from_version: the recording begins with that version, or a later one.

    updated_at: when each version was made; the first one only begins the recording. first_version: that first one.
    """

    n_updates: int
    from_version: int = 0
    spans: list[Span] = field(default_factory=list)
    updated_at: list[float] = field(default_factory=list)
    first_version: int = 0
    is_complete: threading.Event = field(default_factory=threading.Event)

    @property
    def is_running(self) -> bool:
        return bool(self.updated_at) and not self.is_complete.is_set()

    def add(self, span: Span) -> None:
        self.spans.append(span)  # by any thread
        if len(self.spans) >= MAX_SPANS:
            self.is_complete.set()

    def count(self, version: int) -> None:
        if self.is_complete.is_set() or version < self.from_version:
            return
        if not self.updated_at:
            self.first_version = version
        self.updated_at.append(time.perf_counter())
        if len(self.updated_at) > self.n_updates:
            self.is_complete.set()


class PhaseTimings:
    """Of one shard."""

    def __init__(self) -> None:
        self._recording: PhaseRecording | None = None

    def begin(self, n_updates: int, *, from_version: int = 0) -> PhaseRecording:
        self._recording = PhaseRecording(n_updates, from_version)
        return self._recording

    def end(self) -> None:
        self._recording = None

    def span(self, phase: ServerPhase, *, worker: int | None = None) -> AbstractContextManager[None]:
        recording = self._recording
        if recording is None or not recording.is_running:
            return nullcontext()
        return _recorded(recording, phase, worker)

    def count_update(self, version: int) -> None:
        """Every chunk of the version has been applied."""
        if self._recording is not None:
            self._recording.count(version)


@contextmanager
def _recorded(recording: PhaseRecording, phase: ServerPhase, worker: int | None) -> Iterator[None]:
    began = time.perf_counter()
    try:
        yield
    finally:
        recording.add(Span(threading.get_ident(), worker, phase, began, time.perf_counter()))
