# SPDX-License-Identifier: Apache-2.0
"""Gossip: each worker averages with few peers, and models agree in the long run (D-PSGD, AD-PSGD)."""

from __future__ import annotations

import time

from mlhub.runtime.strategies.decentralised import mixing, peer_selection
from mlhub.runtime.strategies.decentralised.periodic import PeriodicExchange
from mlhub.runtime.strategies.toolkit.replicas import Exchange


class Gossip(PeriodicExchange):
    """D-PSGD: a worker averages with its neighbours only, then makes its step. Source: Lian et al., NIPS '17."""

    def before_step(self) -> float:
        index = self.exchange_index
        if index is None:
            return 0.0
        began = time.perf_counter()
        topology = self.spec.parameters["topology"]
        neighbours = mixing.peers(topology, rank=self.rank, n_workers=self.n_workers, exchange=index)
        for other in self.exchange(self.weights, to=neighbours, sources=neighbours).wait():
            self.weights += other
        self.weights /= len(neighbours) + 1
        return time.perf_counter() - began


class RandomGossip(PeriodicExchange):
    """AD-PSGD: each worker averages with a random peer while both compute. Source: Lian et al., ICML '18.

    Deviation: peers are drawn from the job's seed step by step, so that a training can be repeated, and a worker waits
    for its peer; in the paper it averages with a peer at whatever step that one is.
    """

    def start_exchange(self) -> None:
        self._in_flight: Exchange | None = None
        index = self.exchange_index
        if index is None:
            return
        peer = peer_selection.pairs(seed=self.seed, exchange=index, n_workers=self.n_workers)[self.rank]
        if peer != self.rank:
            self._in_flight = self.exchange(self.weights, to=[peer], sources=[peer])

    def before_step(self) -> float:
        if self._in_flight is None:
            return 0.0
        began = time.perf_counter()
        (theirs,) = self._in_flight.wait()
        self.weights.add_(theirs).div_(2.0)
        return time.perf_counter() - began
