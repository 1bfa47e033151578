# SPDX-License-Identifier: Apache-2.0
"""Two gangs that train the same model on the same data, alive side by side: while one has its turn, the other is
stopped. What else the machine does then slows both alike, and no start, evaluation or end is counted."""

from __future__ import annotations

import os
import signal
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.watched_model import MARK

START_S = 180.0
WARM_UP_STEPS = 10


@dataclass(frozen=True)
class Turn:
    """A step's seconds on rank 0's clock, and its processor seconds of all ranks together."""

    n_steps: int
    step_s: float
    processor_s: float


@dataclass(frozen=True)
class Comparison:
    """Turns of both, the i-th of ours next to the i-th of theirs."""

    ours: Sequence[Turn]
    theirs: Sequence[Turn]

    @property
    def speeds(self) -> list[float]:
        """Our steps a second over theirs, turn by turn."""
        return [b.step_s / a.step_s for a, b in zip(self.ours, self.theirs, strict=True)]

    @property
    def best_speed(self) -> float:
        return min(t.step_s for t in self.theirs) / min(t.step_s for t in self.ours)

    @property
    def efforts(self) -> list[float]:
        """Our processor time a step over theirs, turn by turn."""
        return [a.processor_s / b.processor_s for a, b in zip(self.ours, self.theirs, strict=True)]


class Runner:
    """A gang that trains on and on. marks: the folder of its model's stopwatch (peers/watched_model.py)."""

    def __init__(self, marks: Path, *, n_ranks: int, end: Callable[[], None], logs: Callable[[], str]) -> None:
        self._marks, self._n_ranks, self._end, self._logs = marks, n_ranks, end, logs

    def wait_for_step(self, step: int) -> None:
        """On every rank. Raises RuntimeError when that takes too long."""
        until = time.monotonic() + START_S
        while any(len(self._of(rank)) < step for rank in range(self._n_ranks)):
            if time.monotonic() > until:
                raise RuntimeError(self._logs())
            time.sleep(0.1)

    def signal(self, number: signal.Signals) -> None:
        for rank in range(self._n_ranks):
            os.kill(int(self._of(rank)[0][0]), number)

    def turn(self, seconds: float) -> Turn:
        """Raises RuntimeError when no two steps come within ten times as long."""
        began = time.monotonic()
        self.signal(signal.SIGCONT)
        time.sleep(seconds)
        while len(self._since(0, began)) < 3:
            if time.monotonic() > began + 10 * seconds:
                raise RuntimeError(self._logs())
            time.sleep(0.05)
        self.signal(signal.SIGSTOP)
        time.sleep(0.05)
        ranks = [self._since(rank, began) for rank in range(self._n_ranks)]
        n = min(len(marks) for marks in ranks) - 1
        firsts, lasts = [marks[0] for marks in ranks], [marks[n] for marks in ranks]
        processor_s = sum(b[2] - a[2] for a, b in zip(firsts, lasts, strict=True))
        return Turn(n, (lasts[0][1] - firsts[0][1]) / n, processor_s / n)

    def end(self) -> None:
        self.signal(signal.SIGCONT)
        self._end()

    def _of(self, rank: int) -> list[tuple[float, ...]]:
        path = self._marks / str(rank)
        found = path.read_bytes() if path.exists() else b""
        return list(MARK.iter_unpack(found[: len(found) // MARK.size * MARK.size]))

    def _since(self, rank: int, moment: float) -> list[tuple[float, ...]]:
        return [mark for mark in self._of(rank) if mark[1] >= moment]


def compare(
    start_ours: Callable[[], Runner], start_theirs: Callable[[], Runner], *, n: int, turn_s: float
) -> Comparison:
    """n turns of each, of turn_s at least, in the order A B, B A, A B ..."""
    runners: list[Runner] = []
    turns: tuple[list[Turn], list[Turn]] = ([], [])
    try:
        for start in (start_ours, start_theirs):
            runners.append(start())
            runners[-1].wait_for_step(WARM_UP_STEPS)
            runners[-1].signal(signal.SIGSTOP)
        for i in range(n):
            for who in ((0, 1), (1, 0))[i % 2]:
                turns[who].append(runners[who].turn(turn_s))
    finally:
        for runner in runners:
            runner.end()
    return Comparison(*turns)


def spread(ratios: Sequence[float]) -> str:
    """The median, and what half of them lie between."""
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 2 else (min(ratios), ratios[0], max(ratios))
    return f"{middle:.3f} ({low:.2f} to {high:.2f})"
