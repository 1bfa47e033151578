# SPDX-License-Identifier: Apache-2.0
"""Waiting jobs that a round found able to run are not looked at again, until something that was asked changes; nor are
those that only wait.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scheduler import (
    ClusterSnapshot,
    JobSnapshot,
    NodeSnapshot,
    Plan,
    RackSnapshot,
    Reason,
    RoundCache,
    RoundMemory,
    SpeedObservation,
    TenantSnapshot,
    decide,
    policy_named,
)
from scheduler.api.snapshot import GangAllocation, Mode, NodeAllocation, Phase
from scheduler.round.standing_jobs import NotableJobs

NODES = tuple(NodeSnapshot(f"n{i}", "r0", "v100", 4, 64.0, 1 << 38, 10e9) for i in range(2))
JOBS = tuple(JobSnapshot(f"j{i}", "alice", float(i), 1000, 256, example_s=0.004, min_workers=4) for i in range(6))
SNAPSHOT = ClusterSnapshot(0.0, NODES, (RackSnapshot("r0", 1e12),), JOBS, (TenantSnapshot("alice"),))

PLAIN = JobSnapshot("a", "alice", 0.0, 1000, 256)
HELD = GangAllocation(Mode.ALL_REDUCE, 1, 0, (NodeAllocation("n0", (0,)),))
SEEN = SpeedObservation(Mode.ALL_REDUCE, 1, 0, 1, 1, "v100", 256, 0.1, 0.1, 0.0, 200, 0.0)
MORE: dict[str, dict[str, Any]] = {
    "it holds GPUs": {"phase": Phase.RUNNING, "allocation": HELD},
    "it was measured": {"observations": (SEEN,)},
    "its length is not known": {"length_is_known": False},
    "its batch may change": {"max_batch_size": 512},
    "it is a trial": {"study": "s"},
}


def decided(snapshot: ClusterSnapshot, cache: RoundCache) -> Plan:
    return decide(snapshot, policy=policy_named("srtf", {}), memory=RoundMemory(), cache=cache)


def reasons(plan: Plan) -> set[Reason]:
    return {decision.explanations[0].reason for decision in plan.decisions}


def after_a_round(snapshot: ClusterSnapshot) -> Plan:
    """The plan of a cache that saw SNAPSHOT before; a round without any cache decides the same."""
    cache = RoundCache()
    before = decided(SNAPSHOT, cache)
    plan = decided(snapshot, cache)
    assert plan == decided(snapshot, RoundCache())
    assert decided(SNAPSHOT, cache) == before
    return plan


def test_a_quota_that_was_cut_counts_for_jobs_of_the_round_before() -> None:
    cut = replace(SNAPSHOT, tenants=(TenantSnapshot("alice", max_gpus=3),))
    assert reasons(after_a_round(cut)) == {Reason.LARGER_THAN_QUOTA}


def test_nodes_that_were_closed_count_for_jobs_of_the_round_before() -> None:
    closed = replace(SNAPSHOT, nodes=tuple(replace(node, is_schedulable=False) for node in NODES))
    assert reasons(after_a_round(closed)) == {Reason.NODES_CORDONED}


def test_a_job_that_was_put_on_hold_waits() -> None:
    held = replace(SNAPSHOT, jobs=(replace(JOBS[0], hold=Reason.BACKOFF.value), *JOBS[1:]))
    assert after_a_round(held).of("j0").explanations[0].reason is Reason.BACKOFF


def test_a_number_that_became_bad_is_refused() -> None:
    cache = RoundCache()
    decided(SNAPSHOT, cache)
    with pytest.raises(ValueError, match=r"job 'j0' has steps_done nan"):
        decided(replace(SNAPSHOT, jobs=(replace(JOBS[0], steps_done=float("nan")), *JOBS[1:])), cache)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"racks": (RackSnapshot("r0", 0.0),)}, "rack 'r0' has uplink_bps"),
        ({"tenants": (TenantSnapshot("alice", weight=-1.0),)}, "tenant 'alice' has weight"),
        ({"nodes": (replace(NODES[0], cpus=-1.0),)}, "node 'n0' has cpus"),
    ],
)
def test_a_cluster_that_became_bad_is_refused_in_every_round(changes: dict[str, Any], message: str) -> None:
    cache = RoundCache()
    decided(SNAPSHOT, cache)
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            decided(replace(SNAPSHOT, **changes), cache)
    assert decided(SNAPSHOT, cache) == decided(SNAPSHOT, RoundCache())


def test_a_quota_that_was_cut_counts_for_new_jobs_with_the_needs_of_earlier_ones() -> None:
    new = tuple(replace(job, id=f"new-{job.id}") for job in JOBS)
    cut = replace(SNAPSHOT, jobs=new, tenants=(TenantSnapshot("alice", max_gpus=3),))
    assert reasons(after_a_round(cut)) == {Reason.LARGER_THAN_QUOTA}
    assert Reason.LARGER_THAN_QUOTA not in reasons(after_a_round(replace(SNAPSHOT, jobs=new)))


def test_jobs_that_left_are_forgotten() -> None:
    cache = RoundCache()
    decided(SNAPSHOT, cache)
    standing = cache.empty_cluster(NODES).standing
    assert set(standing.by_id) == {job.id for job in JOBS}
    decided(replace(SNAPSHOT, jobs=JOBS[:1]), cache)
    assert set(standing.by_id) == {"j0"}


@pytest.mark.parametrize("more", MORE)
def test_a_job_that_does_more_than_wait_is_notable_in_every_round(more: str) -> None:
    known, job = NotableJobs(), replace(PLAIN, id="b", **MORE[more])
    for _ in range(2):
        assert known.among((PLAIN, job)) == [job]


@pytest.mark.parametrize("more", MORE)
def test_a_plain_job_becomes_notable_as_soon_as_it_does_more(more: str) -> None:
    known = NotableJobs()
    assert known.among((PLAIN,)) == []
    job = replace(PLAIN, **MORE[more])
    assert known.among((job,)) == [job]


def test_plain_jobs_that_are_gone_are_forgotten() -> None:
    known = NotableJobs()
    for number in range(50):
        known.among([replace(PLAIN, id=f"j{number}-{i}") for i in range(4)])
    assert known.n_known <= 2 * 4
