# SPDX-License-Identifier: Apache-2.0
"""Asynchronous successive halving as the paper's algorithm 2 writes it, kept plain, for comparison.

Li et al., A System for Massively Parallel Hyperparameter Tuning (MLSys 2020). It keeps the state that the paper's
pseudo-code keeps: a list for each rung and a set of what was promoted from it.
"""

from __future__ import annotations


class Asha:
    """Larger values are better; of equal ones the earlier trial goes first."""

    def __init__(self, *, n_rungs: int, eta: int, n_trials: int) -> None:
        self.rungs: list[list[tuple[float, int]]] = [[] for _ in range(n_rungs)]
        self.promoted: list[set[int]] = [set() for _ in range(n_rungs)]
        self.eta, self.n_trials, self.n_begun = eta, n_trials, 0

    def report(self, trial: int, rung: int, value: float) -> None:
        self.rungs[rung].append((value, trial))

    def get_job(self) -> tuple[int, int] | None:
        """(trial, rung) to train next; None when all trials have begun and none can be promoted."""
        for k in reversed(range(len(self.rungs) - 1)):
            candidates = self.top_k(self.rungs[k], len(self.rungs[k]) // self.eta)
            promotable = [trial for trial in candidates if trial not in self.promoted[k]]
            if promotable:
                self.promoted[k].add(promotable[0])
                return promotable[0], k + 1
        if self.n_begun == self.n_trials:
            return None
        self.n_begun += 1
        return self.n_begun - 1, 0

    @staticmethod
    def top_k(rung: list[tuple[float, int]], k: int) -> list[int]:
        ordered = sorted(rung, key=lambda entry: entry[1])
        ordered.sort(key=lambda entry: entry[0], reverse=True)
        return [trial for _, trial in ordered[:k]]
