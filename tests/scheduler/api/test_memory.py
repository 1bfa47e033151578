# SPDX-License-Identifier: Apache-2.0
"""What a round hands to the next one: typed inside, JSON at its border, in this version and the one before."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from scheduler import GangAllocation, Mode, NodeAllocation, RoundMemory, decide, policy_named
from scheduler.api.memory import ResizePromise
from scheduler.simulator.busy_cluster.cluster import BusyCluster

RECORDED = (
    Path(__file__).parent / "memory_version_1.json"
)  # the form in which memories were stored before they had a version


def promise() -> ResizePromise:
    shares = (NodeAllocation("n0", (0, 1), 1), NodeAllocation("n1", (2,), 0))
    return ResizePromise(GangAllocation(Mode.PARAMETER_SERVER, 3, 1, shares), ("b", "c"))


def full() -> RoundMemory:
    """A memory in which every field has a value."""
    return RoundMemory(
        policy="las",
        policy_values={"served": {"a": 3.0}},
        prediction_intervals={"open": {"a": [1.0]}},
        start_intervals={"open": {"c": [1.0]}},
        arrival_effects={"seen": [1.0]},
        job_lengths={"open": {"b": ["f", 2.0]}},
        resizing={"a": promise()},
        pending_since_s={"c": 4.0},
        decayed_usage={"at_s": 5.0, "by": [["org", "team", 0.5, 0.25, 0.0]]},
        fetching_s={"d": 6.0},
    )


def test_a_memory_survives_json() -> None:
    memory = full()
    assert all(getattr(memory, field.name) for field in fields(memory))
    assert RoundMemory.from_json(json.loads(json.dumps(memory.to_json()))) == memory


def test_a_memory_says_its_version() -> None:
    assert RoundMemory().to_json()["version"] == RoundMemory.VERSION


def test_nothing_is_the_memory_of_a_first_round() -> None:
    assert RoundMemory.from_json({}) == RoundMemory()


def test_a_recorded_memory_of_the_version_before_is_read() -> None:
    memory = RoundMemory.from_json(json.loads(RECORDED.read_text()))
    assert memory.policy == "mlhub"
    assert memory.policy_values["pairing"]["at_s"] == 600.0
    assert memory.prediction_intervals["running"]["n_jobs"] == 3
    assert memory.arrival_effects
    assert memory.job_lengths["cut_short"]
    assert memory.resizing == {"job-7": ResizePromise(promise().allocation, ("job-2", "job-9"))}
    assert memory.pending_since_s == {"job-3": 540.0}
    assert memory.decayed_usage["at_s"] == 600.0
    assert memory.known_jobs() == {"job-1", "job-2", "job-5"}


def test_a_memory_of_version_2_has_another_name_for_jobs_that_are_pending() -> None:
    value = {**full().to_json(), "version": 2}
    value["claims_since_s"] = value.pop("pending_since_s")
    del value["fetching_s"]
    assert RoundMemory.from_json(value) == replace(full(), fetching_s={})


def test_a_memory_of_version_3_does_not_know_who_fetches() -> None:
    value = {**full().to_json(), "version": 3}
    del value["fetching_s"]
    assert RoundMemory.from_json(value) == replace(full(), fetching_s={})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"version": 5}, "version 5"),
        ({"version": "2"}, "version '2'"),
        ({"version": 2, "bands": {}}, "'bands'"),
        ({"version": 3, "claims_since_s": {}}, "'claims_since_s'"),
        ({"version": 3, "fetching_s": {}}, "'fetching_s'"),
        ({"luck": 7}, "'luck'"),
        ({"resizing": {"a": {"mode": "all_reduce"}}}, "not a memory's record"),
        ({"resizing": [1]}, "not a memory's record"),
    ],
)
def test_a_record_that_is_no_memory_is_refused_with_what_is_wrong(value: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RoundMemory.from_json(value)


def test_another_policy_gets_no_values_but_keeps_promises_usage_and_who_fetches() -> None:
    memory = full()
    assert memory.values_for("las") == {"served": {"a": 3.0}}
    assert memory.values_for("fifo") == {}
    kept = memory.for_other_policy()
    assert kept == RoundMemory(
        resizing=memory.resizing, decayed_usage=memory.decayed_usage, fetching_s=memory.fetching_s
    )


@pytest.mark.parametrize("policy", ["mlhub", "las", "pollux"])
def test_rounds_decide_the_same_with_a_memory_that_was_stored_between_them(policy: str) -> None:
    cluster, memory = BusyCluster(n_gpus=32, n_jobs=14), RoundMemory()
    for _ in range(4):
        snapshot = cluster.snapshot()
        plan = decide(snapshot, policy=policy_named(policy, {}), memory=memory)
        stored = RoundMemory.from_json(json.loads(json.dumps(memory.to_json())))
        assert decide(snapshot, policy=policy_named(policy, {}), memory=stored) == plan
        memory = plan.memory
        cluster.carry_out(plan)
        cluster.advance(60.0)
