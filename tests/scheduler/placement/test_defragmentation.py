# SPDX-License-Identifier: Apache-2.0
"""A gang that lies scattered is gathered on one node, and who is in its way changes places with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scheduler import (
    GangAllocation,
    JobSnapshot,
    Mode,
    NodeAllocation,
    Phase,
    Plan,
    Profile,
    RackSnapshot,
    Resize,
    RoundMemory,
    SpeedObservation,
    decide,
    policy_named,
)
from scheduler.api.topology import InputSet
from tests.scheduler.cases import Case, cluster, job, kinds


def gang(id: str, *, slow: float, gpus: int = 2, **more: Any) -> JobSnapshot:
    """A step takes 0.1 s on one node, and slow times as long on two."""
    seen = tuple(
        SpeedObservation(Mode.ALL_REDUCE, gpus, 0, n_nodes, 1, "v100", 100, step_s, step_s, 0.0, n_steps=1000)
        for n_nodes, step_s in ((1, 0.1), (2, 0.1 * slow))
    )
    values: dict[str, Any] = {"length_s": 50_000.0, "start_s": 15.0, "observations": seen} | more
    return job(id, gpus=gpus, **values)


def small(id: str, *, start_s: float = 15.0) -> JobSnapshot:
    return job(id, gpus=1, length_s=50_000.0, start_s=start_s)


def room(nodes: int = 2, **more: Any) -> Case:
    """Nodes of two GPUs, whose uplinks do not matter."""
    return replace(cluster(nodes=nodes, gpus=2, **more), racks=(RackSnapshot("r0", float("inf")),))


def between(one: JobSnapshot, middle: JobSnapshot, other: JobSnapshot, **more: Any) -> Case:
    """One on the first node, the middle on both, the other on the second."""
    return room(**more).running(one, middle, other)


def places(plan: Plan) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    return {
        d.job: [(share.node, share.gpus) for share in d.allocation.shares]
        for d in plan.decisions
        if isinstance(d, Resize)
    }


def test_a_scattered_gang_and_a_small_job_change_places() -> None:
    plan = between(small("a"), gang("g", slow=3.0), small("b")).decide("mlhub")
    assert kinds(plan) == {"a": "Resize", "g": "Resize", "b": "Keep"}
    assert places(plan) == {"g": [("n0", (0, 1))], "a": [("n1", (0,))]}
    assert plan.of("g").explanations[0].reason == "migrates"
    assert plan.of("a").explanations[0].facts["other"] == "g"


def test_those_who_change_places_come_back_where_they_were_promised_to_be() -> None:
    case = between(small("a"), gang("g", slow=3.0), small("b"))
    first = case.decide("mlhub")
    left = case.after(first)
    gone = left.after(left.decide("mlhub"))
    again = gone.decide("mlhub")
    assert kinds(again) == {"a": "Launch", "g": "Launch", "b": "Keep"}
    settled = gone.after(again)
    assert {one.id: one.allocation.shares for one in settled.jobs if one.allocation} == {
        "g": (NodeAllocation("n0", (0, 1)),), "a": (NodeAllocation("n1", (0,)),), "b": (NodeAllocation("n1", (1,)),)
    }  # fmt: skip
    assert set(kinds(settled.decide("mlhub")).values()) == {"Keep"}


@pytest.mark.parametrize(
    ("slow", "length_s", "why"),
    [(1.05, 50_000.0, "it hardly loses"), (3.0, 20.0, "it ends before that pays")],
)
def test_no_gang_moves_for_nothing(slow: float, length_s: float, why: str) -> None:
    plan = between(small("a"), gang("g", slow=slow, length_s=length_s), small("b")).decide("mlhub")
    assert set(kinds(plan).values()) == {"Keep"}, why


def test_the_job_whose_restart_costs_least_goes_aside() -> None:
    plan = between(small("a", start_s=500.0), gang("g", slow=3.0), small("b")).decide("mlhub")
    assert kinds(plan) == {"a": "Keep", "g": "Resize", "b": "Resize"}


def test_free_gpus_are_taken_before_anybody_is_moved() -> None:
    case = room(3).running(small("a"), gang("g", slow=3.0), small("b"))
    assert places(case.decide("mlhub")) == {"g": [("n2", (0, 1))]}


@pytest.mark.parametrize(("reader", "gigabytes"), [("g", 1), ("g", 10_000), ("a", 1), ("a", 10_000)])
def test_what_movers_would_fetch_counts_with_their_restarts(reader: str, gigabytes: int) -> None:
    """Of the data each node holds what is there now; b never moves, as it would have to fetch as much as a."""
    jobs = [small("a"), gang("g", slow=3.0), small("b")]
    readers = {"g"} if reader == "g" else {"a", "b"}
    case = room().running(*(replace(one, inputs="data" if one.id in readers else "") for one in jobs))
    data = InputSet("data", gigabytes * 10**9)
    plan = decide(replace(case.snapshot, input_sets=(data,)), policy=policy_named("mlhub", {}), memory=RoundMemory())
    assert ("Resize" in kinds(plan).values()) == (gigabytes == 1)


def test_jobs_that_start_are_not_moved() -> None:
    case = room().starting(small("a")).running(gang("g", slow=3.0)).starting(small("b"))
    assert set(kinds(case.decide("mlhub")).values()) == {"Keep"}


def test_a_gang_that_comes_finds_a_whole_node_where_one_can_be_made() -> None:
    holes = room().running(small("a"), filler := small("f"), small("b"))
    case = replace(holes, jobs=tuple(one for one in holes.jobs if one.id != filler.id)).waiting(gang("g", slow=3.0))
    first = case.decide("mlhub")
    assert sorted(kinds(first).values()) == ["Keep", "Resize", "Wait"]
    left = case.after(first)
    gone = left.after(left.decide("mlhub"))
    plan = gone.decide("mlhub")
    assert sorted(kinds(plan).values()) == ["Keep", "Launch", "Launch"]
    settled = {one.id: one.allocation for one in gone.after(plan).jobs}
    assert settled["g"] is not None
    assert len(settled["g"].shares) == 1


def test_two_that_share_a_gpu_go_aside_together() -> None:
    case = between(small("a"), gang("g", slow=3.0, length_s=9_000.0), small("b", start_s=5000.0), max_jobs_per_gpu=2)
    case = replace(case, jobs=tuple(replace(one, profile=Profile(0.0, 0.1, 0.0)) for one in case.jobs))
    held = GangAllocation(Mode.ALL_REDUCE, 1, 0, (NodeAllocation("n0", (0,)),))
    mate = replace(small("c"), profile=Profile(0.1, 0.0, 0.0), phase=Phase.RUNNING, allocation=held)
    plan = replace(case, jobs=(*case.jobs, mate)).decide("mlhub")
    assert places(plan) == {"g": [("n0", (0, 1))], "a": [("n1", (0,))], "c": [("n1", (0,))]}
