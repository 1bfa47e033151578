# SPDX-License-Identifier: Apache-2.0
"""The cache that decide() may be given: it changes no plan, and it stays within its limits."""

from __future__ import annotations

import gc
from dataclasses import replace

import pytest

from scheduler import POLICIES, JobSnapshot, NodeSnapshot, RackSnapshot, RoundCache, RoundMemory, decide, policy_named
from scheduler.models.bounded_tables import BoundedTable, RecentTable
from scheduler.models.speed import step_time_cache
from scheduler.models.speed.step_time_cache import KEPT_ROUNDS, StepTimeCache
from scheduler.simulator.busy_cluster.cluster import BusyCluster

NODES = tuple(NodeSnapshot(f"n{i}", "r0", "v100", 4, 64.0, 1 << 38, 10e9) for i in range(2))
RACKS = (RackSnapshot("r0", 1e12),)
JOB = JobSnapshot("a", "alice", 0.0, 1000, 256, example_s=0.004, parameters_bytes=1 << 20)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_cache_of_earlier_rounds_changes_no_plan(policy: str) -> None:
    cluster, memory, cache = BusyCluster(n_gpus=16, n_jobs=12, seed=1), RoundMemory(), RoundCache()
    for _ in range(5):
        snapshot = cluster.snapshot()
        plan = decide(snapshot, policy=policy_named(policy, {}), memory=memory, cache=cache)
        assert decide(snapshot, policy=policy_named(policy, {}), memory=memory) == plan
        memory = plan.memory
        cluster.carry_out(plan)
        cluster.advance(600.0)


@pytest.mark.parametrize("policy", ["mlhub", "srtf"])
def test_what_other_families_show_of_gpu_types_reaches_jobs_of_earlier_rounds(policy: str) -> None:
    """Their times were kept from before: starts and ends were predicted that no fresh round predicts."""
    cluster, memory, cache = BusyCluster(n_gpus=48, n_jobs=32, seed=2), RoundMemory(), RoundCache()
    for _ in range(3):
        snapshot = cluster.snapshot()
        plan = decide(snapshot, policy=policy_named(policy, {}), memory=memory, cache=cache)
        assert decide(snapshot, policy=policy_named(policy, {}), memory=memory) == plan
        memory = plan.memory
        cluster.carry_out(plan)
        cluster.advance(60.0)


def test_jobs_with_equal_measurements_and_profile_share_a_model() -> None:
    cluster = StepTimeCache().cluster(NODES, RACKS)
    assert cluster.tables(JOB) is cluster.tables(replace(JOB, id="b", family="another"))
    assert cluster.tables(JOB) is not cluster.tables(replace(JOB, id="c", example_s=0.008))


def test_the_same_cluster_keeps_its_tables_and_another_one_has_its_own() -> None:
    cache = StepTimeCache()
    assert cache.cluster(NODES, RACKS) is cache.cluster(tuple(replace(node) for node in NODES), RACKS)
    closed = (replace(NODES[0], is_schedulable=False), NODES[1])
    assert cache.cluster(closed, RACKS) is not cache.cluster(NODES, RACKS)


def test_a_model_that_was_evicted_is_fitted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_time_cache, "MAX_MODELS", 2)
    cluster = StepTimeCache().cluster(NODES, RACKS)
    first = cluster.tables(JOB)
    for i in range(2):
        cluster.tables(replace(JOB, id=f"b{i}", example_s=0.01 + i))
    again = cluster.tables(JOB)
    assert again is not first
    assert again.model.is_measured_on_several is first.model.is_measured_on_several


def test_a_full_table_is_emptied_before_the_next_entry() -> None:
    table = BoundedTable[int, str](2)
    assert [table.store(i, str(i)) for i in (1, 2, 2)] == ["1", "2", "2"]
    assert dict(table) == {1: "1", 2: "2"}
    table.store(3, "3")
    assert dict(table) == {3: "3"}


def test_the_least_recently_used_entry_makes_room() -> None:
    table = RecentTable[int, str](2)
    table.store(1, "1")
    table.store(2, "2")
    assert table.find(1) == "1"
    table.store(3, "3")
    assert list(table) == [1, 3]
    with pytest.raises(ValueError, match="max_entries is 0"):
        RecentTable[int, str](0)


@pytest.mark.slow
def test_what_a_round_drops_is_freed_without_the_garbage_collector() -> None:
    """Cycles around a round's objects made every fortieth round several times as long as the others."""
    busy, memory, cache = BusyCluster(n_gpus=64, n_jobs=200, seed=1), RoundMemory(), RoundCache()
    gc.collect()
    gc.disable()
    try:
        for _ in range(2 * KEPT_ROUNDS):
            plan = decide(busy.snapshot(), policy=policy_named("mlhub", {}), memory=memory, cache=cache)
            memory = plan.memory
            busy.carry_out(plan)
            busy.advance(60.0)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        # threads that earlier tests left in this process have cycles of their own
        assert [thing for thing in gc.garbage if type(thing).__module__.startswith("scheduler")] == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
