# SPDX-License-Identifier: Apache-2.0
"""How far each worker is with a table, and who may read. Pure.

Under staleness s a worker at clock c reads once every worker has finished clock c - s - 1: it then sees all their
updates up to there. s = 0 is BSP; without a bound, ASP. Source: Ho et al., NIPS '13.
"""

from __future__ import annotations

FOREVER = 10**18


class Clocks:
    """at: by worker, the clock that it works on; all begin at 0."""

    def __init__(self, n_workers: int, *, staleness: int | None) -> None:
        """staleness: None for no bound."""
        self.staleness = staleness
        self.at = dict.fromkeys(range(n_workers), 0)

    @property
    def slowest(self) -> int:
        """Every clock below it is finished by all."""
        return min(self.at.values(), default=FOREVER)

    def tick(self, worker: int) -> None:
        if worker in self.at:
            self.at[worker] += 1

    def leave(self, worker: int) -> None:
        """No worker waits for it any more."""
        self.at.pop(worker, None)

    def may_read(self, worker: int) -> bool:
        return self.staleness is None or self.at.get(worker, 0) - self.slowest <= self.staleness
