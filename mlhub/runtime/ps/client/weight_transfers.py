# SPDX-License-Identifier: Apache-2.0
"""Moves gradients to one shard and its weights back, at the same time where both are large."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor, wait

from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.ps.agreement import StepAgreement
from mlhub.runtime.ps.client.link import ServerConnections
from mlhub.runtime.ps.client.outgoing_push import OutgoingPush
from mlhub.runtime.ps.client.shard_links import ShardLinks
from mlhub.runtime.ps.wire import frames
from mlhub.runtime.ps.wire.messages import PullRequest, PushOnlyRequest, PushRequest, SharedPushRequest
from mlhub.runtime.ps.wire.transfer import receive_reply, send

INLINE_BYTES = 512 * 2**10  # fits into socket buffers


class WeightTransfers:
    """Exchanges of one worker with each of its shards."""

    def __init__(self, links: ShardLinks) -> None:
        self._links = links
        self._senders = ThreadPoolExecutor(len(links))
        self._waited_s = [0.0] * len(links)  # by shard: from asking to the first byte of the answer

    def pull(self, shard: int, connections: ServerConnections, target: memoryview) -> None:
        """Fills target with the newest weights. Raises PeerLostError."""
        send(connections.training, PullRequest())
        self._receive(shard, connections, target)

    def exchange(
        self, shard: int, connections: ServerConnections, push: OutgoingPush, target: memoryview
    ) -> StepAgreement:
        """Sends the push while the new weights come into target. Raises PeerLostError."""
        sending = self._begin_sending(connections, push)
        try:
            agreement = self._receive(shard, connections, target)
        except PeerLostError:
            connections.hang_up()
            if sending is not None:
                wait([sending])
            raise
        if sending is not None:
            sending.result()
        return agreement

    def exchange_shared(self, shard: int, connections: ServerConnections, push: OutgoingPush) -> StepAgreement:
        """Lets the server work in this worker's memory, until the weights are there. Raises PeerLostError."""
        push.announce_shared(connections.training)
        reply = receive_reply(connections.weights, SharedPushRequest)
        self._waited_s[shard] += reply.waited_s
        self._links[shard].record(version=reply.version, clock=reply.clock)
        return StepAgreement(reply.stop, reply.checkpoint, reply.value)

    def push_only(self, shard: int, connections: ServerConnections, push: OutgoingPush) -> None:
        """Sends the push, and waits until the rule allows the worker to go on. Raises PeerLostError."""
        push.send_only(connections.training)
        self._links[shard].clock = receive_reply(connections.training, PushOnlyRequest).clock

    def pop_waited_s(self) -> float:
        """Seconds that the slowest shard let this worker wait since the last call, before it began to answer."""
        waited_s, self._waited_s = max(self._waited_s), [0.0] * len(self._waited_s)
        return waited_s

    def close(self) -> None:
        self._senders.shutdown(wait=False)

    def _begin_sending(self, connections: ServerConnections, push: OutgoingPush) -> Future[None] | None:
        """Sends the push, in another thread when it is large, so that both ends read while they write."""
        if push.request.n_bytes <= INLINE_BYTES:
            push.send(connections.training)
            return None
        return self._senders.submit(push.send, connections.training)

    def _receive(self, shard: int, connections: ServerConnections, target: memoryview) -> StepAgreement:
        began = time.perf_counter()
        reply = receive_reply(connections.weights, PushRequest)
        self._waited_s[shard] += time.perf_counter() - began
        if reply.n_bytes != len(target):
            raise frames.FrameError(f"{reply.n_bytes} bytes of weights for a shard of {len(target)}.")
        frames.receive_into(connections.weights, target)
        self._links[shard].record(version=reply.version, clock=reply.clock)
        return StepAgreement(reply.stop, reply.checkpoint, reply.value)
