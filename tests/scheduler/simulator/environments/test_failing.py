# SPDX-License-Identifier: Apache-2.0
"""Nodes that fail and nodes that are slow, worked out by hand; and what holds for all of it."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler import POLICIES, policy_named
from scheduler.simulator import simulate
from scheduler.simulator.environments.counting import CountingEnvironment
from scheduler.simulator.environments.failing import FailingEnvironment
from scheduler.simulator.environments.network import NetworkEnvironment
from scheduler.simulator.failures import Failure, FailureKind, FailureRates, drawn_failures, failures_in
from scheduler.simulator.outcome import SimulationOutcome
from scheduler.simulator.reports.summary import summary
from scheduler.simulator.traces.clusters import uniform_cluster
from scheduler.simulator.traces.trace import BadInput, Trace, TraceJob

NODES = ["n0", "n1"]


def runs(
    *jobs: TraceJob, failures: list[Failure], policy: str = "fifo", start_s: float = 0.0, every_s: float = 100.0
) -> SimulationOutcome:
    cluster = uniform_cluster(n_nodes=2, n_gpus=4)
    inner = CountingEnvironment(Trace("case", "mlhub", jobs), cluster, start_s=start_s)
    return simulate(FailingEnvironment(inner, failures, checkpoint_every_s=every_s), policy=policy_named(policy, {}))


def lost(node: str, at_s: float, for_s: float) -> list[Failure]:
    return [Failure(at_s, node, FailureKind.LOST), Failure(at_s + for_s, node, FailureKind.BACK)]


def test_a_job_on_a_lost_node_goes_back_to_its_last_checkpoint() -> None:
    """8 GPUs, 500 s. At 250 a node goes; 200 s are saved, 50 s on 8 GPUs lost. From 400 on it trains 300 s more."""
    outcome = runs(TraceJob("a", 0, 8, 500), failures=lost("n1", 250, 150))
    assert outcome.histories["a"].ended_at_s == pytest.approx(700)
    assert outcome.n_failures == 1
    assert outcome.lost_gpu_s == pytest.approx(50 * 8)


def test_it_goes_on_elsewhere_at_once_where_there_is_room() -> None:
    outcome = runs(TraceJob("a", 0, 4, 500), failures=lost("n0", 250, 1000), start_s=10)
    assert outcome.histories["a"].ended_at_s == pytest.approx(250 + 10 + 500 - 200)
    assert [share.node for _, _, place in outcome.histories["a"].spans for share in place.shares] == ["n0", "n1"]


def test_jobs_on_other_nodes_do_not_notice() -> None:
    outcome = runs(TraceJob("a", 0, 4, 500), TraceJob("b", 0, 4, 500), failures=lost("n1", 250, 10))
    ends = {job_id: history.ended_at_s for job_id, history in outcome.histories.items()}
    assert ends["a"] == pytest.approx(500)
    assert ends["b"] == pytest.approx(260 + 300)


def test_a_start_that_is_interrupted_is_lost() -> None:
    outcome = runs(TraceJob("a", 0, 8, 100), failures=lost("n0", 6, 4), start_s=10)
    assert outcome.histories["a"].ended_at_s == pytest.approx(10 + 10 + 100)
    assert outcome.lost_gpu_s == pytest.approx(6 * 8)


def test_a_gang_is_as_slow_as_its_slowest_node() -> None:
    """300 s at full pace, 100 s at half of it, 150 s at full pace: 500 s of work."""
    slow = [Failure(300, "n1", FailureKind.SLOW, 2.0), Failure(400, "n1", FailureKind.WELL)]
    assert runs(TraceJob("a", 0, 8, 500), failures=slow).histories["a"].ended_at_s == pytest.approx(550)
    elsewhere = runs(TraceJob("a", 0, 4, 500), failures=slow)
    assert elsewhere.histories["a"].ended_at_s == pytest.approx(500)


def test_work_since_a_checkpoint_counts_at_the_pace_it_was_done() -> None:
    """Slow from 150: by 250 it has done 200 s of work, 150 + 25 of them saved at 200. 325 s are left from 300 on."""
    slow = [Failure(150, "n1", FailureKind.SLOW, 2.0), Failure(260, "n1", FailureKind.WELL)]
    failures = sorted([*slow, *lost("n1", 250, 50)], key=lambda failure: failure.at_s)
    assert runs(TraceJob("a", 0, 8, 500), failures=failures).histories["a"].ended_at_s == pytest.approx(300 + 325)


def test_who_left_in_good_order_loses_nothing() -> None:
    """Under srtf b takes over at 150; a, at 150 s of its work, waits. The node goes at 155, when only b is there."""
    jobs = TraceJob("a", 0, 8, 500), TraceJob("b", 150, 8, 20)
    outcome = runs(*jobs, failures=lost("n1", 155, 5), policy="srtf")
    assert outcome.histories["b"].ended_at_s == pytest.approx(180)
    assert outcome.histories["a"].ended_at_s == pytest.approx(180 + 350)
    assert outcome.lost_gpu_s == pytest.approx(5 * 8)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_no_job_is_lost_and_the_work_is_conserved(policy: str) -> None:
    jobs = [TraceJob(f"j{i}", 7.0 * i, 1 + i % 4, 100.0 + 31 * (i % 5)) for i in range(15)]
    failures = drawn_failures(FailureRates(mtbf_s=400.0, mttr_s=50.0), NODES, seed=3)
    inner = CountingEnvironment(Trace("case", "mlhub", tuple(jobs)), uniform_cluster(n_nodes=2, n_gpus=4))
    environment = FailingEnvironment(inner, failures, checkpoint_every_s=40.0)
    nodes = environment.nodes
    outcome = simulate(environment, policy=policy_named(policy, {}))
    figures = summary(outcome, nodes=nodes)
    assert figures["n_completed"] == 15
    assert figures["n_failures"] > 0
    held = sum(
        (to - since) * place.n_workers for history in outcome.histories.values() for since, to, place in history.spans
    )
    assert held == pytest.approx(sum(job.n_gpus * job.duration_s for job in jobs) + outcome.lost_gpu_s)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["srsf", "mlhub"]), st.floats(60.0, 500.0))
def test_gangs_that_contend_survive_failures_too(seed: int, policy: str, mtbf_s: float) -> None:
    stages = {"iterations": 300, "batch_size": 16, "iteration_s": 0.2, "network_s": 0.06}
    jobs = tuple(TraceJob(f"j{i}", 9.0 * i, 1 << i % 4, 60.0, model=f"m{i % 3}", extra=stages) for i in range(8))
    inner = NetworkEnvironment(Trace("case", "muri", jobs), uniform_cluster(n_nodes=2, n_gpus=4), seed=seed)
    rates = FailureRates(mtbf_s=3 * mtbf_s, mttr_s=30.0, slow_every_s=mtbf_s, slow_for_s=40.0, pace=3.0)
    environment = FailingEnvironment(inner, drawn_failures(rates, NODES, seed=seed), checkpoint_every_s=20.0)
    outcome = simulate(environment, policy=policy_named(policy, {}))
    assert all(history.ended_at_s is not None for history in outcome.histories.values())
    for history in outcome.histories.values():
        for (_, to, _), (since, _, _) in zip(history.spans, history.spans[1:], strict=False):
            assert to <= since
    slots = [
        (share.node, gpu, since, to)
        for history in outcome.histories.values()
        for since, to, place in history.spans
        for share in place.shares
        for gpu in share.gpus
    ]
    for node, gpu, since, to in slots:
        assert sum(1 for n, g, s, t in slots if (n, g) == (node, gpu) and s < to and since < t and to > since) <= 1


def test_the_same_seed_draws_the_same_mishaps_in_order() -> None:
    rates = FailureRates(mtbf_s=1000.0, mttr_s=100.0, slow_every_s=500.0, pace=1.5)
    first, again = (list(islice(drawn_failures(rates, NODES, seed=1), 200)) for _ in range(2))
    assert first == again
    assert [m.at_s for m in first] == sorted(m.at_s for m in first)
    assert first != list(islice(drawn_failures(rates, NODES, seed=2), 200))
    for node in NODES:
        kinds = [m.kind for m in first if m.node == node and m.kind in (FailureKind.LOST, FailureKind.BACK)]
        assert kinds == [FailureKind.LOST, FailureKind.BACK] * (len(kinds) // 2) + [FailureKind.LOST] * (len(kinds) % 2)
    alone = list(islice(drawn_failures(rates, ["n0"], seed=1), 50))
    assert alone == [m for m in first if m.node == "n0"][:50]


def test_a_file_declares_who_is_lost_and_who_is_slow() -> None:
    value = {"lost": [{"node": "n1", "at_s": 60, "for_s": 5}], "slow": [{"node": "n0", "at_s": 10, "pace": 1.5}]}
    assert failures_in(value, NODES, name="f.yaml") == [
        Failure(10.0, "n0", FailureKind.SLOW, 1.5),
        Failure(60.0, "n1", FailureKind.LOST),
        Failure(65.0, "n1", FailureKind.BACK),
    ]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "expected lost: and slow:"),
        ({"lost": [{"node": "n9", "at_s": 0}]}, "the node 'n9', which the cluster does not have"),
        ({"lost": [{"node": "n0", "at_s": -1}]}, "at_s -1; it must be a number of at least 0"),
        ({"slow": [{"node": "n0", "at_s": 0, "pace": 0.5}]}, "pace 0.5; it must be a number of at least 1"),
        ({"lost": [{"node": "n0", "at_s": 0}, {"node": "n0", "at_s": 9}]}, "node 'n0' is lost twice at 9 s"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_entry(value: object, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        failures_in(value, NODES, name="f.yaml")
