# SPDX-License-Identifier: Apache-2.0
"""What a waiting job lacks, who is ahead of it and why, and which actions help: confirmed by decide() and rollouts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.advice import cases_of
from scheduler import Launch, Plan, Preempt, Wait, decide, policy_named
from scheduler.api.snapshot import Phase, Reclaim, TenantSnapshot
from scheduler.api.user_limits import UserLimit
from scheduler.counterfactuals import ActionKind, BlockerKind, Counsel, advise, applied, blockers_of
from tests.scheduler.cases import GIB, Case, cluster, job
from tests.scheduler.invariants import rounds
from tests.scheduler.test_properties import cases, policies, quick


def counsel(case: Case, job_id: str, policy: str = "fifo") -> Counsel:
    return advise(case.snapshot, job_id, policy=policy_named(policy, {}), memory=case.memory)


def by_kind(found: Counsel) -> dict[str, dict[str, object]]:
    return {advice.action.kind.value: dict(advice.action.changes) for advice in found.advice}


LONG_S = 10_000.0


def test_free_gpus_are_need_against_have_and_the_largest_free_type_counts() -> None:
    case = cluster(nodes=2, gpus=4).with_node("n1", gpu_type="t4").running(job("a", gpus=3, length_s=LONG_S))
    (gpus, *_) = counsel(case.waiting(job("b", gpus=4, gpu_types=("v100",))), "b").blockers
    assert (gpus.kind, gpus.need, gpus.have, gpus.total) == (BlockerKind.FREE_GPUS, 4, 1, 4)
    assert (gpus.gpu_types, gpus.is_blocking) == (("v100",), True)


def test_a_gang_that_finds_gpus_and_no_room_lacks_a_placement() -> None:
    case = cluster(nodes=2, gpus=4, memory_bytes=8 * GIB).running(job("a", gpus=2, memory_per_worker_bytes=3 * GIB))
    waiting = job("b", gpus=4, memory_per_worker_bytes=3 * GIB)
    blocker = counsel(case.waiting(waiting), "b").blockers[0]
    assert (blocker.kind, blocker.need, blocker.have, blocker.total) == (BlockerKind.PLACEMENT, 4, 2, 4)


def test_every_level_of_quota_is_shown_with_what_is_left_of_it() -> None:
    case = cluster(gpus=8).quota("org", max_gpus=6).quota("alice", parent="org", max_running_jobs=1, max_gpus=8)
    found = counsel(case.running(job("a", gpus=4, length_s=LONG_S)).waiting(job("b", gpus=4)), "b").blockers
    shown = {(one.kind.value, one.tenant): (one.need, one.have, one.total, one.is_blocking) for one in found}
    assert shown["quota_gpus", "org"] == (4, 2, 6, True)
    assert shown["quota_gpus", "alice"] == (4, 4, 8, False)
    assert shown["quota_running_jobs", "alice"] == (1, 0, 1, True)
    assert [one.is_blocking for one in found] == sorted((one.is_blocking for one in found), reverse=True)


def test_borrowing_shows_what_owners_of_guarantees_leave() -> None:
    case = cluster(gpus=4).quota("alice", guarantee=1).quota("bob", guarantee=3, reclaim=Reclaim.NEVER)
    case = case.running(job("a", gpus=2, tenant="bob", length_s=LONG_S)).waiting(job("b", gpus=3))
    found = blockers_of(case.snapshot, case.jobs[1], need=3, memory=case.memory)
    (borrowing,) = [one for one in found if one.kind is BlockerKind.BORROWING]
    assert (borrowing.need, borrowing.have, borrowing.guarantee, borrowing.tenant) == (3, 2, 1, "alice")


@pytest.mark.parametrize(
    ("policy", "ahead", "reason"),
    [
        ("fifo", {"at": 0.0}, "submitted_earlier"),
        ("fifo", {"at": 2.0, "priority": 3}, "higher_priority"),
        ("srtf", {"at": 2.0, "length_s": 50.0}, "shorter_first"),
        ("srsf", {"at": 2.0, "length_s": 50.0}, "smaller_first"),
        ("drf", {"at": 0.0}, "ordered_before"),
    ],
)
def test_who_is_ahead_is_explained_in_the_policys_terms(policy: str, ahead: dict[str, float], reason: str) -> None:
    case = cluster(gpus=2).running(job("running", gpus=2, length_s=10.0, priority=9))
    case = case.waiting(job("late", gpus=2, at=1.0), job("early", gpus=2, **ahead))
    (found,) = counsel(case, "late", policy).ahead
    assert (found.job, found.explanation.reason.value) == ("early", reason)
    assert "early" in found.explanation.sentence
    assert counsel(case, "early", policy).ahead == ()


@pytest.mark.parametrize("policy", ["fifo", "srtf", "mlhub"])
def test_what_helps_is_confirmed_beside_jobs_that_report_no_steps(policy: str) -> None:
    """Of a script that trains for long and reports nothing, a rollout expects an end, and not that it is over."""
    script = {"length_is_known": False, "example_s": None, "executed_gpu_s": LONG_S}
    case = cluster(gpus=4).quota("alice", max_gpus=2)
    case = case.running(*[job(each, gpus=1, steps_total=1, **script) for each in "ab"])
    found = counsel(case.waiting(job("late", gpus=1, length_s=100 * LONG_S)), "late", policy)
    assert by_kind(found)["larger_quota"] == {"max_gpus": 3}


def test_the_job_at_whose_end_it_starts_is_named() -> None:
    case = cluster(gpus=4).running(job("short", gpus=2, length_s=100.0), job("long", gpus=2, length_s=LONG_S))
    found = counsel(case.waiting(job("b", gpus=2)), "b").awaited
    assert found is not None
    assert found[0] == "short"
    assert found[1] == pytest.approx(case.now_s + 100.0, abs=5.0)


def test_fewer_workers_another_type_and_a_pause_are_advised_where_they_help() -> None:
    case = cluster(nodes=2, gpus=4).with_node("n1", gpu_type="t4").running(job("a", gpus=3, length_s=LONG_S))
    found = counsel(case.waiting(job("b", gpus=2, gpu_types=("v100",))), "b")
    assert by_kind(found) == {
        "fewer_workers": {"min_workers": 1},
        "any_gpu_type": {"gpu_types": ()},
        "pause_job": {"phase": Phase.STOPPING, "hold": "quarantined"},
    }
    assert all(advice.gain_s is None or advice.gain_s > 1000 for advice in found.advice)
    starting = [advice for advice in found.advice if advice.action.kind is not ActionKind.PAUSE_JOB]
    assert all(advice.starts_now for advice in starting)


def test_a_higher_priority_is_advised_with_the_jobs_that_it_delays() -> None:
    case = cluster(gpus=4).running(job("a", gpus=4, length_s=50.0, priority=9))
    case = case.waiting(*(job(f"j{i}", gpus=4, length_s=500.0, at=float(i), priority=2) for i in range(3)))
    found = counsel(case.waiting(job("b", gpus=4, length_s=100.0, at=9.0)), "b")
    (higher,) = [advice for advice in found.advice if advice.action.kind is ActionKind.HIGHER_PRIORITY]
    assert higher.action.changes == {"priority": 3}
    assert higher.gain_s == pytest.approx(1500.0, rel=0.05)
    assert set(higher.delays_s) == {"j0", "j1", "j2"}
    assert all(delay_s == pytest.approx(100.0, rel=0.2) for delay_s in higher.delays_s.values())


def test_a_larger_quota_is_advised_as_large_as_is_needed_and_no_action_that_does_not_help() -> None:
    case = cluster(gpus=8).quota("alice", max_gpus=4).running(job("a", gpus=4, length_s=LONG_S))
    case = case.waiting(job("b", gpus=2))
    found = by_kind(counsel(case, "b"))
    assert found["larger_quota"] == {"max_gpus": 6}
    assert set(found) == {"larger_quota", "pause_job"}


@pytest.mark.parametrize(
    ("limits", "kind", "advised"),
    [
        ({"max_cpus": 6}, "larger_quota_of_cpus", {"max_cpus": 11}),
        ({"max_memory_bytes": 13 * GIB}, "larger_quota_of_memory", {"max_memory_bytes": 18 * GIB + GIB // 8}),
        (
            {"gpus_by_type": (("t4", 9), ("v100", 4))},
            "larger_quota_of_type",
            {"gpus_by_type": (("t4", 9), ("v100", 6))},
        ),
        (
            {"borrow_limit_by_type": (("t4", 9), ("v100", 1)), "guarantee_by_type": (("v100", 3),)},
            "larger_borrow_limit_of_type",
            {"borrow_limit_by_type": (("t4", 9), ("v100", 3))},
        ),
    ],
    ids=["cpus", "memory", "type", "borrowing of a type"],
)
def test_a_larger_limit_of_cpus_memory_or_a_type_is_advised_as_large_as_is_needed_and_no_larger(
    limits: dict[str, Any], kind: str, advised: dict[str, Any]
) -> None:
    takes = {"cpus_per_worker": 1.3, "memory_per_worker_bytes": 3 * GIB + 1, "gpu_types": ("v100",)}
    case = cluster(gpus=8).quota("alice", **limits).running(job("a", gpus=4, length_s=LONG_S, **takes))
    waiting = job("b", gpus=2, **takes | {"cpus_per_worker": 2.9})
    found = by_kind(counsel(case.waiting(waiting), "b"))
    assert found[kind] == advised
    less = {**limits, "max_cpus": 10} if "max_cpus" in limits else {**limits, "max_memory_bytes": 18 * GIB}
    if not kind.endswith("_of_type"):  # a little less would not do
        tight = cluster(gpus=8).quota("alice", **less).running(job("a", gpus=4, length_s=LONG_S, **takes))
        assert isinstance(tight.waiting(waiting).decide("fifo").of("b"), Wait)


@pytest.mark.parametrize(
    ("limit", "kind", "advised"),
    [
        ({"max_gpus": 4}, "larger_user_limit", {"max_gpus": 6}),
        ({"gpus_by_type": (("v100", 4),)}, "larger_user_limit_of_type", {"gpus_by_type": (("v100", 6),)}),
        ({"max_running_jobs": 1}, "more_user_running_jobs", {"max_running_jobs": 2}),
        ({"max_cpus": 5}, "larger_user_limit_of_cpus", {"max_cpus": 6}),
        ({"max_memory_bytes": 5 * GIB}, "larger_user_limit_of_memory", {"max_memory_bytes": 6 * GIB}),
    ],
    ids=["GPUs", "a type", "running jobs", "CPUs", "memory"],
)
def test_a_larger_limit_of_the_user_is_advised_as_large_as_is_needed(
    limit: dict[str, Any], kind: str, advised: dict[str, Any]
) -> None:
    takes = {"cpus_per_worker": 1.0, "memory_per_worker_bytes": GIB, "gpu_types": ("v100",), "user": "u1"}
    limits = (UserLimit("u1", "ann", **limit), UserLimit("u2", "ben", max_gpus=1))
    case = cluster(gpus=8).quota("alice", user_limits=limits).running(job("a", gpus=4, length_s=LONG_S, **takes))
    case = case.waiting(job("b", gpus=2, **takes))
    found = counsel(case, "b")
    assert by_kind(found)[kind] == advised
    (action,) = [advice.action for advice in found.advice if advice.action.kind == kind]
    assert (action.tenant, action.user) == ("alice", "u1")
    (changed,) = [tenant for tenant in applied(action, case.snapshot).tenants if tenant.id == "alice"]
    assert changed.user_limits[1] == limits[1]


def test_a_larger_borrowing_limit_is_advised_as_large_as_is_needed() -> None:
    case = cluster(gpus=8).quota("alice", guarantee=2, borrow_limit=2).running(job("a", gpus=4, length_s=LONG_S))
    found = counsel(case.waiting(job("b", gpus=3)), "b")
    (limit,) = [blocker for blocker in found.blockers if blocker.kind is BlockerKind.BORROW_LIMIT]
    assert (limit.need, limit.have, limit.total, limit.guarantee) == (3, 0, 4, 2)
    assert by_kind(found)["larger_borrow_limit"] == {"borrow_limit": 5}


def test_a_larger_guarantee_is_advised_where_what_is_guaranteed_above_has_room_for_it() -> None:
    def advised(org: int) -> dict[str, dict[str, object]]:
        case = cluster(gpus=8).running(
            job("a", gpus=2, length_s=LONG_S), job("b", gpus=3, tenant="bob", length_s=LONG_S),
            job("c", gpus=3, tenant="bob", length_s=LONG_S),
        ).waiting(job("w", gpus=2))  # fmt: skip
        tenants = (
            TenantSnapshot("org", guarantee=org),
            TenantSnapshot("alice", parent="org"),
            TenantSnapshot("bob", parent="org"),
        )
        return by_kind(counsel(replace(case, tenants=tenants), "w"))

    assert advised(4)["larger_guarantee"] == {"guarantee": 4}
    assert "larger_guarantee" not in advised(3)


@pytest.mark.parametrize(
    ("held", "guarantee", "asked", "advised"), [((2, 2), None, 2, 2), ((1, 3), 1, 2, 3), ((4,), 1, 2, 2)]
)
def test_a_larger_guarantee_is_advised_against_jobs_of_a_parents_own(
    held: tuple[int, ...], guarantee: int | None, asked: int, advised: int
) -> None:
    """Such as those of projects without quotas; where the project holds one GPU itself, it keeps it."""
    owner = "proj" if held == (1, 3) else "org"
    holders = [
        job(f"h{i}", gpus=n, tenant=owner if i == 0 else "org", length_s=LONG_S, at=float(i))
        for i, n in enumerate(held)
    ]
    case = cluster(gpus=4).running(*holders).waiting(job("w", gpus=asked, tenant="proj", at=9.0))
    tenants = (TenantSnapshot("org", guarantee=4), TenantSnapshot("proj", parent="org", guarantee=guarantee))
    case = replace(case, tenants=tenants)
    found = counsel(case, "w")
    (advice,) = [one for one in found.advice if one.action.kind is ActionKind.LARGER_GUARANTEE]
    assert (advice.action.tenant, dict(advice.action.changes)) == ("proj", {"guarantee": advised})
    assert (advice.gain_s or 0.0) > LONG_S / 2
    changed = decide(applied(advice.action, case.snapshot), policy=policy_named("fifo", {}), memory=case.memory)
    assert [d.job for d in changed.decisions if isinstance(d, Preempt)]
    assert changed.of("w").prediction.start_p50_s == pytest.approx(case.now_s, abs=LONG_S / 2)


def test_a_limit_of_memory_below_what_is_used_is_advised_with_room_for_both() -> None:
    takes = {"memory_per_worker_bytes": GIB}
    case = cluster(gpus=8).quota("alice", max_memory_bytes=2 * GIB).running(job("a", gpus=4, length_s=LONG_S, **takes))
    found = counsel(case.waiting(job("b", gpus=2, **takes)), "b")
    (memory,) = [blocker for blocker in found.blockers if blocker.kind is BlockerKind.QUOTA_MEMORY]
    assert (memory.have, memory.enough) == (0, 6 * GIB)


def test_a_running_job_at_its_largest_size_is_advised_more_workers() -> None:
    elastic = job("a", length_s=LONG_S, max_workers=2)
    case = cluster(gpus=8).running(elastic, n=2)
    assert by_kind(counsel(case, "a", "mlhub")) == {"more_workers": {"max_workers": 4}}


def test_a_job_that_starts_now_or_is_on_hold_gets_no_advice() -> None:
    case = cluster(gpus=4).waiting(job("b", gpus=2))
    assert counsel(case, "b").advice == ()
    assert counsel(cluster(gpus=4).waiting(job("b", gpus=2, hold="preflight")), "b").advice == ()


def test_what_was_not_tried_in_time_is_counted() -> None:
    case = cluster(gpus=4).running(job("a", gpus=4, length_s=LONG_S)).waiting(job("b", gpus=2))
    found = advise(case.snapshot, "b", policy=policy_named("fifo", {}), memory=case.memory, is_over=lambda: True)
    assert (found.n_tried, found.n_candidates > 0, found.advice) == (0, True, ())
    assert found.blockers


@pytest.mark.parametrize("n_allowed", range(8))
def test_no_round_is_played_once_the_time_is_used_up(n_allowed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a round takes seconds, each one more may be the one that the caller does not wait for."""
    case = cluster(gpus=4).running(job("a", gpus=4, length_s=LONG_S)).waiting(job("b", gpus=2), job("c", gpus=1))
    played = []

    def counted(*arguments: Any, **options: Any) -> Plan:
        played.append(options)
        return decide(*arguments, **options)

    monkeypatch.setattr("scheduler.counterfactuals.advice.decide", counted)
    monkeypatch.setattr("scheduler.counterfactuals.rollout.decide", counted)
    policy = policy_named("fifo", {})
    advise(case.snapshot, "b", policy=policy, memory=case.memory, is_over=lambda: len(played) > n_allowed)
    assert 1 <= len(played) <= n_allowed + 1


@pytest.mark.slow
@quick
@given(cases(), policies, st.data())
def test_advice_that_starts_a_job_now_does_so_in_the_next_round(case: Case, policy: str, data: st.DataObject) -> None:
    before = rounds(case, policy, 2)[-1][0]
    plan = before.decide(policy)
    waiting = [one.id for one in before.jobs if isinstance(plan.of(one.id), Wait)]
    if not waiting:
        return
    job_id = data.draw(st.sampled_from(waiting))
    for advice in counsel(before, job_id, policy).advice:
        changed = applied(advice.action, before.snapshot)
        after = replace(before, jobs=changed.jobs, tenants=changed.tenants).decide(policy)
        assert isinstance(after.of(job_id), Launch) == advice.starts_now
    assert before.decide(policy) == plan  # nothing is left of the questions


@pytest.mark.slow
def test_advised_actions_come_true_in_the_simulator() -> None:
    """A few tens of the thousand cases of `python -m benchmarks.advice`, the same ones every time."""
    found = [case for policy in ("fifo", "srtf", "mlhub") for case in cases_of(policy, 11)]
    assert len(found) >= 20
    assert sum(case.came_true for case in found) >= 0.95 * len(found)
