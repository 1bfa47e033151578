# SPDX-License-Identifier: Apache-2.0
"""Jobs go where their inputs are, through decide(): unless another place lets them end earlier all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import Decision, Keep, Launch, Mode, Plan, RoundMemory, decide, policy_named
from scheduler.api.plan import Prediction, Reason, with_prediction
from scheduler.api.topology import InputSet
from scheduler.policies.registry import POLICIES
from tests.scheduler.cases import GIB, Case, cluster, job

RING = {"parameters_bytes": 1_000_000_000, "mode": Mode.ALL_REDUCE}
DATA = "project/data"
NAME_NODES = {"antman", "pollux"}  # policies that choose the nodes of each job themselves


def decided(
    case: Case, *held: tuple[str, int], size_bytes: int = 10 * GIB, policy: str = "mlhub", bps: float = 8e8
) -> Plan:
    """Of these bytes nodes hold so many."""
    snapshot = replace(case.snapshot, input_sets=(InputSet(DATA, size_bytes, held),), fetch_bps=bps)
    return decide(snapshot, policy=policy_named(policy, {}), memory=RoundMemory())


def nodes_of(plan: Plan, id: str) -> set[str]:
    decision = plan.of(id)
    assert isinstance(decision, Launch)
    return {share.node for share in decision.allocation.shares}


def unpredicted(plan: Plan) -> list[Decision]:
    """The decisions, without what they say of fetching and of times."""
    kept = (with_prediction(one, Prediction()) for one in plan.decisions)
    return [
        replace(one, explanations=tuple(e for e in one.explanations if e.reason is not Reason.INPUTS_FETCHED))
        for one in kept
    ]


def sentences(plan: Plan, id: str) -> list[str]:
    return [one.sentence for one in plan.of(id).explanations]


@pytest.mark.parametrize("policy", sorted(set(POLICIES) - NAME_NODES))
def test_of_equal_nodes_a_job_goes_to_the_one_that_holds_its_inputs_under_any_policy(policy: str) -> None:
    case = cluster(nodes=3, gpus=4).waiting(job("new", gpus=2, inputs=DATA))
    plan = decided(case, ("n2", 10 * GIB), policy=policy)
    assert nodes_of(plan, "new") == {"n2"}


def test_the_decision_says_so() -> None:
    case = cluster(nodes=3, gpus=4).waiting(job("new", gpus=2, inputs=DATA))
    plan = decided(case, ("n1", 10 * GIB))
    assert "Its inputs are in the cache of n1; to fetch them would take about 107 s." in sentences(plan, "new")
    full = cluster(nodes=2, gpus=4).running(job("other", gpus=4)).waiting(job("new", gpus=2, inputs=DATA))
    plan = decided(full, ("n0", 10 * GIB))
    assert nodes_of(plan, "new") == {"n1"}
    expected = "10.7 GB of its inputs are not in the cache of n1; to fetch them takes about 107 s."
    assert expected in sentences(plan, "new")


def test_a_node_with_more_of_them_comes_before_one_with_less() -> None:
    case = cluster(nodes=3, gpus=4).waiting(job("new", gpus=2, inputs=DATA))
    assert nodes_of(decided(case, ("n1", 2 * GIB), ("n2", 9 * GIB)), "new") == {"n2"}


def test_of_nodes_that_hold_as_much_the_one_with_the_tightest_fit_is_taken() -> None:
    full = cluster(nodes=3, gpus=4).running(job("gone", gpus=4), job("other", gpus=2))
    case = replace(full, jobs=tuple(one for one in full.jobs if one.id != "gone")).waiting(
        job("new", gpus=2, inputs=DATA)
    )
    assert nodes_of(decided(case, ("n0", 10 * GIB), ("n1", 10 * GIB)), "new") == {"n1"}
    assert nodes_of(decided(case, ("n0", 10 * GIB)), "new") == {"n0"}  # a free node: the tighter one would fetch


def test_jobs_that_read_something_else_and_jobs_of_which_nothing_is_known_go_elsewhere() -> None:
    case = cluster(nodes=2, gpus=4).waiting(job("known", gpus=2, inputs="other"), job("unknown", gpus=2))
    plan = decided(case, ("n1", 10 * GIB))
    assert nodes_of(plan, "known") == nodes_of(plan, "unknown") == {"n0"}
    assert not [one for id in ("known", "unknown") for one in sentences(plan, id) if "cache" in one]


def test_what_is_fetched_in_no_time_moves_no_job() -> None:
    case = cluster(nodes=2, gpus=4).waiting(job("new", gpus=2, inputs=DATA))
    plan = decided(case, ("n1", 10 * GIB), bps=1e12)
    assert nodes_of(plan, "new") == {"n0"}
    assert not [one for one in sentences(plan, "new") if "cache" in one]


def test_of_nodes_that_pollux_finds_equal_a_job_on_one_goes_to_the_one_that_holds_its_inputs() -> None:
    case = cluster(nodes=3, gpus=4).waiting(job("new", gpus=1, inputs=DATA))
    for node in ("n0", "n1", "n2"):
        plan = decided(case, (node, 10 * GIB), policy="pollux")
        assert nodes_of(plan, "new") == {node}
        expected = f"Its inputs are in the cache of {node}; to fetch them would take about 107 s."
        assert expected in sentences(plan, "new")


def test_pollux_takes_no_gpu_for_that_which_its_search_gave_to_another() -> None:
    """n2, which holds what all of them read, has room for two of the five; all are placed at once."""
    jobs = [job(f"j{at}", gpus=1, at=float(at), inputs=DATA) for at in range(5)]
    plan = decided(cluster(nodes=3, gpus=2).waiting(*jobs), ("n2", 10 * GIB), policy="pollux")
    places = [node for one in jobs for node in nodes_of(plan, one.id)]
    assert places.count("n2") == 2
    assert all(places.count(node) <= 2 for node in ("n0", "n1"))


def test_pollux_moves_no_running_job_for_its_inputs() -> None:
    case = cluster(nodes=3, gpus=4).running(job("r", gpus=2, inputs=DATA))
    assert isinstance(decided(case, ("n2", 10 * GIB), policy="pollux").of("r"), Keep)


def test_pollux_starts_a_job_on_a_node_of_the_type_that_its_search_found() -> None:
    case = cluster(nodes=2, gpus=4).waiting(job("new", gpus=1, inputs=DATA))
    plan = decided(case, policy="pollux")
    case = case.with_node("n1" if nodes_of(plan, "new") == {"n0"} else "n0", gpu_type="k80")
    found = nodes_of(decided(case, policy="pollux"), "new")
    for node in ("n0", "n1"):
        assert nodes_of(decided(case, (node, 10 * GIB), policy="pollux"), "new") == found


def one_fast_place(length_s: float) -> Case:
    """n0 has 4 free GPUs; n1 and n2 have two each, and links are slow."""
    case = cluster(nodes=3, gpus=4)
    first, *others = (replace(node, nic_bps=1e9) for node in case.nodes)
    case = replace(case, nodes=(first, *(replace(node, n_gpus=2) for node in others)))
    return case.waiting(job("new", gpus=4, length_s=length_s, inputs=DATA, **RING))


def test_a_cold_node_is_taken_where_the_job_ends_earlier_there_though_it_fetches() -> None:
    """Over two nodes each step takes many times as long: that is worth it only for a few steps."""
    warm = (("n1", 100 * GIB), ("n2", 100 * GIB))
    assert nodes_of(decided(one_fast_place(5000), *warm, size_bytes=100 * GIB, policy="fifo"), "new") == {"n0"}
    assert nodes_of(decided(one_fast_place(1), *warm, size_bytes=100 * GIB, policy="fifo"), "new") == {"n1", "n2"}


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_inputs_that_no_node_holds_change_no_place(policy: str) -> None:
    """Fetching takes as long everywhere: predictions have it, and the decision says so."""
    case = (
        cluster(nodes=4, gpus=4, racks=2)
        .running(job("r", gpus=3))
        .waiting(*[job(f"j{i}", gpus=1 + i) for i in range(4)])
    )
    named = replace(case, jobs=tuple(replace(one, inputs=DATA) for one in case.jobs))
    plan = decide(case.snapshot, policy=policy_named(policy, {}), memory=RoundMemory())
    assert unpredicted(decided(named, policy=policy)) == unpredicted(plan)
    assert decided(named, policy=policy, size_bytes=0) == replace(
        plan, memory=replace(plan.memory, fetching_s={one.job: 0.0 for one in plan.decisions if type(one) is Launch})
    )


def test_equal_caches_change_no_place() -> None:
    case = cluster(nodes=3, gpus=4).running(job("r", gpus=3)).waiting(job("new", gpus=1, inputs=DATA))
    everywhere = [(node.name, 10 * GIB) for node in case.nodes]
    assert nodes_of(decided(case, *everywhere), "new") == nodes_of(decided(case), "new") == {"n0"}


@pytest.mark.parametrize(
    ("sets", "bps", "words"),
    [
        ((InputSet("a", 1), InputSet("a", 2)), 1e9, "keys must be unique"),
        ((InputSet("a", -1),), 1e9, "below 0"),
        ((InputSet("a", 1, (("n0", -1),)),), 1e9, "below 0"),
        ((), 0.0, "fetch_bps"),
        ((), float("nan"), "fetch_bps"),
    ],
)
def test_what_cannot_be_is_refused(sets: tuple[InputSet, ...], bps: float, words: str) -> None:
    snapshot = replace(cluster(nodes=1, gpus=1).snapshot, input_sets=sets, fetch_bps=bps)
    with pytest.raises(ValueError, match=words):
        decide(snapshot, policy=policy_named("fifo", {}), memory=RoundMemory())
