"""How far a run's own predictions were off: the band around the next ones, learnt from those that came true or did not.

Pure: what was said, and what came of it, travels in the plan's memory from round to round.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_KEPT = 6  # of a job's predictions; beyond, every other one goes, and those that stay count twice
MOST_ENDED = 400  # of the newest ends count
FEWEST_ENDED = 20  # with fewer, a band is what the models say
LEVEL = 0.9


@dataclass
class _Said:
    """A job's predictions: every so many rounds one, as (when, seconds left, did it wait)."""

    n_rounds: int = 0
    every: int = 1
    points: list[tuple[float, float, bool]] = field(default_factory=list)

    def add(self, now_s: float, left_s: float, waits: bool) -> None:
        if self.n_rounds % self.every == 0:
            self.points.append((now_s, max(left_s, 1.0), waits))
            if len(self.points) > MOST_KEPT:
                self.points, self.every = self.points[::2], 2 * self.every
        self.n_rounds += 1


class Bands:
    """Ratios of the time a job took to the time it was said to take; for jobs that wait and for others apart."""

    def __init__(self, memory: Mapping[str, Any]) -> None:
        self._open = {
            job_id: _Said(n, every, [(at_s, left_s, waits) for at_s, left_s, waits in points])
            for job_id, (n, every, points) in memory.get("open", {}).items()
        }
        ended = memory.get("ended", {})
        self._ended: dict[bool, list[tuple[float, float]]] = {
            waits: [(ratio, weight) for ratio, weight in ended.get(name, ())] for name, waits in _NAMES.items()
        }
        self._factors: dict[bool, float | None] = {}

    def close(self, present: Collection[str], *, now_s: float) -> None:
        """Jobs that are gone ended, just now."""
        for job_id in [job_id for job_id in self._open if job_id not in present]:
            said = self._open.pop(job_id)
            for at_s, left_s, waits in said.points:
                self._ended[waits].append(((now_s - at_s) / left_s, float(said.every)))
        for waits, ended in self._ended.items():
            self._ended[waits] = ended[-MOST_ENDED:]
        late: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
        for said in self._open.values():
            for at_s, left_s, waits in said.points:
                if now_s - at_s > left_s:  # it takes at least so much longer
                    late[waits].append(((now_s - at_s) / left_s, float(said.every)))
        for waits, ended in self._ended.items():
            self._factors[waits] = _quantile([*ended, *late[waits]]) if len(ended) >= FEWEST_ENDED else None

    def p90_s(self, left_s: float, p90_s: float, *, waits: bool) -> float:
        """Nine of ten jobs of which so much was said to be left needed no longer; the model's own p90_s until known."""
        factor = self._factors.get(waits)
        return p90_s if factor is None else left_s * max(1.0, factor)

    def say(self, job_id: str, *, now_s: float, left_s: float, waits: bool) -> None:
        self._open.setdefault(job_id, _Said()).add(now_s, left_s, waits)

    def to_json(self) -> dict[str, Any]:
        said = {j: [s.n_rounds, s.every, [list(point) for point in s.points]] for j, s in self._open.items()}
        ended = {name: [list(one) for one in self._ended[waits]] for name, waits in _NAMES.items()}
        return {"open": said, "ended": ended}


_NAMES = {"waiting": True, "running": False}


def _quantile(ratios: list[tuple[float, float]]) -> float:
    """Of weighted ratios."""
    goal, below = LEVEL * sum(weight for _, weight in ratios), 0.0
    for ratio, weight in sorted(ratios):
        below += weight
        if below >= goal:
            return ratio
    return ratios[-1][0]
