# SPDX-License-Identifier: Apache-2.0
"""Fair shares: dominant shares and parts by weight, by hand; then rounds of policies that know nothing of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler import POLICIES, JobSnapshot, Keep, Launch, Plan, Preempt, RoundMemory, TenantSnapshot, Wait
from scheduler.api.plan import Reason
from scheduler.quota.borrowing import BorrowingLedger
from scheduler.quota.entitlements import Entitlement, FairEntitlement
from scheduler.quota.fair_sharing import Shares, demand_R, dominant_share, fair_parts
from scheduler.quota.usage import DecayedUsage, decayed, entry_penalty
from tests.scheduler.cases import GIB, Case, cluster, job, kinds, reason, sizes

# gandiva's slices end for as many jobs as others wait, whichever tenant's: it is fair when they begin only
SETTLED = pytest.mark.parametrize("policy", sorted(set(POLICIES) - {"gandiva"}))
EVERY = pytest.mark.parametrize("policy", sorted(POLICIES))
HOUR_S = 3600.0
CLUSTER_R = np.array([16.0, 64.0, 256.0 * GIB])


# the arithmetic


def test_a_dominant_share_is_the_largest_part_used_above_what_is_guaranteed() -> None:
    """2 of 16 GPUs, 40 - 16 of 64 CPUs, no memory: 3/8 for the CPUs."""
    share = dominant_share(
        np.array([6.0, 40.0, 0.0]), nominal_R=np.array([4.0, 16.0, 64.0 * GIB]), lendable_R=CLUSTER_R
    )
    assert share == pytest.approx(24 / 64)


def test_within_the_guarantee_the_share_is_nothing() -> None:
    assert dominant_share(np.array([4.0, 9.0, 1.0]), nominal_R=CLUSTER_R / 4, lendable_R=CLUSTER_R) == 0.0


PARTS = [
    ("V6: 75 to 25", 16, [0.75, 0.25], [0, 0], [0, 0], [99, 99], [12, 4]),
    ("V6: only of what is above the guarantees", 20, [0.75, 0.25], [2, 2], [0, 0], [99, 99], [14, 6]),
    ("who needs less leaves the rest to the others", 16, [0.75, 0.25], [0, 0], [0, 0], [6, 99], [6, 10]),
    ("no tenant below what it holds anyway", 16, [0.75, 0.25], [0, 0], [0, 8], [99, 99], [8, 8]),
    ("no more than all want", 16, [1, 1], [0, 0], [0, 0], [3, 4], [3, 4]),
    ("odd GPUs to the largest remainder, then in order", 8, [1, 1, 1], [0, 0, 0], [0, 0, 0], [9, 9, 9], [3, 3, 2]),
    ("lost nodes: less than the guarantees, evenly missed", 6, [1, 1], [4, 4], [0, 0], [9, 9], [3, 3]),
]


@pytest.mark.parametrize(("total", "weights", "nominal", "floors", "demands", "parts"), [p[1:] for p in PARTS],
                         ids=[p[0] for p in PARTS])  # fmt: skip
def test_parts_by_weight(
    total: int, weights: list[float], nominal: list[int], floors: list[int], demands: list[int], parts: list[int]
) -> None:
    found = fair_parts(total, weights_C=weights, nominal_C=nominal, floors_C=floors, demands_C=demands)
    assert found == parts


@settings(deadline=None)
@given(
    st.integers(0, 200),
    st.lists(
        st.tuples(st.sampled_from([0.1, 0.5, 1.0, 3.0]), st.integers(0, 20), st.integers(0, 9), st.integers(0, 60)),
        min_size=1, max_size=6,
    ),
)  # fmt: skip
def test_parts_use_all_there_is_and_no_part_could_grow_at_the_cost_of_a_larger_one(
    total: int, rows: list[tuple[float, int, int, int]]
) -> None:
    weights, nominal, floors, demands = ([row[k] for row in rows] for k in range(4))
    parts = fair_parts(total, weights_C=weights, nominal_C=nominal, floors_C=floors, demands_C=demands)
    demands = [max(f, d) for f, d in zip(floors, demands, strict=True)]
    assert sum(parts) == min(max(total, sum(floors)), sum(demands))
    assert all(f <= n <= d for f, n, d in zip(floors, parts, demands, strict=True))
    levels = [(n - g) / w for n, g, w in zip(parts, nominal, weights, strict=True)]
    for a, n in enumerate(parts):
        for b in range(len(parts)):
            if n < demands[a] and parts[b] > floors[b]:  # one GPU from b to a would not bring them closer
                assert levels[a] + 1 / weights[a] >= levels[b] - 1e-6


def test_use_halves_in_a_half_life_and_nears_what_is_held() -> None:
    assert decayed(0.8, held=0.0, for_s=HOUR_S, half_life_s=HOUR_S) == pytest.approx(0.4)
    assert decayed(0.0, held=0.8, for_s=2 * HOUR_S, half_life_s=HOUR_S) == pytest.approx(0.6)
    assert entry_penalty(0.8, half_life_s=300.0, entry_s=300.0) == pytest.approx(0.4)


def test_a_start_is_charged_at_once_and_not_twice() -> None:
    """Held for ever, it comes to the same whether the first five minutes are charged at the start or as they pass."""
    key = ("root", "a")
    uses = DecayedUsage({}, now_s=0.0)
    uses.age(key, HOUR_S)
    uses.record(key, held=0.5, started=0.5, half_life_s=HOUR_S)
    assert uses.to_json()["by"][0][2] == pytest.approx(0.5 * (1 - 2 ** (-300 / HOUR_S)))
    later = DecayedUsage(uses.to_json(), now_s=300.0)
    assert later.age(key, HOUR_S) < 0.5 * (1 - 2 ** (-300 / HOUR_S))  # it only decayed so far
    much_later = DecayedUsage({**uses.to_json()}, now_s=40 * HOUR_S)
    assert much_later.age(key, HOUR_S) == pytest.approx(0.5, rel=0.01)


def test_shares_are_compared_where_tenants_part_and_only_in_cohorts_that_share_fairly() -> None:
    tenants = (
        TenantSnapshot("root", shares_fairly=True),
        TenantSnapshot("a", parent="root", weight=2.0),
        TenantSnapshot("a1", parent="a"),
        TenantSnapshot("a2", parent="a"),
        TenantSnapshot("b", parent="root", shares_fairly=True),
        TenantSnapshot("b1", parent="b"),
    )
    shares = Shares(tenants, borrowing=BorrowingLedger(tenants, n_gpus=16), cluster_R=CLUSTER_R)
    shares.add("a1", demand_R(job("x"), 8))
    assert shares.meet("a1", "b1") == (("root", "a"), ("root", "b"))
    assert shares.meet("a1", "a2") is None  # a lets the policy decide
    assert shares.meet("b1", "b") == (("b", "b1"), ("b", "b"))  # b's own jobs next to its child's
    assert (shares.group("a1"), shares.group("a2"), shares.group("b"), shares.group("b1")) == (
        "a",
        "a",
        "b itself",
        "b1",
    )
    assert shares.share(("root", "a")) == pytest.approx(8 / 16 / 2)


# rounds


def sharing(
    gpus: int = 8, *, half_life_s: float = 0.0, alice: float = 0.75, bob: float = 0.25, **rules: object
) -> Case:
    tenants = (
        TenantSnapshot("root", shares_fairly=True, half_life_s=half_life_s),
        TenantSnapshot("alice", parent="root", weight=alice, **rules),
        TenantSnapshot("bob", parent="root", weight=bob),
    )
    return replace(cluster(gpus=gpus), tenants=tenants)


def held(case: Case, tenant: str) -> int:
    return sum(
        j.allocation.n_workers for j in case.jobs if j.tenant == tenant and j.phase != "waiting" and j.allocation
    )


def settled(case: Case, policy: str, rounds: int = 8, seconds: float = 600.0) -> Case:
    for _ in range(rounds):
        case = case.after(case.decide(policy), seconds=seconds)
    return case


def crowd(tenant: str, n: int, *, gpus: int = 1, **more: object) -> list:
    return [job(f"{tenant}{i:02}", gpus=gpus, tenant=tenant, length_s=1e5, **more) for i in range(n)]


@EVERY
def test_v6_what_no_tenant_is_guaranteed_is_split_by_weight(policy: str) -> None:
    case = settled(sharing().waiting(*crowd("alice", 8), *crowd("bob", 8)), policy)
    assert (held(case, "alice"), held(case, "bob")) == (6, 2)


@SETTLED
def test_v6_also_when_one_has_it_all_already(policy: str) -> None:
    case = sharing().running(*crowd("bob", 8)).waiting(*crowd("alice", 8, at=900.0))
    case = settled(case, policy, 12)
    assert (held(case, "alice"), held(case, "bob")) == (6, 2)


def test_use_is_aged_once_in_a_round_in_which_quota_takes_gpus_back() -> None:
    """Such a round is worked out more than once, to see whether others have anything of it."""
    case = settled(sharing(half_life_s=HOUR_S).waiting(*crowd("bob", 8)), "fifo")
    used = {tenant: (charged, held) for _, tenant, charged, held, _ in case.memory.decayed_usage["by"]}
    plan = case.waiting(*crowd("alice", 8, at=900.0)).decide("fifo")
    assert any(isinstance(decision, Preempt) for decision in plan.decisions)
    charged, held = used["bob"]
    aged = decayed(charged, held=held, for_s=600.0, half_life_s=HOUR_S)
    now = {tenant: charged for _, tenant, charged, *_ in plan.memory.decayed_usage["by"]}
    assert now["bob"] == pytest.approx(aged)


@EVERY
def test_what_one_does_not_want_the_other_may_have(policy: str) -> None:
    case = settled(sharing().waiting(*crowd("alice", 2), *crowd("bob", 8)), policy)
    assert (held(case, "alice"), held(case, "bob")) == (2, 6)


@EVERY
def test_guarantees_come_first_and_only_the_rest_is_split(policy: str) -> None:
    case = sharing(12, alice=1.0, bob=1.0, guarantee=4).waiting(*crowd("alice", 12), *crowd("bob", 12))
    case = settled(case, policy)
    assert (held(case, "alice"), held(case, "bob")) == (8, 4)


@pytest.mark.parametrize("policy", ["mlhub", "optimus", "pollux", "dl2"])
def test_elastic_jobs_grow_to_their_tenant_s_part_only(policy: str) -> None:
    case = sharing(16).waiting(
        job("a", length_s=1e5, max_workers=16), job("b", length_s=1e5, max_workers=16, tenant="bob")
    )
    assert held(settled(case, policy, 16), "bob") <= 4


def test_an_elastic_job_has_what_the_other_leaves_idle() -> None:
    case = sharing(16).waiting(
        job("a", length_s=1e5, max_workers=2), job("b", length_s=1e5, max_workers=16, tenant="bob")
    )
    unfair = replace(case, tenants=tuple(replace(tenant, shares_fairly=False) for tenant in case.tenants))
    assert held(settled(case, "mlhub", 16), "bob") == held(settled(unfair, "mlhub", 16), "bob") > 4


def lost(plan: Plan) -> set[str]:
    return {d.job for d in plan.decisions if isinstance(d, Preempt)}


def test_a_preempts_b_only_if_it_has_less_with_the_job_than_b_had() -> None:
    """Equal weights, 8 GPUs. alice's job of 4 would give her as much as bob keeps: yes against 8, no against 4."""
    case = sharing(alice=1.0, bob=1.0)
    alone = case.running(*crowd("bob", 2, gpus=4)).waiting(job("a", gpus=4, length_s=1e5, at=900.0))
    assert len(lost(alone.decide("fifo"))) == 1
    shared = case.running(*crowd("bob", 1, gpus=4), job("a0", gpus=4, length_s=1e5))
    plan = shared.waiting(job("a1", gpus=4, length_s=10.0)).decide("srtf")
    assert "b" not in {name[0] for name in lost(plan)}
    large = case.running(*crowd("bob", 2, gpus=3), job("a0", gpus=2, length_s=1e5))
    plan = large.waiting(job("a1", gpus=5, length_s=10.0)).decide("fifo")
    assert lost(plan) == set()  # 7 of 8 against bob's 6
    assert reason(plan.of("a1")) == "nothing_to_borrow"


def test_safety_is_verified_on_the_final_victims() -> None:
    """Three of weight 1 on 12 GPUs: bob 5 + 1, charlie 4, alice 2 wants 5 more: 7 is more than bob's 6."""
    tenants = (
        TenantSnapshot("root", shares_fairly=True),
        *(TenantSnapshot(t, parent="root") for t in ("alice", "bob", "charlie")),
    )
    case = replace(cluster(gpus=12), tenants=tenants).running(
        job("b0", gpus=5, tenant="bob", length_s=1e5), job("b1", gpus=1, tenant="bob", length_s=1e5),
        job("c", gpus=4, tenant="charlie", length_s=1e5), job("a0", gpus=2, length_s=1e5),
    )  # fmt: skip
    assert lost(case.waiting(job("a1", gpus=5, length_s=1e5)).decide("fifo")) == set()
    plan = case.waiting(job("a1", gpus=3, length_s=1e5)).decide("fifo")  # 5 against bob's 6: b0 alone suffices
    assert lost(plan) == {"b0"}
    assert plan.of("b0").explanations[0].facts == {"tenant": "bob", "percent": 50.0, "weight": 1.0}


@SETTLED
def test_behind_a_large_job_that_finds_no_gpus_no_job_is_stopped_but_free_gpus_are_taken(policy: str) -> None:
    """Else bob's job of two would leave for alice's of one, and come back while alice's largest job is her first."""
    case = sharing(4, alice=1.0, bob=1.0).running(job("b0", gpus=1, tenant="bob", length_s=1e5), job("a1", gpus=1))
    case = case.running(job("b1", gpus=2, tenant="bob", length_s=1e5), since=900.0)
    case = settled(case.waiting(job("a0", gpus=4, length_s=1e5), job("a2", gpus=1, length_s=1e5, at=1.0)), policy)
    assert (held(case, "alice"), held(case, "bob")) == (1, 3)
    assert not lost(case.decide(policy)) & {"b0", "b1"}
    gone = replace(case, jobs=tuple(one for one in case.jobs if one.id != "b0"))
    assert held(settled(gone, policy), "alice") == 2


def test_the_largest_share_gives_first_and_who_is_not_needed_stays() -> None:
    case = sharing(alice=1.0, bob=1.0)
    case = case.running(job("b0", gpus=2, tenant="bob", length_s=1e5), since=0.0)
    case = case.running(job("b1", gpus=6, tenant="bob", length_s=1e5), since=100.0)
    plan = case.waiting(job("a", gpus=2, length_s=1e5)).decide("fifo")
    assert lost(plan) == {"b1"}  # the newest first; b0 alone would have done, but is not asked any more
    plan = case.waiting(job("a", gpus=1, length_s=1e5)).decide("fifo")
    assert len(lost(plan)) == 1


def test_reasons_say_whose_turn_it_is_and_who_has_more() -> None:
    case = sharing(alice=1.0, bob=1.0).running(*crowd("bob", 8)).waiting(job("a", gpus=2, length_s=1e5))
    plan = case.decide("fifo")
    (why, *_) = plan.of(sorted(lost(plan))[0]).explanations
    assert why.reason == "fair_share_reclaimed"
    assert "bob had 100 % of the GPUs that are guaranteed to no tenant" in why.sentence
    assert kinds(plan)["a"] == "Wait"


# use over time


@pytest.mark.slow
def test_by_use_who_had_less_lately_is_next_though_it_holds_more() -> None:
    """Gangs of the whole cluster: by what is held now the larger weight would always be next."""
    case = sharing(half_life_s=HOUR_S).waiting(*crowd("alice", 3, gpus=8), *crowd("bob", 3, gpus=8))
    had = {"alice": 0.0, "bob": 0.0}
    for _ in range(240):
        plan = case.decide("fifo")
        case = case.after(plan, seconds=600.0)
        for tenant in had:
            had[tenant] += held(case, tenant)
        case = _ended(case, after_s=1200.0)
    assert had["alice"] / sum(had.values()) == pytest.approx(0.75, abs=0.05)


def test_a_hundred_jobs_at_once_do_not_all_pass_on_stale_use() -> None:
    """alice used more before; bob's first jobs are charged as they start, so that hers are among the next."""
    case = sharing(64, half_life_s=HOUR_S, alice=1.0, bob=1.0)
    used = {"at_s": case.now_s, "by": [["root", "alice", 0.02, 0.0, 0.0]]}
    case = replace(case, memory=RoundMemory(decayed_usage=used))
    plan = case.waiting(*crowd("bob", 100), *crowd("alice", 100)).decide("fifo")
    started = [name for name, kind in kinds(plan).items() if kind == "Launch"]
    of_bob = sum(name.startswith("b") for name in started)
    # each start is charged 1/64 * (1 - 2^(-1/12)) = 0.00088: bob's first 22 make up for 0.02, the other 42 are halved
    assert of_bob == 22 + (64 - 22) // 2


def _ended(case: Case, *, after_s: float) -> Case:
    """Who ran that long is done, and another like it waits."""
    return replace(case, jobs=tuple(_successor(one, case.now_s, after_s) for one in case.jobs))


def _successor(one: JobSnapshot, now_s: float, after_s: float) -> JobSnapshot:
    if one.phase != "running" or now_s - (one.allocated_at_s or 0.0) < after_s:
        return one
    name, _, number = one.id.partition("-")
    id = f"{name}-{int(number or 0) + 1}"
    return job(id, gpus=one.min_workers, tenant=one.tenant, length_s=1e5, at=now_s)


@pytest.mark.slow
@settings(max_examples=6, deadline=None, derandomize=True)
@given(
    st.sampled_from(["fifo", "srsf", "mlhub"]),
    st.sampled_from([(0.75, 0.25), (1.0, 1.0), (3.0, 1.0)]),
    st.sampled_from([(1, 0.0), (2, 0.0), (1, HOUR_S), (4, HOUR_S), (8, HOUR_S)]),
)
def test_in_the_long_run_what_is_guaranteed_to_none_is_split_by_weight(
    policy: str, weights: tuple[float, float], how: tuple[int, float]
) -> None:
    gpus, half_life_s = how
    case = sharing(8, half_life_s=half_life_s, alice=weights[0], bob=weights[1])
    case = case.waiting(*crowd("bob", 8, gpus=gpus), *crowd("alice", 8, gpus=gpus))
    had = {"alice": 0.0, "bob": 0.0}
    for _ in range(100):
        case = case.after(case.decide(policy), seconds=600.0)
        for tenant in had:
            had[tenant] += held(case, tenant)
        case = _ended(case, after_s=1800.0)
    assert had["alice"] / sum(had.values()) == pytest.approx(weights[0] / sum(weights), abs=0.05)


def test_without_fair_sharing_nothing_is_remembered_of_use() -> None:
    plan = cluster().waiting(job("a", gpus=2)).decide("fifo")
    assert not plan.memory.decayed_usage
    assert isinstance(plan.of("a"), Launch | Keep | Wait)
    assert sizes(plan) == {"a": 2}


def test_a_question_for_a_reason_is_no_wish_for_more_than_the_tenant_s_part() -> None:
    entitlement = Entitlement(fair=FairEntitlement(ceilings={"a": 2}, used={"a": 2}))
    asking = job("j", tenant="a", gpus=4)
    for is_request, noted in ((False, set[str]()), (True, {"a"})):
        why = entitlement.refusal(asking, 4, had=2, is_request=is_request)
        assert why is not None
        assert why.reason is Reason.FAIR_SHARE_REACHED
        assert entitlement.fair.refused == noted
