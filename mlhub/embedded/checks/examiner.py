# SPDX-License-Identifier: Apache-2.0
"""Runs checks at the same time, and waits for none of them longer than it may take: one that fails or hangs costs its
own answer only."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

OWN_MACHINE = "Run `mlhub doctor` on the machine, and look at its logs."
STATES = ("ok", "problem", "unknown")  # of a check


@dataclass(frozen=True)
class CheckResult:
    """detail: what was found. remedy: what to do about it, where is_ok is False. has_ended: False where the check
    itself failed, or did not answer in time: what it looks at may be well."""

    name: str
    is_ok: bool
    detail: str
    remedy: str = ""
    has_ended: bool = True

    @property
    def state(self) -> str:
        """One of STATES: ok; problem; unknown, of a check that has not ended."""
        return "ok" if self.is_ok else "problem" if self.has_ended else "unknown"


def lines_of(result: CheckResult) -> list[str]:
    """The result as a terminal shows it."""
    first = f"{'ok  ' if result.is_ok else 'FAIL'}  {result.name:<9} {result.detail}"
    return [first] if result.is_ok else [first, f"      {'':<9} Remedy: {result.remedy}"]


@dataclass(frozen=True)
class Check:
    """meaning: what does not work where it fails. find: looks, and may find several things."""

    name: str
    meaning: str
    find: Callable[[], list[CheckResult]]


class _Run:
    """One run of a check, in a thread of its own, that all who ask meanwhile wait for."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self.began_at = time.monotonic()
        self.results: list[CheckResult] = []
        self.thread = threading.Thread(target=self._find, name=f"check-{check.name}", daemon=True)
        self.thread.start()

    def _find(self) -> None:
        try:
            self.results = self._check.find()
        except Exception as error:
            # of an error that no one planned only the kind: its message may hold an address with a password
            kind = type(error).__name__
            failed = CheckResult(
                self._check.name, False, f"The check itself failed: {kind}.", OWN_MACHINE, has_ended=False
            )
            self.results = [failed]


class Examiner:
    """Never runs a check a second time while it still runs: one that hangs keeps one thread, however often one asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, _Run] = {}

    def examine(self, checks: Sequence[Check], *, limit_s: float) -> Iterator[CheckResult]:
        """What each of them found, in turn. limit_s: for all of them together."""
        until = time.monotonic() + limit_s
        runs = [self._run_of(check) for check in checks]
        for check, run in zip(checks, runs, strict=True):
            run.thread.join(max(0.0, until - time.monotonic()))
            if run.thread.is_alive():
                waited_s = f"{time.monotonic() - run.began_at:.0f}"
                yield CheckResult(
                    check.name, False, f"It has not answered for {waited_s} s.", OWN_MACHINE, has_ended=False
                )
            else:
                yield from run.results

    def _run_of(self, check: Check) -> _Run:
        with self._lock:
            run = self._running.get(check.name)
            if run is None or not run.thread.is_alive():
                run = self._running[check.name] = _Run(check)
            return run
