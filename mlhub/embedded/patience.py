# SPDX-License-Identifier: Apache-2.0
"""A start takes as long as the machine needs; while it lasts, people read now and then what it waits for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

REPORT_EVERY_S = 10.0


@dataclass
class Patience:
    """report: shows a line to people."""

    report: Callable[[str], None]
    _what: str = ""
    _since: float = 0.0
    _next_report_at: float = 0.0

    def wait_for(self, what: str, *, detail: str) -> None:
        """To be called again and again. Reports every REPORT_EVERY_S for how long the same thing is waited for."""
        now = time.monotonic()
        if what != self._what:
            self._what, self._since, self._next_report_at = what, now, now + REPORT_EVERY_S
        if now >= self._next_report_at:
            self._next_report_at = now + REPORT_EVERY_S
            self.report(f"still waiting for {what}, for {now - self._since:.0f} s ({detail})")
