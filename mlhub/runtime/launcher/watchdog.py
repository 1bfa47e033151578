# SPDX-License-Identifier: Apache-2.0
"""Watches a trainer's heartbeat from outside: reports to the platform when it stalls, while it does, and when it moves.

A script has no steps that could be counted, so every report that reaches its file counts as a heartbeat.
Standard library only.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from mlhub.runtime import heartbeat
from mlhub.runtime.reporting import Reporter

STALL_S = 60.0
REPEAT_S = (
    60.0  # while it lasts, so that the platform can distinguish a stalled trainer from reports that do not arrive
)
PERIOD_S = 1.0


class Watchdog(threading.Thread):
    """heartbeat_file: a worker's; reports: a script's instead. The trainer starts at about the same time."""

    def __init__(
        self,
        reporter: Reporter,
        *,
        heartbeat_file: Path | None = None,
        reports: Path | None = None,
        still_s: float = STALL_S,
    ) -> None:
        super().__init__(name="watchdog", daemon=True)
        self._reporter, self._heartbeat_file, self._reports, self._still_s = reporter, heartbeat_file, reports, still_s
        self._is_ending = threading.Event()
        self._moved_at, self._size_bytes = time.monotonic(), 0
        self._reported_at: float | None = None

    def run(self) -> None:
        while not self._is_ending.wait(min(PERIOD_S, self._still_s / 2)):
            self.look(time.monotonic())

    def end(self) -> None:
        self._is_ending.set()
        self.join()

    def look(self, now: float) -> None:
        """now: on the clock of time.monotonic()."""
        last = heartbeat.read(self._heartbeat_file) if self._heartbeat_file is not None else None
        if self._heartbeat_file is not None:
            moved_at = last.at if last is not None else self._moved_at
        else:
            moved_at = now if self._has_reported() else self._moved_at
        if moved_at > self._moved_at:
            self._moved_at = moved_at
            if self._reported_at is not None:
                self._reported_at = None
                self._report("moving")
        is_reported = self._reported_at is not None and now - self._reported_at < REPEAT_S
        if now - self._moved_at >= self._still_s and not is_reported:
            self._reported_at = now
            step, doing = (0, "compute" if self._reports else "start") if last is None else (last.step, last.activity)
            self._report("stalled", step=step, doing=doing, still_s=round(now - self._moved_at, 1))

    def _has_reported(self) -> bool:
        """Whether the file has grown other than by what this watchdog wrote itself."""
        assert self._reports is not None
        size_bytes = self._reports.stat().st_size if self._reports.exists() else 0
        has_grown, self._size_bytes = size_bytes > self._size_bytes, size_bytes
        return has_grown

    def _report(self, phase: str, **detail: object) -> None:
        self._reporter.phase(phase, **detail)
        if self._reports is not None:
            self._size_bytes = self._reports.stat().st_size
