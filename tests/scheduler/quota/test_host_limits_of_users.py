# SPDX-License-Identifier: Apache-2.0
"""Limits of the CPUs and memory that pods of one user request within a tenant: in rounds, forecasts and advice."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import Launch, Mode, Preempt, Reason, Wait
from scheduler.api.records import snapshot_from_json, snapshot_to_json
from scheduler.api.user_limits import UserLimit
from scheduler.counterfactuals.blockers import BlockerKind, blockers_of
from scheduler.simulator.traces.tenants import tenants_from_list
from scheduler.simulator.traces.trace import BadInput
from tests.scheduler.cases import GIB, Case, cluster, job
from tests.scheduler.invariants import rounds
from tests.scheduler.quota.test_host_limits import SERVERS
from tests.scheduler.test_properties import policies, quick


def limited(**limits: int) -> Case:
    """Ann's jobs in alice, with p and q below it, are limited."""
    ann = UserLimit("ann", "Ann", **limits)
    return (
        cluster(nodes=2, gpus=4)
        .quota("alice", user_limits=(ann,))
        .quota("p", parent="alice")
        .quota("q", parent="alice")
    )


def test_a_job_above_its_user_s_cpus_waits_and_says_whose_it_is_and_another_user_s_starts() -> None:
    case = limited(max_cpus=6).running(job("a", gpus=2, tenant="p", user="ann", cpus_per_worker=2.0))
    case = case.waiting(
        job("b", gpus=1, tenant="q", user="ann", cpus_per_worker=2.5),
        job("c", gpus=1, tenant="q", user="ben", cpus_per_worker=8.0),
    )
    plan = case.decide("fifo")
    assert isinstance(plan.of("c"), Launch)
    waits = plan.of("b")
    assert isinstance(waits, Wait)
    assert waits.explanations[0].sentence == (
        "Limit of a user: pods of Ann request 4 of the 6 CPUs that one person may have in alice; 2.5 more would exceed "
        "that. An admin of alice can raise it."
    )


def test_a_user_s_memory_that_a_job_can_never_meet_is_named_at_once() -> None:
    waiting = job("a", gpus=2, tenant="p", user="ann", memory_per_worker_bytes=2 * GIB)
    why = limited(max_memory_bytes=3 * GIB).waiting(waiting).decide("fifo").of("a").explanations[0]
    assert why.reason is Reason.LARGER_THAN_USER_QUOTA_OF_MEMORY
    assert (why.facts["user"], why.facts["tenant"], why.facts["need"], why.facts["have"]) == ("Ann", "alice", 4.0, 3.0)


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"max_cpus": 2}, "Over the limit of a user: Ann has 4 CPUs in alice and may have 2."),
        ({"max_memory_bytes": GIB}, "Over the limit of a user: Ann has 2 GiB of memory in alice and may have 1."),
    ],
    ids=["cpus", "memory"],
)
def test_what_is_above_a_user_s_lowered_limit_leaves(limits: dict[str, int], sentence: str) -> None:
    own = {"gpus": 1, "tenant": "p", "cpus_per_worker": 2.0, "memory_per_worker_bytes": GIB}
    case = limited(**limits).running(*(job(name, user="ann", **own) for name in "ab"), job("c", user="ben", **own))
    left = [decision for decision in case.decide("fifo").decisions if isinstance(decision, Preempt)]
    assert [one.explanations[0].sentence for one in left] == [sentence]


@pytest.mark.parametrize(("max_cpus", "most"), [(6, 2), (5, 1)])
def test_parameter_servers_count_for_their_user(max_cpus: int, most: int) -> None:
    waiting = replace(job("a", gpus=4, tenant="p", user="ann"), **SERVERS)
    decision = limited(max_cpus=max_cpus).waiting(waiting).decide("fifo").of("a")
    assert isinstance(decision, Launch)
    assert decision.allocation.mode is Mode.PARAMETER_SERVER
    assert 1 <= decision.allocation.n_servers <= most


def test_a_start_is_forecast_for_when_the_user_s_limit_leaves_room() -> None:
    case = limited(max_cpus=2).running(job("a", gpus=2, tenant="p", user="ann", length_s=500.0))
    plan = case.waiting(job("b", gpus=2, tenant="q", user="ann")).decide("fifo")
    assert plan.of("b").prediction.start_p50_s == pytest.approx(1000.0 + 500.0)


def test_what_a_user_lacks_is_named_among_the_blockers() -> None:
    case = limited(max_cpus=3, max_memory_bytes=64 * GIB).running(job("a", gpus=2, tenant="p", user="ann"))
    case = case.waiting(job("b", gpus=2, tenant="q", user="ann", memory_per_worker_bytes=GIB))
    waiting = next(one for one in case.jobs if one.id == "b")
    found = {one.kind: one for one in blockers_of(case.snapshot, waiting, need=2, memory=case.memory)}
    cpus, memory = found[BlockerKind.USER_CPUS], found[BlockerKind.USER_MEMORY]
    assert (cpus.need, cpus.have, cpus.total, cpus.tenant, cpus.user) == (2, 1, 3, "alice", "Ann")
    assert cpus.is_blocking
    assert not memory.is_blocking
    assert BlockerKind.QUOTA_CPUS not in found


def test_a_cluster_file_and_a_record_have_them() -> None:
    rows = [{"name": "vision", "user_limits": [{"user": "ann", "max_cpus": 16, "max_memory_bytes": 64 * GIB}]}]
    (tenant,) = tenants_from_list(rows, name="cluster.yaml", n_gpus=4)
    (limit,) = tenant.user_limits
    assert (limit.max_cpus, limit.max_memory_bytes) == (16, 64 * GIB)
    rows[0]["user_limits"] = [{"user": "ann", "max_cpus": -1}]
    with pytest.raises(BadInput, match="the limit of user 'ann' in 'vision' has max_cpus -1"):
        tenants_from_list(rows, name="cluster.yaml", n_gpus=4)
    snapshot = limited(max_cpus=2, max_memory_bytes=GIB).snapshot
    assert snapshot_from_json(json.loads(json.dumps(snapshot_to_json(snapshot)))) == snapshot
    with pytest.raises(ValueError, match="limit of user 'ann' in tenant 'alice' has max_memory_bytes -1"):
        limited(max_memory_bytes=-1).decide("fifo")


@pytest.mark.slow
@quick
@given(data=st.data(), policy=policies, cpus=st.integers(0, 6), gib=st.integers(0, 4))
def test_under_every_policy_pods_of_no_user_request_more_than_the_limit(
    data: st.DataObject, policy: str, cpus: int, gib: int
) -> None:
    case = limited(max_cpus=cpus, max_memory_bytes=gib * GIB)
    for number, size in enumerate(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=6))):
        user, is_elastic = data.draw(st.sampled_from(["ann", "ben"])), data.draw(st.booleans())
        tenant, each = data.draw(st.sampled_from(["alice", "p", "q"])), data.draw(st.sampled_from([0.5, 1.0, 2.0]))
        own = {"tenant": tenant, "user": user, "cpus_per_worker": each, "memory_per_worker_bytes": GIB}
        case = case.waiting(job(f"j{number}", gpus=None if is_elastic else size, **own))
    for at, _ in rounds(case, policy, n=4):
        held = [one for one in at.jobs if one.user == "ann" and one.held is not None]
        n_workers = {one.id: one.held.n_workers for one in held if one.held is not None}
        assert sum(n_workers[one.id] * one.cpus_per_worker for one in held) <= cpus + 1e-6
        assert sum(n_workers[one.id] * one.memory_per_worker_bytes for one in held) <= gib * GIB
