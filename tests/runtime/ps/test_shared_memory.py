# SPDX-License-Identifier: Apache-2.0
"""Workers and servers that share memory: the same training, and no gradient is used after it was given back."""

from __future__ import annotations

import os
import socket
import threading
from dataclasses import replace
from typing import Any

import pytest
import torch

from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.ps.client.client import Client
from mlhub.runtime.ps.layout import CHUNK_ELEMENTS
from mlhub.runtime.ps.wire import frames, shared_memory
from mlhub.runtime.ps.wire.declaration import HEADER_BYTES
from mlhub.runtime.ps.wire.frames import FrameError
from mlhub.runtime.ps.wire.messages import SharedPushRequest, ShareMemoryRequest
from mlhub.runtime.ps.wire.shared_memory import SharedBuffer
from mlhub.runtime.ps.wire.transfer import call
from tests.runtime.shards import Gang

SEVERAL_CHUNKS = 2 * CHUNK_ELEMENTS + 100


def trained(strategy: dict[str, Any], *, tcp_only: bool, n_shards: int = 1, n_steps: int = 5) -> list[torch.Tensor]:
    """The weights that each of two workers holds after steps in turn, by momentum, so that order would show."""
    gang = Gang(
        strategy, n_shards=n_shards, n_elements=SEVERAL_CHUNKS, tcp_only=tcp_only, lr=0.1,
        momentum=0.0 if strategy["name"] == "asp" else 0.9,
    )  # fmt: skip
    turns = threading.Barrier(2)

    def act(worker: int, client: Client, weights: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        for step in range(n_steps):
            turns.wait()
            torch.sin(weights + worker + step, out=gradient)
            if strategy["name"] == "asp":  # one after the other
                for turn in range(2):
                    if turn == worker:
                        client.exchange()
                    turns.wait()
            else:
                client.exchange()
        turns.wait()
        client.pull()
        return weights.clone()

    found = gang.each(act)
    assert not gang.errors
    return found


@pytest.mark.parametrize("strategy", [{"name": "bsp"}, {"name": "asp"}, {"name": "asp", "staleness_scaling": "dc"}])
@pytest.mark.parametrize("n_shards", [1, 2])
def test_shared_memory_trains_what_sockets_train_to_the_bit(strategy: dict[str, Any], n_shards: int) -> None:
    shared = trained(strategy, tcp_only=False, n_shards=n_shards)
    by_tcp = trained(strategy, tcp_only=True, n_shards=n_shards)
    assert float(by_tcp[0].abs().sum()) > 0
    for ours, theirs in zip(shared, by_tcp, strict=True):
        assert torch.equal(ours, theirs)


def test_a_push_that_waits_for_its_group_is_not_changed_by_what_its_worker_computes_next() -> None:
    gang = Gang({"name": "softsync", "group": 3}, n_workers=1, n_elements=SEVERAL_CHUNKS)
    pushed = (1.0, 10.0, 100.0)

    def act(_: int, client: Client, weights: torch.Tensor, gradient: torch.Tensor) -> tuple[torch.Tensor, ...]:
        seen = []
        for value in pushed:
            gradient.fill_(value)
            client.exchange()
            seen.append(weights.clone())
        return tuple(seen)

    (seen,) = gang.each(act)
    assert not gang.errors
    assert not seen[0].any()  # answered at once, with what there was
    assert not seen[1].any()
    torch.testing.assert_close(seen[2], torch.full((SEVERAL_CHUNKS,), -sum(pushed)))


def test_a_gradient_crosses_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    send = frames.send_bytes
    monkeypatch.setattr(frames, "send_bytes", lambda line, content: (sent.append(len(content)), send(line, content)))
    gang = Gang({"name": "bsp"}, n_workers=1, n_elements=SEVERAL_CHUNKS)

    def act(_: int, client: Client, weights: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        gradient.fill_(2.0)
        sent.clear()
        client.exchange()
        assert sum(sent) == 2 * HEADER_BYTES, "a header there, and one back"
        return weights.clone()

    (weights,) = gang.each(act)
    assert not gang.errors
    assert torch.equal(weights, torch.full((SEVERAL_CHUNKS,), -2.0))


def offered(offer: ShareMemoryRequest, n_bytes: int, *, is_sealed: bool) -> FrameError:
    """What a server answers to memory of so many bytes, offered as that."""
    ours, theirs = socket.socketpair()
    file = SharedBuffer(n_bytes // 8)._file if is_sealed else os.memfd_create("a stranger's")
    if not is_sealed:
        os.ftruncate(file, n_bytes)
    with ours, theirs:
        socket.send_fds(ours, [b"\0"], [file])
        with pytest.raises(FrameError) as refused:
            shared_memory.map_shared(theirs, offer)
    os.close(file)
    return refused.value


def test_memory_that_may_shrink_or_is_shorter_than_declared_is_refused() -> None:
    honest = ShareMemoryRequest(n_elements=10, begin=0, end=10)
    assert "change its length" in str(offered(honest, 80, is_sealed=False))
    assert "not as long as declared" in str(offered(honest, 72, is_sealed=True))
    assert "not as long as declared" in str(offered(replace(honest, end=11), 80, is_sealed=True))


def test_a_push_in_memory_that_was_not_shared_ends_the_connection() -> None:
    gang = Gang({"name": "asp"}, n_workers=1, tcp_only=True)

    def act(_: int, client: Client, *__: torch.Tensor) -> None:
        push = SharedPushRequest(stop=False, checkpoint=False, version=0, value=0.0, weight=1.0, number=1, clock=1)
        with pytest.raises(PeerLostError, match=r"closed|broke"):
            call(client.links[0].connections.training, push)

    gang.each(act)
    assert any("gone" in str(error) or "shared" in str(error) for error in gang.errors)
