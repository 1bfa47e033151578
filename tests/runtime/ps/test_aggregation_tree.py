# SPDX-License-Identifier: Apache-2.0
"""Leaves between workers and roots: the training of flat BSP, with less to receive at the roots."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import nn

from mlhub.runtime.checkpoints.optimizer_state import merge, total_residual
from mlhub.runtime.compression.codecs import ErrorFeedback, codec_for
from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.ps.agreement import StepAgreement
from mlhub.runtime.ps.client.client import Client
from mlhub.runtime.ps.layout import CHUNK_ELEMENTS, plan_shards
from mlhub.runtime.ps.server.aggregator import AggregatorShard, leaf_plan
from mlhub.runtime.ps.server.server import Server
from mlhub.runtime.ps.tree import AggregationTree
from mlhub.runtime.strategies.catalogue.schema import parse
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import SyncMode, TrainingSpec
from tests.runtime import gang as processes
from tests.runtime.shards import SECRET, Gang

N_WORKERS, N_ROOTS, N_LEAVES = 5, 2, 2


@given(st.integers(1, 20), st.integers(1, 9), st.integers(0, 9))
def test_every_worker_has_one_leaf_and_no_leaf_is_without_workers(n_workers: int, n_servers: int, asked: int) -> None:
    tree = AggregationTree.of({"leaves": asked}, n_workers=n_workers, n_servers=n_servers)
    addresses = [str(i) for i in range(n_servers)]
    assert tree.n_roots >= 1
    if not tree.n_leaves:
        assert all(tree.servers_of(w, addresses) == addresses for w in range(n_workers))
        return
    seen = [(tree.servers_of(w, addresses)[0], tree.index_of(w)) for w in range(n_workers)]
    assert len(set(seen)) == n_workers
    for server in range(tree.n_roots, n_servers):
        mine = sorted(index for address, index in seen if address == str(server))
        assert mine == list(range(tree.n_clients(server)))
        assert mine
    assert all(tree.n_clients(root) == tree.n_leaves for root in range(tree.n_roots))


class TreeGang:
    """Roots, leaves and workers on threads of this process."""

    def __init__(self, n_elements: int, **strategy: Any) -> None:
        self.strategy = parse({"name": "hierarchical", **strategy}).to_json()
        self.tree = AggregationTree(N_WORKERS, N_ROOTS + N_LEAVES, N_LEAVES)
        self.n_elements, self.errors = n_elements, []
        self.servers: list[Server] = []
        for index in range(N_ROOTS + N_LEAVES):
            shard = (
                AggregatorShard(self.tree.n_clients(index), self._to_roots(index)) if self.tree.is_leaf(index) else None
            )
            self.servers.append(
                Server(
                    ("127.0.0.1", 0),
                    index=index,
                    n_servers=N_ROOTS,
                    n_workers=self.tree.n_clients(index),
                    attempt="a",
                    secret=SECRET,
                    shard=shard,
                )
            )
        self.addresses = [f"127.0.0.1:{server.port}" for server in self.servers]
        self.threads = [threading.Thread(target=self._serve, args=(s,), daemon=True) for s in self.servers]
        for thread in self.threads:
            thread.start()

    def client(self, worker: int) -> tuple[Client, torch.Tensor, torch.Tensor]:
        weights, gradient = torch.zeros(self.n_elements), torch.zeros(self.n_elements)
        client = Client(
            self.tree.servers_of(worker, self.addresses), weights, gradient, index=self.tree.index_of(worker),
            attempt="a", secret=SECRET, start_timeout_s=120, roots=self.addresses[:N_ROOTS] if worker == 0 else None,
            feedback=self._feedback(),
        )  # fmt: skip
        if worker == 0:
            parameter = nn.Parameter(weights.clone())
            optimizer = self.optimizer([parameter])
            plans = plan_shards(
                [("w", parameter)], optimizer, n_shards=N_ROOTS, n_workers=N_LEAVES, resume_from=None,
                strategy=self.strategy,
            )  # fmt: skip
            client.start_roots(plans, weights)
        if self.tree.index_of(worker) == 0:
            n_workers = self.tree.n_clients(N_ROOTS + worker)
            client.start([leaf_plan(self.n_elements, n_workers=n_workers, strategy=self.strategy)])
        client.pull()
        return client, weights, gradient

    def _to_roots(self, index: int):
        def connect(weights: torch.Tensor, gradient: torch.Tensor) -> Client:
            return Client(
                self.addresses[:N_ROOTS], weights, gradient, index=index - N_ROOTS, attempt="a", secret=SECRET,
                start_timeout_s=120, feedback=self._feedback(),
            )  # fmt: skip

        return connect

    def _feedback(self) -> ErrorFeedback | None:
        codec = codec_for(self.strategy)
        return codec and ErrorFeedback(codec, torch.zeros(self.n_elements))

    def _serve(self, server: Server) -> None:
        try:
            server.serve(start_timeout_s=120)
        except Exception as error:
            self.errors.append(error)

    optimizer: Callable[..., torch.optim.Optimizer] = partial(torch.optim.Adam, lr=0.1)
    each = Gang.each
    n_workers = N_WORKERS
    _threads = property(lambda self: self.threads)


@pytest.mark.parametrize("n_elements", [10, 2 * CHUNK_ELEMENTS + 17])
def test_a_tree_makes_the_weights_of_flat_bsp_and_its_roots_receive_a_gradient_a_leaf(n_elements: int) -> None:
    gradients = torch.randn(4, N_WORKERS, n_elements, generator=torch.Generator().manual_seed(0))

    def act(worker, client, weights, gradient):
        for step in range(4):
            gradient[:] = gradients[step, worker]
            agreed = client.exchange(report=StepAgreement(stop=worker == 3, value=0.5))
            assert agreed == StepAgreement(stop=True, value=0.5 * N_WORKERS)
        assert client.coordination.total([1.0, worker]) == [N_WORKERS, sum(range(N_WORKERS))]
        assert client.coordination.total([2.0]) == [2.0 * N_WORKERS]
        return weights

    tree = TreeGang(n_elements)
    found = tree.each(act)
    flat = Gang({"name": "bsp"}, n_workers=N_WORKERS, n_elements=n_elements, optimizer=torch.optim.Adam, lr=0.1)
    expected = flat.each(act)
    assert not tree.errors
    assert not flat.errors
    assert all(torch.equal(found[0], weights) for weights in found)
    torch.testing.assert_close(found[0], expected[0], rtol=0, atol=1e-6)
    received = [server.shard.bytes_pushed for server in tree.servers[:N_ROOTS]]
    assert sum(received) == 4 * N_LEAVES * n_elements * 4
    assert flat.servers[0].shard.bytes_pushed == 4 * N_WORKERS * n_elements * 4


@pytest.mark.parametrize("n_elements", [11, CHUNK_ELEMENTS + 17])
def test_a_tree_of_compressed_pushes_loses_nothing_and_checkpoints_the_residual(
    n_elements: int, tmp_path: Path
) -> None:
    """With a rate of 1, the weights are minus what arrived: the rest is the residual of workers and leaves."""
    gradients = torch.randn(4, N_WORKERS, n_elements, generator=torch.Generator().manual_seed(0))

    def act(worker, client, weights, gradient):
        for step in range(4):
            gradient[:] = gradients[step, worker]
            client.exchange()
        client.send_residuals()
        client.coordination.total([0.0])
        if worker == 0:
            client.take_snapshot()
            client.write_snapshot(tmp_path)
        client.coordination.total([0.0])
        return weights

    tree = TreeGang(n_elements, compression="top_k", density=0.2)
    tree.optimizer = partial(torch.optim.SGD, lr=1.0)
    weights = tree.each(act)
    assert not tree.errors
    assert all(torch.equal(weights[0], each) for each in weights)
    files = [load_file(tmp_path / f"optimizer-{root}-of-{N_ROOTS}.safetensors") for root in range(N_ROOTS)]
    residual = total_residual(merge({**files[0], **files[1]}))["w"]
    assert residual.count_nonzero() > 0
    torch.testing.assert_close(residual - weights[0], gradients.sum((0, 1)), rtol=0, atol=1e-4)
    received = sum(server.shard.bytes_pushed for server in tree.servers[:N_ROOTS])
    assert received < 4 * N_LEAVES * n_elements * 4 * 0.5


def test_the_death_of_a_worker_ends_the_tree() -> None:
    tree = TreeGang(10)
    clients: list[Client] = [None] * N_WORKERS  # type: ignore[list-item]

    def join(worker: int) -> None:
        clients[worker] = tree.client(worker)[0]

    threads = [threading.Thread(target=join, args=(w,), daemon=True) for w in range(N_WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    threading.Timer(0.1, clients[3].close, kwargs={"leaves": False}).start()
    ended: list[int] = []

    def exchange(worker: int) -> None:
        try:
            while True:
                clients[worker].exchange()
        except PeerLostError:
            ended.append(worker)

    threads = [threading.Thread(target=exchange, args=(w,), daemon=True) for w in (0, 1, 2, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(ended) == [0, 1, 2, 4]  # those of the other leaf too
    for thread in tree.threads:
        thread.join(60)
        assert not thread.is_alive()
    assert tree.errors


@pytest.mark.slow
@pytest.mark.dist
def test_processes_in_a_tree_train_and_resume_in_another_shape(tmp_path: Path) -> None:
    training = TrainingSpec(epochs=4, batch_size=10, strategy={"name": "rudra-adv", "leaves": 2})
    tree = processes.Gang(tmp_path, processes.write_blobs(tmp_path / "blobs.npz", n=400), training=training)
    tree.start(SyncMode.PARAMETER_SERVER, n_workers=3, n_servers=4, pause_after=20)
    tree.leave_paused()
    assert set(tree.wait().values()) == {ExitCode.PREEMPTED}, tree.logs()
    (saved,) = tree.reports("checkpoint")
    tree.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=2)
    assert set(tree.wait().values()) == {ExitCode.DONE}, tree.logs()
    assert next(r for r in tree.reports("phase") if r["phase"] == "resumed")["detail"]["step"] == saved["step"] > 0
    assert tree.result()["metrics"]["eval/accuracy"] > 0.9
