# SPDX-License-Identifier: Apache-2.0
"""The property that proves each consistency, on a virtual clock."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mlhub.runtime.ps import rules
from mlhub.runtime.ps.client.bounded_delay import Outstanding
from mlhub.runtime.ps.rules import Push, Rule
from mlhub.runtime.ps.server.weights.staleness import SCALES, compensate_adaptively, dynsgd, gupta, zhang
from tests.runtime.virtual_gang import Delay, VirtualGang, pull_to, targets

POINTS = targets(4)


def gang(rule: Rule, n: int, delay: Delay = lambda worker, number: 1.0, **options) -> VirtualGang:
    found = VirtualGang(rule, pull_to(POINTS), delay, **options)
    for worker in range(n):
        found.join(worker)
    return found.run()


def descent(n_steps: int, *, n: int, rate: float = 0.1) -> torch.Tensor:
    """One process with the batch of all n workers."""
    weights = torch.zeros(4, dtype=torch.float64)
    for _ in range(n_steps):
        weights = weights - rate * (weights - POINTS[:n]).sum(0)
    return weights


def uneven(worker: int, number: int) -> float:
    return 1.0 + 0.37 * worker + 0.11 * ((number * 7 + worker * 3) % 5)


def test_bsp_is_the_training_of_one_process_whatever_the_speeds() -> None:
    even, mixed = (gang(rules.bulk_synchronous(4), 4, delay) for delay in (lambda w, k: 1.0, uneven))
    assert torch.equal(even.weights, mixed.weights)
    torch.testing.assert_close(even.weights, descent(10, n=4), rtol=0, atol=1e-12)
    assert even.rule.version == 10


def test_one_asynchronous_worker_is_plain_descent_to_the_bit() -> None:
    assert torch.equal(gang(rules.asynchronous(), 1).weights, descent(40, n=1))


def test_asynchronous_workers_see_gradients_of_the_other_workers_come_in_between() -> None:
    found = gang(rules.asynchronous(), 4, lambda w, k: 1.0 + 0.01 * w, max_pushes=400)
    staleness = [c.staleness for a in found.applied for c in a.contributions]
    assert found.rule.version == found.rule.n_pushes == 400
    assert sum(staleness) / len(staleness) == pytest.approx(3.0, abs=0.05)
    applied = torch.stack([found.pushed[c.serial] for a in found.applied for c in a.contributions]).sum(0)
    torch.testing.assert_close(found.weights, -0.1 * applied, rtol=0, atol=1e-12)


def test_ssp_without_slack_is_bsp_and_with_endless_slack_is_asp() -> None:
    tight = gang(rules.stale_synchronous(0), 4, uneven)
    torch.testing.assert_close(tight.weights, descent(10, n=4), rtol=0, atol=1e-12)
    loose, free = gang(rules.stale_synchronous(10**6), 4, uneven), gang(rules.asynchronous(), 4, uneven)
    assert [a.contributions for a in loose.applied] == [a.contributions for a in free.applied]
    assert torch.equal(loose.weights, free.weights)


def test_slack_gains_nothing_against_a_worker_that_is_always_slow() -> None:
    def straggler(worker: int, number: int) -> float:
        return 5.0 if worker == 0 else 1.0

    times = [gang(rules.stale_synchronous(s), 3, straggler, max_pushes=300).now for s in (0, 3)]
    assert times[1] == pytest.approx(times[0], rel=0.05)


@given(st.integers(0, 4), st.lists(st.floats(0.1, 9.0), min_size=40, max_size=40))
@settings(max_examples=30, deadline=None)
def test_under_ssp_no_worker_starts_more_than_the_slack_ahead_and_reads_hold_what_is_promised(
    slack: int, delays: list[float]
) -> None:
    found = gang(rules.stale_synchronous(slack), 3, lambda w, k: delays[(w * 13 + k) % 40])
    assert max(found.leads) <= slack
    for read in found.reads:
        assert all(n >= min(read.clock - slack, found.n_pushes(w)) for w, n in read.contained.items())


def test_soft_synchronisation_of_one_is_asynchronous() -> None:
    soft, free = gang(rules.soft_synchronous(1), 4, uneven), gang(rules.asynchronous(), 4, uneven)
    assert torch.equal(soft.weights, free.weights)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_soft_synchronisation_makes_a_version_of_so_many_pushes(size: int) -> None:
    found = gang(rules.soft_synchronous(size), 4, lambda w, k: 1.0 + 0.01 * w, max_pushes=400)
    staleness = [c.staleness for a in found.applied for c in a.contributions]
    assert found.rule.version == 400 // size
    assert sum(staleness) / len(staleness) == pytest.approx(3 / size, abs=0.1)


def test_soft_synchronisation_of_all_equals_bsp_only_when_workers_wait() -> None:
    bsp = gang(rules.bulk_synchronous(4), 4, uneven)
    assert torch.equal(gang(rules.soft_synchronous(4, blocks=True), 4, uneven).weights, bsp.weights)
    assert (gang(rules.soft_synchronous(4), 4, uneven).weights - bsp.weights).abs().max() > 1e-3


def test_what_is_left_of_a_group_counts_when_everybody_is_done() -> None:
    found = gang(rules.soft_synchronous(3), 2, max_pushes=10)
    assert [len(a.contributions) for a in found.applied] == [3, 3, 3, 1]
    assert found.applied[-1].contributions[0].scale == 1.0


def test_the_first_k_of_n_make_a_version_and_the_late_are_discarded() -> None:
    found = gang(rules.first_of(2), 4, uneven)
    full = [a for a in found.applied if len(a.contributions) == 2]
    assert len(full) >= 8
    assert all(len({c.worker for c in a.contributions}) == 2 for a in full)
    assert all(c.staleness == 0 for a in found.applied for c in a.contributions)
    used = sum(len(a.contributions) for a in found.applied)
    assert found.rule.n_discarded == found.rule.n_pushes - used > 0
    everybody = gang(rules.first_of(4), 4, uneven)
    assert torch.equal(everybody.weights, gang(rules.bulk_synchronous(4), 4, uneven).weights)


def test_stale_gradients_count_less() -> None:
    assert [zhang(t) for t in (0, 1, 2, 5)] == [1, 1, 1 / 2, 1 / 5]
    assert [dynsgd(t) for t in (0, 1, 2, 5)] == [1, 1 / 2, 1 / 3, 1 / 6]
    for scale in SCALES.values():
        assert torch.equal(gang(rules.asynchronous(scale=scale), 1).weights, descent(40, n=1))
    assert [gupta(n_workers=8, group=size)(99) for size in (1, 2, 8)] == [1 / 8, 1 / 4, 1]
    scaled = gang(rules.asynchronous(scale=zhang), 4, uneven)
    assert all(c.scale == zhang(c.staleness) for a in scaled.applied for c in a.contributions)


def test_delay_compensation_does_nothing_alone_or_without_strength_and_helps_when_stale() -> None:
    free = gang(rules.asynchronous(), 4, uneven)
    assert torch.equal(gang(rules.asynchronous(), 4, uneven, dc_strength=0.0).weights, free.weights)
    assert torch.equal(gang(rules.asynchronous(), 1, dc_strength=2.0).weights, descent(40, n=1))
    assert not torch.equal(gang(rules.asynchronous(), 4, uneven, dc_strength=0.5).weights, free.weights)


@pytest.mark.parametrize(("given", "mean"), [({}, 0.45), ({"decay": 0.5}, 4.5)])
def test_adaptive_delay_compensation_divides_by_the_root_of_the_mean_square(given: dict, mean: float) -> None:
    weights, backup, mean_square = torch.tensor([2.0, 1.0]), torch.tensor([1.0, 1.0]), torch.tensor([0.0, 0.0])
    gradient = torch.tensor([3.0, 3.0])
    compensate_adaptively(gradient, weights=weights, backup=backup, strength=2.0, mean_square=mean_square, **given)
    torch.testing.assert_close(mean_square, torch.tensor([mean, mean]))
    torch.testing.assert_close(gradient, torch.tensor([3.0 + 2.0 * 9.0 / mean**0.5, 3.0]), rtol=1e-5, atol=0)


@pytest.mark.parametrize("max_delay", [0, 1, 4])
def test_bounded_delay_limits_what_is_under_way(max_delay: int) -> None:
    window = Outstanding(max_delay)
    for expected in range(max_delay + 1):
        assert window.start() == expected
    assert not window.may_start()
    with pytest.raises(ValueError, match="may not start"):
        window.start()
    for exchange in reversed(range(1, max_delay + 1)):
        window.finish(exchange)
        assert not window.may_start()  # the oldest is what everything waits for
    window.finish(0)
    assert window.may_start()


def test_who_warms_up_alone_waits_for_no_other_and_then_all_begin_at_one_clock() -> None:
    rule = Rule(group_size=1, lead=1)
    for worker in range(3):
        rule.join(worker)
    rule.idle(1, clock=0)
    rule.idle(2, clock=0)
    for version in range(6):
        answers = rule.push(Push(0, version, version + 1))
        assert rules.SendReply(0, version + 1, is_complete=True) in answers
    rule.idle(0, clock=6)
    rule.push(Push(1, 6, 8))  # the barrier lifted its clock to 7
    assert [rule.clock(worker) for worker in range(3)] == [7, 8, 7]
    rule.push(Push(1, 7, 9))
    assert rule.clock(1) - rule.clock(2) == 2  # two ahead of those who have not begun: it is held
    with pytest.raises(ValueError, match="out of turn"):
        rule.push(Push(1, 8, 10))


def test_a_worker_that_is_idle_again_after_the_barrier_is_not_waited_for() -> None:
    rule = rules.stale_synchronous(0)
    for worker in range(3):
        rule.join(worker)
        rule.idle(worker, clock=0)
    rule.idle(2, clock=1)  # it has passed the barrier, and found no batch
    assert rules.SendReply(0, 1, is_complete=True) not in rule.push(Push(0, 0, 2))  # 1 has passed it, too
    assert rules.SendReply(0, 1, is_complete=True) in rule.idle(1, clock=1)


def test_a_worker_that_joins_while_all_others_are_idle_begins_where_they_are() -> None:
    rule = rules.stale_synchronous(0)
    rule.join(0)
    rule.push(Push(0, 0, 1))
    rule.push(Push(0, 1, 2))
    rule.idle(0, clock=2)
    rule.join(1)
    assert rule.clock(1) == 2


RULES = {
    "asp": rules.asynchronous,
    "ssp": lambda: rules.stale_synchronous(2),
    "softsync": lambda: rules.soft_synchronous(3),
    "blocking softsync": lambda: rules.soft_synchronous(2, blocks=True),
    "k of n": lambda: rules.first_of(2),
}


@pytest.mark.parametrize("name", RULES)
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_no_worker_waits_for_the_dead_and_one_that_joins_late_takes_part(name: str, data: st.DataObject) -> None:
    delays = data.draw(st.lists(st.floats(0.1, 9.0), min_size=20, max_size=20))
    found = VirtualGang(RULES[name](), pull_to(POINTS), lambda w, k: delays[(w * 7 + k) % 20], max_pushes=60)
    for worker in range(3):
        found.join(worker)
    for worker in data.draw(st.lists(st.sampled_from([1, 2]), max_size=2, unique=True)):
        found.at(data.draw(st.floats(0.0, 40.0)), lambda worker=worker: found.die(worker))
    newcomer = data.draw(st.booleans())
    if newcomer:
        found.at(0.5, lambda: found.join(3))
    found.run()
    lost = 3 - len(found.alive & {0, 1, 2})
    assert found.rule.n_pushes >= 60 - lost  # all work was done, but for what died half-way
    used = sum(len(a.contributions) for a in found.applied)
    assert used + found.rule.n_discarded == found.rule.n_pushes
    assert not newcomer or found.n_pushes(3) > 0


@given(st.floats(0.1, 20.0), st.integers(0, 2))
@settings(max_examples=30, deadline=None)
def test_a_death_under_bsp_ends_the_gang(time: float, worker: int) -> None:
    found = VirtualGang(rules.bulk_synchronous(3), pull_to(POINTS), uneven, max_pushes=10**6)
    for other in range(3):
        found.join(other)
    found.at(time, lambda: found.die(worker))
    assert found.run().failure == f"worker {worker} is gone"


def test_a_push_out_of_turn_is_refused() -> None:
    rule = rules.bulk_synchronous(2)
    rule.join(0)
    rule.join(1)
    rule.push(Push(0, 0, 1))
    with pytest.raises(ValueError, match="out of turn"):
        rule.push(Push(0, 0, 2))
    with pytest.raises(ValueError, match="out of turn"):
        rule.push(Push(7, 0, 1))
