# SPDX-License-Identifier: Apache-2.0
"""Bounded delay: how much of a worker's own is under way, on a virtual clock and over real sockets."""

from __future__ import annotations

import itertools
import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mlhub.runtime.ps import rules
from mlhub.runtime.ps.client.bounded_delay import BoundedDelayQueue, Outstanding
from mlhub.runtime.ps.leases import BatchLease, LeasedWork, Leases
from mlhub.runtime.ps.rules import Push
from tests.runtime.shards import Gang


@given(st.integers(0, 5), st.lists(st.floats(0.0, 9.0), min_size=30, max_size=30))
@settings(max_examples=40, deadline=None)
def test_no_more_than_the_bound_is_under_way_whatever_the_network_does(bound: int, transits: list[float]) -> None:
    """One worker computes for a second a step; exchanges arrive in order, each after its own time."""
    rule, window = rules.asynchronous(), Outstanding(bound)
    rule.join(0)
    now, arrived_at, applied = 0.0, 0.0, []  # applied: when each push was
    held: list[tuple[float, int]] = []  # when each answer is here, and the version in it
    for step in range(30):
        finished = [at for at, _ in held]
        while not window.may_start():
            now = max(now, finished[window.first_unfinished])
            window.finish(window.first_unfinished)
        in_use = max((version for at, version in held if at <= now), default=0)
        # of the worker's own pushes, all but the last `bound` are in the weights that it computes on
        assert in_use >= step - bound
        now += 1.0
        window.start()
        arrived_at = max(arrived_at, now) + transits[step]
        (apply, answer) = rule.push(Push(0, in_use, step + 1))
        applied.append(apply)
        held.append((arrived_at, answer.version))
        assert sum(at > now for at, _ in held) <= bound + 1
    assert all(a.contributions[0].staleness <= bound for a in applied)
    assert bound or all(a.contributions[0].staleness == 0 for a in applied)


@pytest.mark.parametrize("bound", [0, 2])
def test_over_sockets_a_worker_goes_on_while_its_exchanges_are_under_way(bound: int) -> None:
    gang = Gang(
        {"name": "bounded_delay", "max_outstanding": bound, "staleness_scaling": "none"}, n_workers=1, n_shards=2
    )
    client, weights, gradient = gang.client(0)
    pipeline = BoundedDelayQueue(client, weights, max_outstanding=bound)
    gate, blocked = threading.Event(), client.exchange

    def slow(*arguments, **named):
        assert gate.wait(600)
        return blocked(*arguments, **named)

    client.exchange = slow  # the network is slow
    gradient[:] = 1.0
    if bound == 0:
        gate.set()
    for step in range(bound):
        pipeline.push(gradient, weight=1.0)
        assert pipeline.n_under_way == step + 1
        assert weights.tolist() == [0.0] * 10
    gate.set()
    for step in range(bound, 20):
        pipeline.push(gradient, weight=1.0)
        assert pipeline.n_under_way <= bound
        assert weights[0] <= -(step + 1 - bound)  # each pull sees all own pushes but those under way
    pipeline.drain()
    assert pipeline.n_under_way == 0
    assert weights.tolist() == [-20.0] * 10
    pipeline.close()
    client.close()


def test_two_workers_lose_no_push() -> None:
    gang = Gang({"name": "bounded_delay", "max_outstanding": 2, "staleness_scaling": "none"}, n_workers=2)

    def act(worker, client, weights, gradient):
        pipeline = BoundedDelayQueue(client, weights, max_outstanding=3)
        gradient[:] = 1.0
        for _ in range(50):
            pipeline.push(gradient, weight=1.0)
        pipeline.drain()
        client.coordination.idle()
        client.coordination.total([0.0])
        client.pull()
        return weights

    found = gang.each(act)
    assert not gang.errors
    assert torch.equal(found[0], found[1])
    assert found[0].tolist() == [-100.0] * 10
    assert gang.servers[0].shard.rule.n_pushes == 100


def test_what_was_under_way_when_a_worker_died_is_done_by_others() -> None:
    leases = Leases(BatchLease(steps=10, steps_per_epoch=10), n_expected=2)
    for worker in (0, 1):
        leases.arrive(worker)
    assert [leases.ask(0), leases.ask(1)] == [LeasedWork(0, 0), LeasedWork(1, 0)]
    assert leases.ask(0, n_under_way=1) == LeasedWork(2, 0)
    assert leases.ask(0, n_under_way=2) == LeasedWork(3, 0)
    assert leases.ask(0, n_under_way=2) == LeasedWork(4, 0)  # step 0 has arrived; 2, 3 and 4 are held
    leases.leave(0)
    rest = list(itertools.islice(iter(lambda: leases.ask(1), None), 8))
    assert [grant.step for grant in rest] == [2, 3, 4, 5, 6, 7, 8, 9]
