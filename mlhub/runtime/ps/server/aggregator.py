# SPDX-License-Identifier: Apache-2.0
"""A leaf: to its workers a server that holds the model, to the roots a worker that pushes their sum.

Where pushes are compressed, those of a leaf are, too, and what they leave out is the leaf's residual. A checkpoint
holds, by leaf, the sum of its own residual and those of its workers.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from mlhub.runtime.ps.client.client import Client
from mlhub.runtime.ps.layout import CHUNK_ELEMENTS, ParameterSegment, ShardPlan
from mlhub.runtime.ps.rules import SendReply, bulk_synchronous
from mlhub.runtime.ps.server.coordination import WorkerCoordination
from mlhub.runtime.ps.server.phase_timings import PhaseTimings, ServerPhase
from mlhub.runtime.ps.server.shard import Shard
from mlhub.runtime.ps.server.waiting import ShardCondition
from mlhub.runtime.ps.server.weights.chunks import Chunk
from mlhub.runtime.ps.server.weights.inflight import PendingVersion
from mlhub.runtime.ps.server.weights.update_pipeline import UpdatePipeline
from mlhub.runtime.ps.server.weights.updates import Gather

Connect = Callable[[Tensor, Tensor], Client]  # to the roots, with weights and gradient of the whole model


class Branch(WorkerCoordination):
    """Sums go on to the roots; what comes back is the sum over all workers. sum_above: one at a time."""

    def __init__(
        self, n_workers: int, waiting: ShardCondition, sum_above: Callable[[Sequence[float]], list[float]]
    ) -> None:
        super().__init__(n_workers, waiting)
        self._sum_above = sum_above
        self._passing_on = threading.Lock()
        self._above: tuple[int, bytes] = (0, b"")  # the newest sum over all workers, and its number

    def total(self, worker: int, values: bytes, number: int = 0) -> bytes:
        with self._waiting.changed:
            nth = self.n_totals + 1
        summed = super().total(worker, values, number)
        with self._passing_on:
            if self._above[0] != nth:
                totals = self._sum_above(struct.unpack(f"{len(summed) // 8}d", summed))
                self._above = (nth, struct.pack(f"{len(totals)}d", *totals))
            return self._above[1]


class AggregatorPipeline(UpdatePipeline):
    """All chunks of a version wait for the last; then the sum of the pushes goes on to the roots.

    pass_on: called once the sum is complete; returns when the roots have replied.
    """

    def __init__(self, waiting: ShardCondition, timings: PhaseTimings, pass_on: Callable[[], None]) -> None:
        super().__init__(waiting, timings)
        self._pass_on = pass_on

    def _conclude_chunk(self, pending: PendingVersion, index: int) -> None:  # noqa: ARG002 (all wait for the last)
        with self._changed:
            pending.n_to_apply -= 1
            if pending.n_to_apply:
                return
        with self._timings.span(ServerPhase.EXCHANGE_ABOVE):
            self._pass_on()
        with self._changed:
            for chunk in self.chunks:
                chunk.mark(pending.version)
            self._conclude_version(pending)


class AggregatorShard(Shard):
    """Synchronous: a version is a push of each worker, a push to the roots, and their reply."""

    def __init__(self, n_workers: int, connect: Connect) -> None:
        super().__init__(n_workers)
        self._connect = connect
        self._client: Client | None = None
        self.coordination = Branch(n_workers, self.waiting, self._sum_above)
        self.pipeline = AggregatorPipeline(self.waiting, self.timings, self._exchange_above)

    def start(self, plan: ShardPlan, weights: Tensor, tables: Sequence[Tensor] = ()) -> None:  # noqa: ARG002
        """Its first worker's. Returns once worker 0 has started the roots. Raises PeerLostError, GangTimeoutError."""
        gradient = torch.zeros_like(weights)
        client = self._connect(weights, gradient)
        client.pull()
        with self._changed:
            self._client = client
            chunks = []
            for begin in range(0, plan.size, CHUNK_ELEMENTS):
                end = min(begin + CHUNK_ELEMENTS, plan.size)
                chunks.append(Chunk(plan, weights, begin=begin, end=end, update=Gather(gradient[begin:end])))
            self._begin(plan, weights, chunks, bulk_synchronous(self.n_workers))

    def reply_for(self, worker: int, *, wait: bool) -> SendReply | None:
        """Returns the reply once the roots have answered: what they report is part of it."""

        def is_there() -> bool:
            reply = self._replies.get(worker)
            return reply is not None and all(chunk.newest >= reply.version for chunk in self.chunks[-1:])

        with self._changed:
            if wait and not is_there():
                with self.timings.span(ServerPhase.WAIT, worker=worker):
                    self.waiting.wait(is_there)
            return self._replies[worker] if is_there() else None

    def close(self) -> None:
        """Leaves the roots, unless something failed: then the broken connection shows it."""
        if self._client is not None:
            self._client.close(leaves=self.failure is None)

    def _sum_above(self, values: Sequence[float]) -> list[float]:
        assert self._client is not None
        residuals, self.snapshots.residuals = self.snapshots.residuals, {}
        if residuals:
            self._client.send_residuals(torch.stack(list(residuals.values())).sum(0))
        return self._client.coordination.total(values)

    def _exchange_above(self) -> None:
        assert self._client is not None
        agreement = self._client.exchange(report=self.agreement)
        with self._changed:
            self.agreement = agreement


def leaf_plan(n_elements: int, *, n_workers: int, strategy: Mapping[str, Any]) -> ShardPlan:
    """What a leaf receives at START: how large the model is, and how it is pushed."""
    segments = (ParameterSegment("all", 0, n_elements, 0, 0),)
    return ShardPlan(n_elements, n_workers, segments, "SGD", ({"lr": 0.0},), strategy=strategy)
