# SPDX-License-Identifier: Apache-2.0
"""Findings of a check, one line each: ok, missing (MLHub works, with less), failed (it does not)."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TextIO


class CheckVerdict(StrEnum):
    OK = "ok"
    MISSING = "missing"
    FAILED = "failed"


class CheckReport:
    """Prints each line at once: some checks wait for minutes."""

    def __init__(self, to: TextIO = sys.stdout) -> None:
        self.found: list[tuple[CheckVerdict, str]] = []
        self._to = to

    def ok(self, words: str) -> None:
        self._add(CheckVerdict.OK, words)

    def missing(self, words: str) -> None:
        self._add(CheckVerdict.MISSING, words)

    def failed(self, words: str) -> None:
        self._add(CheckVerdict.FAILED, words)

    @property
    def exit_code(self) -> int:
        return 1 if any(verdict is CheckVerdict.FAILED for verdict, _ in self.found) else 0

    def _add(self, verdict: CheckVerdict, words: str) -> None:
        self.found.append((verdict, words))
        print(f"{verdict:8} {words}", file=self._to, flush=True)
