# SPDX-License-Identifier: Apache-2.0
"""What holds for every policy and every snapshot: capacity, quota, whole gangs, an answer for all, no thrashing."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler import (
    POLICIES,
    JobSnapshot,
    Keep,
    Launch,
    Mode,
    NodeSnapshot,
    Phase,
    Preempt,
    Profile,
    RackSnapshot,
    Resize,
    RoundMemory,
    TenantSnapshot,
    Wait,
    decide,
    plan_from_json,
    plan_to_json,
    policy_named,
    snapshot_from_json,
    snapshot_to_json,
)
from scheduler.api.snapshot import Reclaim
from scheduler.api.topology import InputSet
from tests.scheduler.cases import GIB, Case
from tests.scheduler.invariants import exceeded_limits, held_gpus, restless, rounds

EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES", "40"))  # histories a property; make bench-properties plays many more
# the same histories at every `make test`, so that it fails for what was changed; new ones are looked for by the bench
quick = settings(
    max_examples=EXAMPLES,
    derandomize="PROPERTY_EXAMPLES" not in os.environ,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
policies = st.sampled_from(os.environ.get("PROPERTY_POLICIES", "").split() or sorted(POLICIES))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A small cluster with a history: some jobs wait; after one or two rounds some run, start, stop."""
    kinds = draw(st.sampled_from([["v100"], ["v100", "k80"]]))
    nodes = tuple(
        NodeSnapshot(
            f"n{i}",
            f"r{draw(st.integers(0, 1))}",
            draw(st.sampled_from(kinds)),
            n_gpus=draw(st.sampled_from([1, 2, 4, 8])),
            cpus=draw(st.sampled_from([2.0, 8.0, 64.0])),
            memory_bytes=draw(st.sampled_from([4, 64])) * GIB,
            nic_bps=draw(st.sampled_from([1e9, 10e9])),
            is_schedulable=draw(st.integers(0, 9)) > 0,
            max_jobs_per_gpu=draw(st.sampled_from([1, 1, 2, 4])),
            gpu_memory_bytes=draw(st.sampled_from([0, 16])) * GIB,
        )
        for i in range(draw(st.integers(1, 4)))
    )
    is_fair = draw(st.integers(0, 3)) == 0
    tenants: tuple[TenantSnapshot, ...] = (
        TenantSnapshot(
            "root",
            max_gpus=draw(st.sampled_from([None, 6])),
            shares_fairly=is_fair,
            half_life_s=draw(st.sampled_from([0.0, 60.0])) if is_fair else 0.0,
        ),
        TenantSnapshot("alice", parent="root", max_gpus=draw(st.sampled_from([None, 0, 2, 4]))),
        TenantSnapshot("bob", parent="root", max_running_jobs=draw(st.sampled_from([None, 0, 1, 2]))),
        TenantSnapshot("charlie", parent="root" if is_fair else None, weight=draw(st.sampled_from([1.0, 2.0]))),
    )
    if draw(st.booleans()):
        tenants = tuple(draw(guaranteed(tenant)) for tenant in tenants)
    jobs = tuple(draw(any_job(f"j{i}")) for i in range(draw(st.integers(0, 7))))
    racks = (RackSnapshot("r0", 10e9), RackSnapshot("r1", 10e9))
    known = draw(st.sampled_from([(), INPUTS[:1], INPUTS]))  # of the inputs of others nothing is known
    sets = tuple(draw(held_inputs(key, nodes)) for key in known)
    return Case(nodes, racks, jobs, tenants, input_sets=sets, cache_bytes=draw(st.sampled_from([15, 100])) * 10**9)


INPUTS = ("d0", "d1", "d2")


@st.composite
def held_inputs(draw: st.DrawFn, key: str, nodes: tuple[NodeSnapshot, ...]) -> InputSet:
    """What jobs read, of which some nodes hold nothing, a half or all. It takes 1 to 300 s to fetch."""
    size_bytes = draw(st.sampled_from([10**8, 10**10, 3 * 10**10]))
    parts = [(node.name, draw(st.sampled_from([0, 0, size_bytes // 2, size_bytes]))) for node in nodes]
    return InputSet(key, size_bytes, tuple((name, n) for name, n in parts if n))


LOADS = Profile(cpu_io_s=0.8, gpu_s=0.1, network_s=0.1, gpu_memory_bytes=4 * GIB)
UNMEASURED = Profile(cpu_io_s=0.8, gpu_s=0.1, network_s=0.1)
COMPUTES = Profile(cpu_io_s=0.0, gpu_s=0.9, network_s=0.1, gpu_memory_bytes=9 * GIB)


@st.composite
def guaranteed(draw: st.DrawFn, tenant: TenantSnapshot) -> TenantSnapshot:
    """The tenant with a guarantee, or none, and rules of borrowing and lending."""
    return replace(
        tenant,
        guarantee=draw(st.sampled_from([None, 0, 1, 2, 4])),
        borrow_limit=draw(st.sampled_from([None, None, 0, 2])),
        lend_limit=draw(st.sampled_from([None, None, 0, 1])),
        reclaim=draw(st.sampled_from(list(Reclaim))),
    )


@st.composite
def any_job(draw: st.DrawFn, id: str) -> JobSnapshot:
    least = draw(st.sampled_from([1, 1, 2, 3, 4]))
    return JobSnapshot(
        id=id,
        tenant=draw(st.sampled_from(["alice", "bob", "charlie"])),
        submitted_at_s=float(draw(st.integers(0, 5))),
        steps_total=draw(st.sampled_from([10, 1000, 100_000])),
        batch_size=draw(st.sampled_from([8, 64])),
        priority=draw(st.sampled_from([0, 0, 0, 1])),
        mode=draw(st.sampled_from([None, None, Mode.ALL_REDUCE, Mode.PARAMETER_SERVER])),
        min_workers=least,
        max_workers=draw(st.sampled_from([least, 2 * least, 64])),
        cpus_per_worker=draw(st.sampled_from([0.5, 1.0, 2.0])),
        memory_per_worker_bytes=draw(st.sampled_from([0, GIB])),
        parameters_bytes=draw(st.sampled_from([0, 10_000, 400_000_000])),
        example_s=draw(st.sampled_from([None, 1e-5, 0.01])),
        start_s=draw(st.sampled_from([0.0, 15.0])),
        hold=draw(st.sampled_from([None] * 8 + ["preflight", "backoff"])),
        gpu_types=draw(st.sampled_from([(), (), (), ("v100",)])),
        requested_workers=draw(st.sampled_from([None, None, None, least, 2 * least, 100])),
        profile=draw(st.sampled_from([None, LOADS, LOADS, UNMEASURED, COMPUTES])),
        inputs=draw(st.sampled_from(["", "", *INPUTS])),
    )


@quick
@given(cases(), policies)
def test_no_gpu_is_given_to_more_jobs_than_may_share_it_and_no_node_is_overloaded(case: Case, policy: str) -> None:
    for before, plan in rounds(case, policy, 4):
        nodes = {node.name: node for node in before.nodes}
        holders: dict[tuple[str, int], list[str]] = {}
        for job_id, held in held_gpus(before.snapshot, plan).items():
            for slot in held:
                holders.setdefault(slot, []).append(job_id)
        profiles = {job.id: job.profile for job in before.jobs}
        for (name, _), together in holders.items():
            assert len(together) <= nodes[name].max_jobs_per_gpu
            if len(together) > 1:
                there = [profile for id in together if (profile := profiles[id]) is not None]
                assert len(there) == len(together)
                if nodes[name].gpu_memory_bytes:
                    sizes = [profile.gpu_memory_bytes for profile in there if profile.gpu_memory_bytes is not None]
                    assert len(sizes) == len(together)
                    assert sum(sizes) <= nodes[name].gpu_memory_bytes
        assert all(gpu < nodes[name].n_gpus for name, gpu in holders)
        cpus, memory = dict.fromkeys(nodes, 0.0), dict.fromkeys(nodes, 0)
        for job in before.jobs:
            decision = plan.of(job.id)
            kept = job.allocation if job.phase is not Phase.WAITING else None
            final = decision.allocation if isinstance(decision, Launch | Resize) else kept
            for share in final.shares if final else ():
                cpus[share.node] += len(share.gpus) * job.cpus_per_worker + share.n_servers * job.cpus_per_server
                memory[share.node] += len(share.gpus) * job.memory_per_worker_bytes
                memory[share.node] += share.n_servers * job.memory_per_server_bytes
        assert all(cpus[name] <= nodes[name].cpus + 1e-6 for name in nodes)
        assert all(memory[name] <= nodes[name].memory_bytes for name in nodes)


@quick
@given(cases(), policies)
def test_no_tenant_holds_more_than_its_quota_nor_its_parents(case: Case, policy: str) -> None:
    assert [exceeded_limits(before, plan) for before, plan in rounds(case, policy, 4)] == [[]] * 4


@quick
@given(cases(), policies)
def test_a_gang_is_placed_whole_within_its_limits_on_one_type_of_gpu(case: Case, policy: str) -> None:
    for before, plan in rounds(case, policy, 4):
        nodes = {node.name: node for node in before.nodes}
        for job in before.jobs:
            decision = plan.of(job.id)
            if not isinstance(decision, Launch | Resize):
                continue
            gang = decision.allocation
            assert gang.n_workers == sum(len(share.gpus) for share in gang.shares)
            assert gang.n_servers == sum(share.n_servers for share in gang.shares)
            assert job.min_workers <= gang.n_workers <= job.max_workers
            assert (gang.n_servers > 0) == (gang.mode is Mode.PARAMETER_SERVER)
            assert job.mode in (None, gang.mode)
            types = {nodes[share.node].gpu_type for share in gang.shares if share.gpus}
            assert len(types) == 1
            assert not job.gpu_types or types <= set(job.gpu_types)
            assert all(nodes[share.node].is_schedulable for share in gang.shares)


@quick
@given(cases(), policies)
def test_every_job_is_decided_in_order_and_explained_in_a_sentence(case: Case, policy: str) -> None:
    for before, plan in rounds(case, policy, 3):
        assert [decision.job for decision in plan.decisions] == [job.id for job in before.jobs]
        for job, decision in zip(before.jobs, plan.decisions, strict=True):
            assert decision.explanations
            assert all("{" not in explanation.sentence for explanation in decision.explanations)
            expected = (Launch, Wait) if job.phase is Phase.WAITING else (Resize, Preempt, Keep)
            assert isinstance(decision, expected)


@quick
@given(cases(), policies)
def test_numbers_about_free_gpus_and_quota_are_true(case: Case, policy: str) -> None:
    for before, plan in rounds(case, policy, 3):
        in_use = {slot for slots in held_gpus(before.snapshot, plan).values() for slot in slots}
        for decision in plan.decisions:
            for explanation in decision.explanations:
                facts = explanation.facts
                if explanation.reason in ("no_free_gpus", "too_few_free_gpus"):
                    open_slots = {(n.name, g) for n in before.nodes if n.is_schedulable for g in range(n.n_gpus)}
                    assert facts["free"] == len(open_slots - in_use) < facts["need"]
                    assert facts["total"] == len(open_slots)
                if explanation.reason == "quota_gpus":
                    assert facts["used"] + facts["need"] > facts["quota"]
                if explanation.reason == "quota_running_jobs":
                    assert facts["used"] >= facts["quota"]


@quick
@given(cases(), policies)
def test_the_same_snapshot_gives_the_same_plan(case: Case, policy: str) -> None:
    for before, plan in rounds(case, policy, 3):
        assert before.decide(policy) == plan


@quick
@given(cases(), policies)
def test_records_round_trip_through_json(case: Case, policy: str) -> None:
    for before, plan in rounds(case, policy, 3):
        assert snapshot_from_json(json.loads(json.dumps(snapshot_to_json(before.snapshot)))) == before.snapshot
        assert plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan


@quick
@given(cases(), policies)
def test_a_replayed_record_gives_the_same_plan(case: Case, policy: str) -> None:
    for before, plan in rounds(case, policy, 3):
        snapshot = snapshot_from_json(json.loads(json.dumps(snapshot_to_json(before.snapshot))))
        memory = RoundMemory.from_json(json.loads(json.dumps(before.memory.to_json())))
        assert decide(snapshot, policy=policy_named(policy, {}), memory=memory) == plan


@quick
@given(cases(), policies)
def test_a_cluster_in_which_nothing_happens_comes_to_rest(case: Case, policy: str) -> None:
    assert restless(case, policy) == []


@quick
@given(cases(), policies, st.integers(2, 4), st.randoms(use_true_random=False))
def test_permuting_equal_jobs_changes_nothing_but_names(case: Case, policy: str, n: int, random) -> None:
    twin = replace(case.jobs[0], hold=None) if case.jobs else JobSnapshot("j0", "charlie", 0.0, 100, 8)
    twins = [replace(twin, id=f"t{i}") for i in range(n)]
    plan = replace(case, jobs=(*case.jobs, *twins)).decide(policy)
    random.shuffle(twins)
    shuffled = replace(case, jobs=(*case.jobs, *twins)).decide(policy)
    assert {d.job: d for d in plan.decisions} == {d.job: d for d in shuffled.decisions}


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_an_empty_cluster_is_an_empty_plan(policy: str) -> None:
    assert Case((), ()).decide(policy).decisions == ()


def test_a_gang_is_not_restarted_on_the_very_gpus_that_it_holds() -> None:
    """Found by the histories: servers that have to be spread were asked for anew every third round."""
    usual = NodeSnapshot("n0", "r0", "v100", n_gpus=1, cpus=2.0, memory_bytes=4 * GIB, nic_bps=1e9)
    nodes = (
        usual,
        replace(usual, name="n1", n_gpus=4, max_jobs_per_gpu=2),
        replace(usual, name="n2", is_schedulable=False),
        replace(usual, name="n3", gpu_type="k80", nic_bps=10e9, is_schedulable=False),
    )
    alone = JobSnapshot("j0", "bob", 0.0, 10, 8, cpus_per_worker=0.5, start_s=0.0)
    gang = replace(
        alone,
        id="j2",
        tenant="alice",
        mode=Mode.PARAMETER_SERVER,
        min_workers=2,
        max_workers=4,
        parameters_bytes=400_000_000,
    )
    jobs = (alone, replace(alone, id="j1"), gang)
    root = TenantSnapshot("root")
    tenants = (
        root,
        replace(root, id="alice", parent="root"),
        replace(root, id="bob", parent="root", max_running_jobs=1),
    )
    for before, plan in rounds(
        Case(nodes, (RackSnapshot("r0", 10e9), RackSnapshot("r1", 10e9)), jobs, tenants), "mlhub", 24
    ):
        held = {job.id: job.allocation for job in before.jobs}
        assert not [d for d in plan.decisions if isinstance(d, Resize) and d.allocation == held[d.job]]
