"""Feels a trainer's pulse from outside: tells the platform when it stands still, while it does, and when it goes on.

Of a script, whose steps nobody knows, every report that reaches the file counts as a sign of life.
Standard library only.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from mlhub.runtime import heartbeat
from mlhub.runtime.reporting import Reporter

STILL_S = 60.0
AGAIN_S = 60.0  # while it lasts, so that the platform can tell a hanging trainer from news that do not arrive
PERIOD_S = 1.0


class Watchdog(threading.Thread):
    """pulse: of a worker (heartbeat.py); reports: of a script instead. The trainer starts at about the same time."""

    def __init__(
        self, reporter: Reporter, *, pulse: Path | None = None, reports: Path | None = None, still_s: float = STILL_S
    ) -> None:
        super().__init__(name="watch", daemon=True)
        self._reporter, self._pulse, self._reports, self._still_s = reporter, pulse, reports, still_s
        self._is_ending = threading.Event()
        self._moved_at, self._size_bytes = time.monotonic(), 0
        self._told_at: float | None = None

    def run(self) -> None:
        while not self._is_ending.wait(min(PERIOD_S, self._still_s / 2)):
            self.look(time.monotonic())

    def end(self) -> None:
        self._is_ending.set()
        self.join()

    def look(self, now: float) -> None:
        """now: on the clock of time.monotonic()."""
        beat = heartbeat.read(self._pulse) if self._pulse is not None else None
        if self._pulse is not None:
            moved_at = beat.at if beat is not None else self._moved_at
        else:
            moved_at = now if self._has_reported() else self._moved_at
        if moved_at > self._moved_at:
            self._moved_at = moved_at
            if self._told_at is not None:
                self._told_at = None
                self._tell("moving")
        is_told = self._told_at is not None and now - self._told_at < AGAIN_S
        if now - self._moved_at >= self._still_s and not is_told:
            self._told_at = now
            step, doing = (0, "compute" if self._reports else "start") if beat is None else (beat.step, beat.activity)
            self._tell("stalled", step=step, doing=doing, still_s=round(now - self._moved_at, 1))

    def _has_reported(self) -> bool:
        """Whether the file has grown other than by what this watch wrote itself."""
        assert self._reports is not None
        size_bytes = self._reports.stat().st_size if self._reports.exists() else 0
        has_grown, self._size_bytes = size_bytes > self._size_bytes, size_bytes
        return has_grown

    def _tell(self, phase: str, **detail: object) -> None:
        self._reporter.phase(phase, **detail)
        if self._reports is not None:
            self._size_bytes = self._reports.stat().st_size
