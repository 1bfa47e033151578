# SPDX-License-Identifier: Apache-2.0
"""Parameter servers over real sockets: every consistency, in chunks, with deaths and strangers."""

from __future__ import annotations

import socket
import threading
import time

import pytest
import torch

from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.ps.agreement import StepAgreement
from mlhub.runtime.ps.client.client import Client
from mlhub.runtime.ps.layout import CHUNK_ELEMENTS
from mlhub.runtime.ps.leases import Backoff, BatchLease, WaitAtBarrier
from mlhub.runtime.ps.server.worker_registry import WorkerRegistry
from mlhub.runtime.ps.wire.frames import FrameError
from mlhub.runtime.ps.wire.handshake import StrangerError
from mlhub.runtime.ps.wire.messages import ChallengeReply, PushRequest
from mlhub.runtime.ps.wire.transfer import receive, send
from tests.runtime.shards import SECRET, Gang

SIZES = [10, 2 * CHUNK_ELEMENTS + 17]


@pytest.mark.parametrize("n_elements", SIZES)
@pytest.mark.parametrize("n_shards", [1, 2])
def test_bsp_gives_all_workers_the_same_weights_of_the_summed_gradients(n_elements: int, n_shards: int) -> None:
    gang = Gang({"name": "bsp"}, n_workers=3, n_shards=n_shards, n_elements=n_elements)

    def act(worker, client, weights, gradient):
        for step in range(4):
            gradient[:] = (worker + 1) * (step + 1)
            agreed = client.exchange(report=StepAgreement(stop=worker == 1, value=0.5))
            assert agreed == StepAgreement(stop=True, value=1.5)
            assert torch.equal(weights, torch.full_like(weights, -6.0 * sum(range(1, step + 2))))
        assert client.coordination.total([1.0, worker]) == [3.0, 3.0]
        return weights

    found = gang.each(act)
    assert not gang.errors
    assert torch.equal(found[0], found[2])


@pytest.mark.parametrize("tcp_only", [True, False])
def test_a_gang_on_one_machine_needs_no_tcp_and_trains_the_same(tcp_only: bool) -> None:
    n = 3 * CHUNK_ELEMENTS + 5
    gang = Gang({"name": "bsp"}, n_workers=3, n_elements=n, tcp_only=tcp_only)
    gradients = torch.randn(4, 3, n, generator=torch.Generator().manual_seed(0))
    expected = torch.zeros(n)
    for first, second, third in gradients:
        expected -= first + second + third  # in the order of ranks, bit for bit

    def act(worker, client, weights, gradient):
        for step in range(4):
            gradient[:] = gradients[step, worker]
            client.exchange()
        return weights, {
            line.family for link in client.links for line in (link.connections.training, link.connections.weights)
        }

    for weights, families in gang.each(act):
        assert torch.equal(weights, expected)
        assert families == {socket.AF_INET if tcp_only else socket.AF_UNIX}
    assert not gang.errors


@pytest.mark.parametrize("n_elements", SIZES)
@pytest.mark.parametrize(
    "strategy",
    [
        {"name": "asp"},
        {"name": "ssp", "staleness": 1},
        {"name": "softsync", "group": 2},
        {"name": "softsync", "group": 2, "block": True},
        {"name": "asp", "staleness_scaling": "dc", "dc_strength": 0.0},
        {"name": "asp", "staleness_scaling": "dc_adaptive", "dc_strength": 0.0},
        {"name": "adag"},
        {"name": "k_of_n", "k": 3},
    ],
    ids=lambda s: "-".join(str(v) for v in s.values()),
)
def test_every_push_counts_once_in_every_piece(strategy: dict, n_elements: int) -> None:
    gang = Gang(strategy, n_workers=3, n_shards=2, n_elements=n_elements)

    def act(worker, client, weights, gradient):
        for _ in range(5):
            gradient[:] = -1.0 if strategy["name"] == "adag" else 1.0
            client.exchange()
        client.coordination.idle()
        client.coordination.total([0.0])
        client.pull()
        return weights

    for weights in gang.each(act):
        assert torch.equal(weights, torch.full_like(weights, -15.0))
    assert not gang.errors


def test_stale_pushes_count_less() -> None:
    gang = Gang({"name": "asp", "staleness_scaling": "dynsgd"}, n_workers=2, n_elements=3)
    first, weights, gradient = gang.client(0)
    second, _, late = gang.client(1)
    gradient[:], late[:] = 1.0, 1.0
    for _ in range(3):
        first.exchange()
    second.exchange()
    first.pull()
    assert weights.tolist() == [-3.25] * 3
    first.close()
    second.close()


def test_the_elastic_exchange_conserves_the_sum_of_worker_and_centre() -> None:
    n = 2 * CHUNK_ELEMENTS + 5
    gang = Gang({"name": "easgd", "alpha": 0.25}, n_workers=1, n_elements=n)

    def act(worker, client, weights, gradient):
        weights[:] = torch.arange(n)
        client.exchange(weights)
        own = weights.clone()
        client.pull()
        return own, weights

    ((own, centre),) = gang.each(act)
    assert torch.equal(own, torch.arange(n) * 0.75)
    assert torch.equal(centre, torch.arange(n) * 0.25)


def test_a_worker_that_dies_half_way_through_a_push_hurts_no_other_and_may_come_back() -> None:
    n = 3 * CHUNK_ELEMENTS
    gang = Gang({"name": "asp"}, n_workers=2, n_elements=n)
    first, weights, gradient = gang.client(0)
    second, _, _ = gang.client(1)
    push = PushRequest(
        stop=False, checkpoint=False, version=0, value=0.0, weight=1.0, number=1, clock=1, n_bytes=n * 4,
    )  # fmt: skip
    send(second.links[0].connections.training, push, memoryview(bytes(CHUNK_ELEMENTS * 4 + 100)))
    second.close(leaves=False)
    gradient[:] = 1.0
    for _ in range(2):
        first.exchange()
    assert torch.equal(weights, torch.full_like(weights, -2.0))
    until(lambda: 1 not in gang.servers[0].workers.connected)
    again, theirs, _ = gang.client(1)
    assert torch.equal(theirs, weights)
    again.close()
    first.close()


def test_a_successor_waits_until_the_server_has_noticed_its_predecessor_s_end() -> None:
    gang = Gang({"name": "asp"}, n_workers=2)
    first, weights, gradient = gang.client(0)
    predecessor, _, _ = gang.client(1)
    gradient[:] = 1.0
    first.exchange()
    threading.Timer(0.5, predecessor.close, kwargs={"leaves": False}).start()
    successor, theirs, _ = gang.client(1)  # at once: the predecessor's connection is open still
    assert torch.equal(theirs, weights)
    first.close()
    successor.close()


def test_a_server_is_not_over_while_a_successor_is_coming() -> None:
    registry = WorkerRegistry(1)
    assert registry.connect(0, within_s=0)
    assert not registry.connect(0, within_s=0)
    coming = threading.Thread(target=registry.connect, args=(0,), kwargs={"within_s": 60.0})
    coming.start()
    registry.disconnect(0, is_expected=False)
    coming.join()
    assert registry.connected == {0}
    assert not registry.is_over()


def test_under_ssp_the_others_do_not_wait_for_the_dead() -> None:
    gang = Gang({"name": "ssp", "staleness": 1}, n_workers=2)
    first, weights, gradient = gang.client(0)
    second, _, _ = gang.client(1)
    gradient[:] = 1.0
    first.exchange()
    late = threading.Timer(0.2, second.close, kwargs={"leaves": False})
    late.start()
    for _ in range(4):
        first.exchange()
    assert weights.tolist() == [-5.0] * 10
    first.close()


def test_the_death_of_a_worker_under_bsp_ends_everybodys_wait() -> None:
    gang = Gang({"name": "bsp"}, n_workers=2)
    first, _, _ = gang.client(0)
    second, _, _ = gang.client(1)
    threading.Timer(0.1, second.close, kwargs={"leaves": False}).start()
    with pytest.raises(PeerLostError):
        first.exchange()
    until(lambda: bool(gang.errors))
    assert isinstance(gang.errors[0], PeerLostError)


def test_leased_batches_are_all_trained_on_and_all_workers_meet() -> None:
    work = BatchLease(steps=20, steps_per_epoch=10)
    gang = Gang({"name": "asp"}, n_workers=3, n_shards=2, work=work)

    def act(worker, client, weights, gradient):
        done, meetings = [], []
        while not meetings or meetings[-1].step < 20:
            order = client.coordination.lease(stop=False, checkpoint=False, n_under_way=0)
            if isinstance(order, Backoff):
                order = client.coordination.wait_at_barrier()
            if isinstance(order, WaitAtBarrier):
                meetings.append(order)
                assert client.coordination.total([1.0]) == [3.0]
                continue
            gradient[:] = 1.0
            client.exchange()
            done.append(order.step)
        client.pull()
        return done, [m.step for m in meetings], weights

    found = gang.each(act)
    assert not gang.errors
    assert sorted(step for done, _, _ in found for step in done) == list(range(20))
    assert all(meetings == [10, 20] for _, meetings, _ in found)
    assert found[0][2].tolist() == [-20.0] * 10


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop"])
def test_optimisers_on_servers_are_those_of_torch(kind: str) -> None:
    n = CHUNK_ELEMENTS + 3
    optimizer = getattr(torch.optim, kind)
    gang = Gang({"name": "bsp"}, n_workers=2, n_shards=2, n_elements=n, optimizer=optimizer, lr=0.01)
    gradients = torch.randn(5, 2, n, generator=torch.Generator().manual_seed(0))

    def act(worker, client, weights, gradient):
        for step in range(5):
            gradient[:] = gradients[step, worker]
            client.exchange()
        return weights

    parameter = torch.nn.Parameter(torch.zeros(n))
    reference = optimizer([parameter], lr=0.01)
    for step in range(5):
        parameter.grad = gradients[step].sum(0)
        reference.step()
    found = gang.each(act)
    assert not gang.errors
    torch.testing.assert_close(found[0], parameter.detach(), rtol=0, atol=1e-6)


def test_strangers_are_refused() -> None:
    gang = Gang({"name": "asp"}, n_workers=1)
    address = f"127.0.0.1:{gang.servers[0].port}"
    for secret, attempt in ((b"guess", "a"), (SECRET, "another")):
        with pytest.raises(StrangerError):
            Client(
                [address], torch.zeros(1), torch.zeros(1), index=0, attempt=attempt, secret=secret, start_timeout_s=60
            )
    with socket.create_connection(("127.0.0.1", gang.servers[0].port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: shard\r\nX-Padding: so that a whole header arrives\r\n\r\n")
        connection.settimeout(60)
        with pytest.raises(FrameError, match="refused"):
            receive(connection, ChallengeReply)
    client, _, _ = gang.client(0)
    client.close()


def until(is_so, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)
