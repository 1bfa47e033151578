# SPDX-License-Identifier: Apache-2.0
"""Progress of several simulations at once: a named bar each on a terminal, a line at each end elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType

_WIDTH = 30
_EVERY_S = 0.1  # a terminal need not be drawn more often
_MOST_LINES = 20


class Bars:
    """Draws the progress of several processes.

    progress: done and all jobs of every title in turn; all = 0: not begun.
    """

    def __init__(self, titles: Sequence[str], progress: Sequence[int]) -> None:
        self._titles, self._progress = titles, progress
        self._is_watched = sys.stderr.isatty()
        self._n_drawn = 0
        self._drawn_at_s = 0.0
        self._announced: set[int] = set()
        self._wide = max((len(title) for title in titles), default=0)

    def __enter__(self) -> Bars:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.draw(is_last=True)

    def draw(self, *, is_last: bool = False) -> None:
        """Draws the bars."""
        if not is_last and time.monotonic() - self._drawn_at_s < _EVERY_S:
            return
        self._drawn_at_s = time.monotonic()
        states = [(self._progress[2 * i], self._progress[2 * i + 1]) for i in range(len(self._titles))]
        if not self._is_watched:
            self._announce(states)
            return
        running = [i for i, (done, most) in enumerate(states) if most and done < most]
        n_ended = sum(bool(most) and done == most for done, most in states)
        lines = [self._line(self._titles[i], *states[i], "jobs") for i in running[:_MOST_LINES]]
        lines.append(self._line("all", n_ended, len(states), "simulations"))
        up = f"\x1b[{self._n_drawn}A" if self._n_drawn else ""
        print(up + "".join(f"\x1b[2K{line}\n" for line in lines) + "\x1b[J", end="", file=sys.stderr, flush=True)
        self._n_drawn = len(lines)

    def _line(self, title: str, n_done: int, n_all: int, what: str) -> str:
        filled = _WIDTH * n_done // max(1, n_all)
        return f"{title:<{self._wide}} {'█' * filled}{'·' * (_WIDTH - filled)} {n_done}/{n_all} {what}"

    def _announce(self, states: Sequence[tuple[int, int]]) -> None:
        for i, (done, most) in enumerate(states):
            if most and done == most and i not in self._announced:
                self._announced.add(i)
                n, of = len(self._announced), len(self._titles)
                print(f"{n}/{of} {self._titles[i]}: {done} jobs", file=sys.stderr, flush=True)
