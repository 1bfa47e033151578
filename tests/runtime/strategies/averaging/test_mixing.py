# SPDX-License-Identifier: Apache-2.0
"""What mixing separate replicas conserves: means, sums, and plain descent in the limits."""

from __future__ import annotations

import pytest
import torch

from mlhub.runtime.ps.server.weights.updates import AddDelta, Elastic, GradientStep
from mlhub.runtime.strategies.averaging import mixing
from mlhub.runtime.strategies.decentralised import mixing as gossip_mixing
from mlhub.runtime.strategies.decentralised import peer_selection

GENERATOR = torch.Generator().manual_seed(1)


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=GENERATOR)


def test_the_elastic_pull_conserves_the_sum_of_worker_and_centre() -> None:
    centre, theirs = random(5), random(5)
    before = centre + theirs
    update = Elastic(centre, alpha=0.5)
    update.apply([(1.0, theirs)], version=1)
    torch.testing.assert_close(centre + update.reply(centre, theirs), before, rtol=0, atol=1e-15)


def test_without_elasticity_the_centre_stays() -> None:
    centre, theirs = random(5), random(5)
    before = centre.clone(), theirs.clone()
    Elastic(centre, alpha=0.0).apply([(1.0, theirs)], version=1)
    assert torch.equal(centre, before[0])
    assert torch.equal(theirs, before[1])


def test_deltas_add_up_scaled() -> None:
    weights, first, second = torch.zeros(3), torch.ones(3), torch.full((3,), 4.0)
    AddDelta(weights).apply([(1.0, first), (0.5, second)], version=1)
    assert weights.tolist() == [3.0, 3.0, 3.0]


def test_block_momentum_without_momentum_is_averaging() -> None:
    start, mean = random(4), random(4)
    block = mixing.BlockMomentum(start.clone(), momentum=0.0)
    torch.testing.assert_close(block.end_block(mean), mean, rtol=0, atol=1e-15)


def test_block_momentum_goes_on_where_the_blocks_went() -> None:
    block = mixing.BlockMomentum(torch.zeros(1), momentum=0.5)
    first = block.end_block(torch.tensor([1.0]))
    second = block.end_block(first + 1.0)
    assert (first.item(), second.item()) == (1.0, 2.5)
    nesterov = mixing.BlockMomentum(torch.zeros(1), momentum=0.5, is_nesterov=True)
    start = nesterov.end_block(torch.tensor([1.0])).item()
    assert start == 1.5
    # a block that changes nothing from where it started: the velocity alone moves the model, and dies out
    assert nesterov.end_block(torch.tensor([start])).item() == 1.0 + 0.5 + 0.25
    assert nesterov.reset_to_model().item() == 1.5
    assert mixing.block_momentum_for(4) == 0.75


def mixing_matrix(topology: str, *, n_workers: int, exchange: int = 0) -> torch.Tensor:
    """What an exchange does to all weights, shape (n, n): equal parts of a worker and its peers."""
    matrix = torch.zeros(n_workers, n_workers, dtype=torch.float64)
    for rank in range(n_workers):
        group = (rank, *gossip_mixing.peers(topology, rank=rank, n_workers=n_workers, exchange=exchange))
        matrix[rank, list(group)] = 1.0 / len(group)
    return matrix


@pytest.mark.parametrize("topology", gossip_mixing.TOPOLOGIES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_gossip_keeps_the_mean_and_contracts(topology: str, n: int) -> None:
    values = random(n, 3)
    mean = values.mean(0)
    for exchange in range(60):
        matrix = mixing_matrix(topology, n_workers=n, exchange=exchange)
        assert torch.equal(matrix, matrix.T)
        values = matrix @ values
    torch.testing.assert_close(values, mean.expand(n, 3), rtol=0, atol=2e-5)
    torch.testing.assert_close(values.mean(0), mean, rtol=0, atol=1e-14)


@pytest.mark.parametrize("n", [3, 4, 7])
def test_gossip_on_a_ring_comes_together_as_fast_as_its_second_eigenvalue_says(n: int) -> None:
    values, matrix = random(n, 3), mixing_matrix("ring", n_workers=n)
    second = torch.linalg.eigvalsh(matrix.double()).abs().sort().values[-2].item()
    mean, distance = values.mean(0), (values - values.mean(0)).norm()
    for k in range(1, 15):
        values = matrix.to(values.dtype) @ values
        assert (values - mean).norm() <= distance * second**k + 1e-12


def test_gossip_with_everybody_is_averaging() -> None:
    matrix = mixing_matrix("complete", n_workers=5)
    values = random(5, 2)
    torch.testing.assert_close(matrix @ values, values.mean(0).expand(5, 2), rtol=0, atol=1e-15)


def test_push_sum_finds_the_mean_on_a_directed_graph() -> None:
    values = random(4, 3)
    nodes = [gossip_mixing.PushSum(value.clone()) for value in values]
    to = [[1], [2], [3], [0, 1]]
    for _ in range(120):
        messages = [node.send(len(receivers)) for node, receivers in zip(nodes, to, strict=True)]
        for receivers, message in zip(to, messages, strict=True):
            for receiver in receivers:
                nodes[receiver].receive(*message)
    assert sum(node.y for node in nodes) == pytest.approx(4.0, abs=1e-12)
    for node in nodes:
        torch.testing.assert_close(node.value, values.mean(0), rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_random_pairs_are_mutual_keep_the_sum_and_bring_all_together(n: int) -> None:
    values = random(n, 3)
    mean = values.mean(0)
    for exchange in range(120):
        partner = peer_selection.pairs(seed=5, exchange=exchange, n_workers=n)
        assert partner == peer_selection.pairs(seed=5, exchange=exchange, n_workers=n)
        assert [partner[other] for other in partner] == list(range(n))
        assert sum(other == rank for rank, other in enumerate(partner)) == n % 2
        values = (values + values[partner]) / 2
    torch.testing.assert_close(values, mean.expand(n, 3), rtol=0, atol=1e-6)
    assert n < 3 or any(
        peer_selection.pairs(seed=5, exchange=e, n_workers=n) != peer_selection.pairs(seed=6, exchange=e, n_workers=n)
        for e in range(5)
    )


def test_no_worker_sends_to_itself_and_as_often_as_the_probability_says() -> None:
    drawn = [peer_selection.senders(seed=1, exchange=e, n_workers=4, probability=0.25) for e in range(1000)]
    sent = [(rank, to) for receivers in drawn for rank, to in enumerate(receivers) if to is not None]
    assert all(rank != to for rank, to in sent)
    assert {to for _, to in sent} == {0, 1, 2, 3}
    assert len(sent) == pytest.approx(1000, rel=0.1)
    assert peer_selection.senders(seed=1, exchange=0, n_workers=1, probability=1.0) == [None]


def test_sums_of_shares_and_of_models_by_shares_are_conserved() -> None:
    values, n = random(4, 3), 4
    nodes = [gossip_mixing.SharedMean(value.clone(), 1.0 / n) for value in values]
    for exchange in range(300):
        messages = []
        for rank, to in enumerate(peer_selection.senders(seed=3, exchange=exchange, n_workers=n, probability=0.4)):
            if to is not None:
                messages.append((to, nodes[rank].weights.clone(), nodes[rank].send()))
        for to, weights, share in messages:
            nodes[to].receive(weights, share)
        assert sum(node.share for node in nodes) == pytest.approx(1.0, abs=1e-12)
        whole = sum((node.weights * node.share for node in nodes), torch.zeros(3))
        torch.testing.assert_close(whole.double(), values.mean(0), rtol=0, atol=1e-12)
    for node in nodes:
        torch.testing.assert_close(node.weights, values.mean(0), rtol=0, atol=1e-3)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop"])
def test_shards_update_as_one_to_the_bit(kind: str) -> None:
    """The same pushes in the same order, on the whole vector and on three stretches of it."""
    pushes = [random(12) for _ in range(6)]

    def trained(cuts: list[tuple[int, int]]) -> torch.Tensor:
        weights = torch.ones(12, dtype=torch.float64)
        for begin, end in cuts:
            parameter = torch.nn.Parameter(weights[begin:end])
            optimizer = getattr(torch.optim, kind)([parameter], lr=0.05)
            update = GradientStep(optimizer.step, lambda g, p=parameter: setattr(p, "grad", g), lambda version: None)
            for version, push in enumerate(pushes):
                update.apply([(0.5, push[begin:end].clone())], version=version + 1)
        return weights

    assert torch.equal(trained([(0, 12)]), trained([(0, 5), (5, 6), (6, 12)]))
