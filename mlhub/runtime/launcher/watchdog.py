# SPDX-License-Identifier: Apache-2.0
"""Watches a trainer's heartbeat from outside: reports to the platform when it stalls, while it does, and when it moves.

A script has no steps that could be counted, so every report and every line that it prints counts as a heartbeat; of a
notebook, every report does.
Before the first heartbeat a trainer imports its libraries, which takes minutes on a busy machine: that is no stall.
Standard library only.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from mlhub.runtime import heartbeat
from mlhub.runtime.reporting import Reporter

STALL_S = 60.0
START_S = 300.0  # until the first heartbeat
REPEAT_S = (
    60.0  # while it lasts, so that the platform can distinguish a stalled trainer from reports that do not arrive
)
PERIOD_S = 1.0


class Watchdog(threading.Thread):
    """heartbeat_file: a worker's; reports and output: a script's instead; reports: a notebook's.

    The trainer starts at about the same time.
    """

    def __init__(
        self,
        reporter: Reporter,
        *,
        heartbeat_file: Path | None = None,
        reports: Path | None = None,
        output: Path | None = None,
        still_s: float = STALL_S,
        start_s: float = START_S,
    ) -> None:
        super().__init__(name="watchdog", daemon=True)
        self._reporter, self._heartbeat_file, self._reports, self._still_s = reporter, heartbeat_file, reports, still_s
        self._output, self._start_s = output, start_s
        self._is_ending = threading.Event()
        self._moved_at, self._size_bytes = time.monotonic(), self._written_bytes()
        self._has_moved = False
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
            self._moved_at, self._has_moved = moved_at, True
            if self._reported_at is not None:
                self._reported_at = None
                self._report("moving")
        is_reported = self._reported_at is not None and now - self._reported_at < REPEAT_S
        patience_s = self._still_s if self._has_moved else max(self._start_s, self._still_s)
        if now - self._moved_at >= patience_s and not is_reported:
            self._reported_at = now
            step, doing = (0, "compute" if self._reports else "start") if last is None else (last.step, last.activity)
            self._report("stalled", step=step, doing=doing, still_s=round(now - self._moved_at, 1))

    def _has_reported(self) -> bool:
        """Whether the files have grown other than by what this watchdog wrote itself."""
        size_bytes = self._written_bytes()
        has_grown, self._size_bytes = size_bytes > self._size_bytes, size_bytes
        return has_grown

    def _written_bytes(self) -> int:
        return sum(path.stat().st_size for path in (self._reports, self._output) if path is not None and path.exists())

    def _report(self, phase: str, **detail: object) -> None:
        before = 0 if self._reports is None else self._written_bytes()
        self._reporter.phase(phase, **detail)
        if self._reports is not None:  # what was written before the report is seen at the next look
            self._size_bytes += max(0, self._written_bytes() - before)
