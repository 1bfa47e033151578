# SPDX-License-Identifier: Apache-2.0
"""A worker's requests to the parameter servers: to each shard its part, at the same time, repeated after a restart."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

import torch

from mlhub.runtime.compression.codecs import ErrorFeedback
from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.ps.agreement import StepAgreement
from mlhub.runtime.ps.client.checkpoint_copies import CheckpointCopies, start_shard
from mlhub.runtime.ps.client.coordination import CoordinationClient
from mlhub.runtime.ps.client.link import Link, LinkCaller, ServerConnections
from mlhub.runtime.ps.client.outgoing_push import OutgoingPush
from mlhub.runtime.ps.client.rows import RowClient
from mlhub.runtime.ps.client.shard_links import ShardLinks
from mlhub.runtime.ps.client.weight_transfers import INLINE_BYTES, WeightTransfers
from mlhub.runtime.ps.layout import ShardPlan, bounds, push_bytes
from mlhub.runtime.ps.wire.messages import LeaveRequest, Purpose, PushRequest, ResidualRequest
from mlhub.runtime.ps.wire.request_numbers import RequestNumbers
from mlhub.runtime.ps.wire.shared_memory import SharedBuffer
from mlhub.runtime.ps.wire.sockets import bytes_of
from mlhub.runtime.ps.wire.tls import context_for
from mlhub.runtime.ps.wire.tls_socket import TlsSocket
from mlhub.runtime.ps.wire.transfer import call, send


class Client:
    """weights and gradient: the model's flat vectors, shape (n_elements,), float32; shards are stretches of them.

    links: to the servers, by shard. coordination: leases, barriers and sums of all workers.
    bytes_pushed, bytes_pulled: of one exchange. feedback: compresses pushes, and holds what they left out.
    """

    def __init__(
        self, addresses: Sequence[str], weights: torch.Tensor, gradient: torch.Tensor, *,
        index: int, attempt: str, secret: bytes, start_timeout_s: float,
        is_whole: bool = False, feedback: ErrorFeedback | None = None, overlaps: bool = False,
        is_encrypted: bool = False, roots: Sequence[str] | None = None, shared: SharedBuffer | None = None,
        returns_within_s: float | None = None,
    ) -> None:  # fmt: skip
        """feedback: pushes are compressed by it. overlaps: batches are leased while an exchange is under way.
        is_encrypted: connections are TLS. roots: worker 0's, where `addresses` are leaves: the model's own servers.
        shared: what weights and gradient lie in, if servers on this machine may work there.
        returns_within_s: how long a server that died is waited for; None: its death is the end.

        Raises GangTimeoutError when a server does not come, StrangerError when it is none of the gang's.
        """
        until = time.monotonic() + start_timeout_s
        self._cuts = bounds(weights.numel(), len(addresses), is_whole=is_whole)
        self._weights, self._gradient, self.feedback, self._shared = weights, gradient, feedback, shared
        self._own_views = self._views(weights)
        codec = None if feedback is None else feedback.codec
        self._push_bytes = [push_bytes(end - begin, codec) for begin, end in self._cuts]
        self.bytes_pulled, self.bytes_pushed = weights.nbytes, sum(self._push_bytes)
        tls = context_for(secret, is_server=False) if is_encrypted else None
        caller = LinkCaller(index=index, attempt=attempt, secret=secret, tls=tls)
        saves = index == 0 and roots is None
        links = [
            Link(
                caller,
                address,
                self._purposes(overlaps=overlaps and shard == 0, saves=saves),
                until=until,
                share=self._sharing(shard, shared),
                returns_within_s=returns_within_s,
            )
            for shard, address in enumerate(addresses)
        ]
        own = [caller.call(address, Purpose.SNAPSHOTS, until=until)[0] for address in roots or ()]
        self.links = ShardLinks(links, is_monitored=returns_within_s is not None)
        self._numbers = RequestNumbers()
        self._transfers = WeightTransfers(self.links)
        self._copies = CheckpointCopies(self.links, own)
        self.coordination = CoordinationClient(self.links, self._numbers)

    def start(self, plans: Sequence[ShardPlan], tables: Sequence[torch.Tensor] = ()) -> None:
        """Rank 0's, or a leaf's first worker's: hands over the first weights. tables: whole, those of the plans.

        Raises PeerLostError, also for a server that comes back: it has nothing yet.
        """

        def one(shard: int) -> None:
            rows = [
                bytes_of(whole[table.first_row : table.first_row + table.n_rows])
                for table, whole in zip(plans[shard].tables, tables, strict=True)
            ]
            start_shard(self.links[shard].connections.training, plans[shard], self._own_views[shard], *rows)

        self.links.map(one)

    def start_roots(self, plans: Sequence[ShardPlan], weights: torch.Tensor) -> None:
        """Worker 0's, before its leaf is started."""
        cuts = bounds(weights.numel(), len(plans))
        for connection, plan, (begin, end) in zip(self._copies.roots, plans, cuts, strict=True):
            start_shard(connection, plan, bytes_of(weights[begin:end]))

    def rows(self, table: int, *, n_rows: int) -> RowClient:
        """Returns the client of the rows of one of the plans' tables."""

        def on_shards(shards: Collection[int], act: Callable[[int, socket.socket], None]) -> None:
            self.links.on_each(lambda shard, connections: act(shard, connections.training), shards)

        return RowClient(on_shards, self._numbers, n_shards=len(self.links), table=table, n_rows=n_rows)

    def pull(self) -> None:
        """Waits for rank 0's weights; later: receives the newest. Raises PeerLostError."""
        targets = self._own_views
        self.links.on_each(lambda shard, connections: self._transfers.pull(shard, connections, targets[shard]))
        self.coordination.advance_clock(self.links[0].clock)

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions of the weights that were received last, by shard."""
        return self.links.versions

    def exchange(
        self, pushed: torch.Tensor | None = None, *, into: torch.Tensor | None = None,
        versions: Sequence[int] | None = None, weight: float = 1.0, report: StepAgreement | None = None,
    ) -> StepAgreement:  # fmt: skip
        """Pushes the gradient (or `pushed`, of its shape) and receives the new weights.

        into: where the weights go, unless into the model's. versions: of the weights that the gradient was computed
        on, unless the newest. weight: its part of a batch. report: what this worker reports with the step.
        Returns what the servers report; under BSP that is the reports of all workers together. Raises PeerLostError.
        """
        if self.links.may_repeat and pushed is self._weights and into is None:
            pushed = pushed.clone()  # they must be as they were when they are pushed again
        targets = self._own_views if into is None else self._views(into)
        pushes = self._pushes(pushed, versions, weight=weight, report=report or StepAgreement())

        def one(shard: int, connections: ServerConnections) -> StepAgreement:
            if connections.is_shared and pushed is None and into is None:
                return self._transfers.exchange_shared(shard, connections, pushes[shard])
            return self._transfers.exchange(shard, connections, pushes[shard], targets[shard])

        # shards may see a stop order at different steps; the first one's word counts for all workers alike
        return self.links.on_each(one)[0]

    def push(self, pushed: torch.Tensor | None = None, *, weight: float = 1.0) -> None:
        """Pushes without receiving weights. Raises PeerLostError."""
        pushes = self._pushes(pushed, None, weight=weight, report=StepAgreement())
        self.links.on_each(lambda shard, connections: self._transfers.push_only(shard, connections, pushes[shard]))

    def stream_from_here(self) -> AbstractContextManager[object]:
        """What another thread enters to exchange what was computed until now, while this one computes on."""
        return nullcontext()

    def pop_waited_s(self) -> float:
        """Seconds that the slowest shard let this worker wait since the last call, before it began to answer."""
        return self._transfers.pop_waited_s()

    def send_residuals(self, more: torch.Tensor | None = None) -> None:
        """Hands over what compressed pushes left out so far, so that the next snapshot holds it.

        more: the residual of workers that push by way of this one, shape (n_elements,).
        """
        assert self.feedback is not None
        own = self.feedback.residual
        residual = self._views((own if more is None else own + more).cpu())

        def one(shard: int, connections: ServerConnections) -> None:
            call(connections.training, ResidualRequest(len(residual[shard])), residual[shard])

        self.links.on_each(one)

    def take_snapshot(self) -> None:
        """Rank 0's, between two steps: every shard copies its optimiser's state."""
        self._copies.take()

    def write_snapshot(self, folder: Path) -> None:
        """Every shard writes what it copied into folder; may run during training."""
        self._copies.write(folder)

    def close(self, *, leaves: bool = True) -> None:
        """Closes the connections. leaves: reports to the servers that this worker is done, and not dead."""
        if leaves:
            for connection in self._copies.roots:
                with suppress(PeerLostError):
                    send(connection, LeaveRequest())
            self.links.leave()
        for connection in self._copies.roots:
            connection.close()
        self.links.close()
        self._transfers.close()
        if self._shared is not None:
            self._shared.close()

    def _purposes(self, *, overlaps: bool, saves: bool) -> list[Purpose]:
        """Of the connections to a shard. Weights come while gradients go: on one connection each would wait for the
        other's lock in the kernel, and one of TLS may be used by one thread at a time."""
        is_split = max(4 * (end - begin) for begin, end in self._cuts) > INLINE_BYTES
        training = [Purpose.WEIGHTS_ONLY, Purpose.PUSHES_ONLY] if is_split else [Purpose.TRAINING]
        return [*training, *[Purpose.ORDERS] * overlaps, *[Purpose.SNAPSHOTS] * saves]

    def _views(self, vector: torch.Tensor) -> list[memoryview]:
        return [bytes_of(vector[begin:end]) for begin, end in self._cuts]

    def _pushes(
        self, pushed: torch.Tensor | None, versions: Sequence[int] | None, *, weight: float, report: StepAgreement
    ) -> list[OutgoingPush]:
        """Returns the push for each shard."""
        vector, number = self._gradient if pushed is None else pushed, self._numbers.next()
        found = self.versions if versions is None else versions
        stop, checkpoint, value, clock = report.stop, report.checkpoint, report.value, self.coordination.count_push()
        return [
            OutgoingPush(
                PushRequest(stop, checkpoint, found[shard], value, weight, number, clock, length),
                vector[begin:end],
                begin,
                self.feedback,
            )
            for shard, (length, (begin, end)) in enumerate(zip(self._push_bytes, self._cuts, strict=True))
        ]

    def _sharing(self, shard: int, shared: SharedBuffer | None) -> Callable[[socket.socket], bool] | None:
        """Lets a server use this worker's memory, if it can; returns whether."""
        if shared is None or self.feedback is not None:
            return None
        begin, end = self._cuts[shard]

        def share(connection: socket.socket) -> bool:
            if connection.family != socket.AF_UNIX or isinstance(connection, TlsSocket):
                return False
            shared.offer(connection, begin=begin, end=end)
            return True

        return share
