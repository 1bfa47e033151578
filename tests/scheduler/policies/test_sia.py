# SPDX-License-Identifier: Apache-2.0
"""Sia: what its program chooses can be worked out by hand; the budget has the last word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import Mode, SpeedObservation, policy_named
from scheduler.api.snapshot import JobSnapshot
from tests.scheduler.cases import Case, cluster, job, kinds, sizes

FAST, SLOW = "v100", "k80"


def on(gpu_type: str, n_workers: int, step_s: float) -> SpeedObservation:
    """Measured on one node, without synchronisation."""
    return SpeedObservation(Mode.ALL_REDUCE, n_workers, 0, 1, 1, gpu_type, 100, step_s, step_s, 0, 9)


def scales(*n_workers: int) -> tuple[SpeedObservation, ...]:
    return tuple(on(FAST, n, 0.1 / n) for n in n_workers)


def stagnates(*n_workers: int) -> tuple[SpeedObservation, ...]:
    """Slower on more of them: what computing saves, synchronisation costs twice."""
    return tuple(
        SpeedObservation(Mode.ALL_REDUCE, n, 0, 1, 1, FAST, 100, 0.1 + 0.05 * (n - 1), 0.1 / n, 0.1 - 0.1 / n, 9)
        for n in n_workers
    )


def mixed(*, gpus: int = 1) -> Case:
    """One fast node, one slow one."""
    return cluster(nodes=2, gpus=gpus).with_node("n1", gpu_type=SLOW)


def single(name: str, fast_s: float, slow_s: float) -> JobSnapshot:
    return job(name, max_workers=1, observations=(on(FAST, 1, fast_s), on(SLOW, 1, slow_s)))


def places(case: Case) -> dict[str, str]:
    plan = case.decide("sia")
    return {d.job: d.allocation.shares[0].node for d in plan.decisions if d.job in sizes(plan)}  # type: ignore[union-attr]


def test_the_fast_type_goes_to_the_job_that_gains_more_by_it() -> None:
    assert places(mixed().waiting(single("a", 0.1, 0.12), single("b", 0.1, 1.0))) == {"a": "n1", "b": "n0"}
    assert places(mixed().waiting(single("a", 0.1, 1.0), single("b", 0.1, 0.12))) == {"a": "n0", "b": "n1"}


def test_sizes_are_powers_of_two_in_a_node_and_whole_nodes_beyond() -> None:
    alone = job("a", observations=scales(1, 2, 4, 8))
    assert sizes(cluster(gpus=4).with_node("n0", n_gpus=3).waiting(alone).decide("sia")) == {"a": 3}  # the whole node
    assert sizes(cluster(gpus=8).waiting(replace(alone, max_workers=7)).decide("sia")) == {"a": 4}
    assert sizes(cluster(nodes=2, gpus=4).waiting(replace(alone, max_workers=7)).decide("sia")) == {"a": 4}
    assert sizes(cluster(nodes=2, gpus=4).waiting(alone).decide("sia")) == {"a": 8}


def test_a_job_gets_what_it_gains_by_and_others_get_the_rest() -> None:
    case = cluster(gpus=4).waiting(
        job("flat", observations=stagnates(1, 2, 4), mode=Mode.ALL_REDUCE),
        job("steep", observations=scales(1, 2, 4), max_workers=3),
    )
    assert sizes(case.decide("sia")) == {"flat": 1, "steep": 2}


def test_a_job_of_fixed_size_gets_that_size_or_none() -> None:
    case = cluster(gpus=4).waiting(job("three", gpus=3), job("two", gpus=2))
    assert sizes(case.decide("sia")) in ({"three": 3}, {"two": 2})
    assert sizes(cluster(gpus=4).waiting(job("three", gpus=3)).decide("sia")) == {"three": 3}


def test_a_job_that_was_never_measured_begins_on_one_and_is_tried_on_more_a_round_later() -> None:
    plan = cluster(gpus=4).waiting(job("new")).decide("sia", round_s=90)
    assert sizes(plan) == {"new": 1}
    assert plan.wake_at_s == 1090.0
    assert cluster(gpus=1).waiting(job("old", max_workers=1)).decide("sia").wake_at_s is None


def test_a_job_that_just_began_is_not_moved_and_an_old_one_is() -> None:
    young = job("a", observations=scales(1, 2), at=990.0, max_workers=2)
    case = cluster(gpus=2).running(young, n=1, since=995.0)
    assert kinds(case.decide("sia")) == {"a": "Keep"}
    assert kinds(case.at(100_000.0).decide("sia")) == {"a": "Resize"}


def test_what_quota_refuses_is_tried_smaller_and_the_rest_goes_to_others() -> None:
    greedy = job("a", observations=scales(1, 2, 4))
    other = job("b", tenant="bob", observations=stagnates(1, 2), at=1.0, mode=Mode.ALL_REDUCE)
    case = cluster(gpus=4).quota("alice", max_gpus=2).waiting(greedy, other)
    assert sizes(case.decide("sia")) == {"a": 2, "b": 1}
    assert sizes(cluster(gpus=4).quota("alice", max_gpus=0).waiting(greedy, other).decide("sia")) == {"b": 1}


def test_a_type_that_a_job_may_not_use_is_none_of_its_configurations() -> None:
    case = mixed(gpus=2).waiting(replace(single("a", 0.1, 1.0), gpu_types=(SLOW,)))
    assert places(case) == {"a": "n1"}


def test_a_power_of_nought_is_refused() -> None:
    with pytest.raises(ValueError, match="'power' of policy 'sia' must not be 0"):
        policy_named("sia", {"power": 0.0})


@pytest.mark.parametrize("power", [-1.0, -0.5, 0.5])
def test_more_goodput_is_better_for_any_power(power: float) -> None:
    plan = cluster(gpus=4).waiting(job("a", observations=scales(1, 2, 4), max_workers=4)).decide("sia", power=power)
    assert sizes(plan) == {"a": 4}
