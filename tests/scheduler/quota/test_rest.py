# SPDX-License-Identifier: Apache-2.0
"""Where nothing arrives and nothing ends, jobs stop taking GPUs from each other, whatever tenants are guaranteed."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from scheduler import JobSnapshot, Launch, Preempt, TenantSnapshot
from tests.scheduler.cases import Case, cluster, job
from tests.scheduler.test_properties import quick

ENDLESS_S = 1e6
CALM_AFTER = 12  # rounds
OBSERVED = 8
MAX_MIN = ("fair", "drf", "mlhub", "capacity")  # others time jobs, or let them wait for their turn, on purpose


def tenant(name: str, guarantee: int, of_type: int = 0, *, parent: str | None = None) -> TenantSnapshot:
    by_type = (("v100", of_type),) if of_type else ()
    return TenantSnapshot(name, parent=parent, guarantee=guarantee, guarantee_by_type=by_type)


def moves(case: Case, policy: str) -> list[str]:
    """What is launched and preempted in rounds in which all could have come to rest."""
    found = []
    for number in range(CALM_AFTER + OBSERVED):
        plan = case.decide(policy)
        changes = [d for d in plan.decisions if isinstance(d, Launch | Preempt)]
        found += [f"{number}: {d.job} {type(d).__name__}" for d in changes if number >= CALM_AFTER]
        case = case.after(plan, seconds=600.0)
    return found


def organisation(gpus: int, *tenants: TenantSnapshot) -> Case:
    return replace(cluster(gpus=gpus), tenants=tenants)


def test_a_gang_larger_than_the_guarantee_and_those_within_it_take_no_turns() -> None:
    """The gang left for a job of another tenant, which the claims of the gang's own tenant then kept out."""
    case = organisation(4, tenant("org", 3), tenant("a", 1, parent="org"), tenant("b", 0, parent="org"), tenant("o", 0))
    case = case.running(
        job("gang", gpus=3, tenant="org", length_s=ENDLESS_S), job("of-a", gpus=1, tenant="a", length_s=ENDLESS_S)
    )
    waiting = [("of-o", 3, "o"), ("small", 1, "org"), ("small-too", 1, "org"), ("of-b", 2, "b")]
    late = [job(name, gpus=n, tenant=t, at=900.0 + i, length_s=ENDLESS_S) for i, (name, n, t) in enumerate(waiting)]
    assert moves(case.waiting(*late), "fair") == []


def test_claims_that_depend_on_who_uses_a_guarantee_of_a_type_take_no_turns() -> None:
    case = organisation(6, tenant("org", 6, 4), tenant("a", 6, parent="org"), tenant("b", 0, parent="org"))
    case = case.running(
        job("r0", gpus=3, tenant="b", length_s=ENDLESS_S), job("r1", gpus=3, tenant="org", length_s=ENDLESS_S)
    )
    case = case.waiting(
        job("w0", gpus=2, tenant="b", at=900.0, length_s=ENDLESS_S),
        job("w1", gpus=3, tenant="a", at=901.0, length_s=ENDLESS_S),
    )
    assert moves(case, "mlhub") == []


@st.composite
def full_clusters(draw: st.DrawFn) -> Case:
    """An organisation with projects, another one with or without a guarantee, and jobs that never end."""
    n_gpus = draw(st.sampled_from([4, 6, 8]))
    left = draw(st.integers(0, n_gpus))
    left_of_type = draw(st.integers(0, left))
    tenants = [tenant("org", left, left_of_type)]
    outside = n_gpus - left
    for name in ("a", "b", "c")[: draw(st.integers(1, 3))]:
        n = draw(st.integers(0, left))
        of_type = draw(st.integers(0, min(n, left_of_type)))
        left, left_of_type = left - n, left_of_type - of_type
        tenants.append(tenant(name, n, of_type, parent="org"))
    tenants.append(draw(st.sampled_from([TenantSnapshot("other"), tenant("other", draw(st.integers(0, outside)))])))
    whose = st.sampled_from([t.id for t in tenants])
    running, free = list[JobSnapshot](), n_gpus
    while free and draw(st.booleans()):
        n = draw(st.integers(1, min(3, free)))
        running.append(job(f"r{len(running)}", gpus=n, length_s=ENDLESS_S, tenant=draw(whose)))
        free -= n
    waiting = [
        job(f"w{i}", gpus=draw(st.integers(1, 3)), length_s=ENDLESS_S, tenant=draw(whose), at=900.0 + i)
        for i in range(draw(st.integers(1, 4)))
    ]
    return organisation(n_gpus, *tenants).running(*running).waiting(*waiting)


@quick
@given(full_clusters(), st.sampled_from(MAX_MIN))
def test_a_full_cluster_comes_to_rest(case: Case, policy: str) -> None:
    assert moves(case, policy) == []
