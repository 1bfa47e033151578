# SPDX-License-Identifier: Apache-2.0
"""Which servers are leaves: they add up what their workers push, and forward it to the roots, which hold the model.

A root then receives as many gradients as there are leaves, not as there are workers. Source: Gupta, Zhang and Wang,
Rudra, 2015. Roots come first among a gang's servers; worker w pushes to leaf w modulo their number. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class AggregationTree:
    """n_leaves 0: no tree, every server is a root and every worker pushes to all."""

    n_workers: int
    n_servers: int
    n_leaves: int

    @classmethod
    def of(cls, strategy: Mapping[str, Any], *, n_workers: int, n_servers: int) -> AggregationTree:
        """Makes as many leaves as were asked for, while one server stays the root and no leaf is without workers."""
        return cls(n_workers, n_servers, max(0, min(int(strategy.get("leaves", 0)), n_servers - 1, n_workers)))

    @property
    def n_roots(self) -> int:
        return self.n_servers - self.n_leaves

    def is_leaf(self, server: int) -> bool:
        return server >= self.n_roots

    def n_clients(self, server: int) -> int:
        """Who pushes to this server: workers, or leaves."""
        if not self.n_leaves:
            return self.n_workers
        leaf = server - self.n_roots
        return len(range(leaf, self.n_workers, self.n_leaves)) if self.is_leaf(server) else self.n_leaves

    def servers_of(self, worker: int, addresses: Sequence[str]) -> Sequence[str]:
        """Where the worker pushes to."""
        if not self.n_leaves:
            return addresses
        return [addresses[self.n_roots + worker % self.n_leaves]]

    def index_of(self, worker: int) -> int:
        """Its number among those who push to the same servers."""
        return worker // self.n_leaves if self.n_leaves else worker
