# SPDX-License-Identifier: Apache-2.0
"""Reports of simulations small enough to be worked out by hand: figures, rows, fairness, broken guarantees."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler import GangAllocation, Mode, NodeAllocation, policy_named
from scheduler.simulator import SimulationOutcome, simulate
from scheduler.simulator.environments.counting import CountingEnvironment
from scheduler.simulator.outcome import JobHistory
from scheduler.simulator.reports.broken_guarantees import BrokenGuarantee, broken_guarantees
from scheduler.simulator.reports.figures import averages, compared, gantt
from scheduler.simulator.reports.finish_time_fairness import alone_s, finish_time_fairness
from scheduler.simulator.reports.summary import (
    csv_of,
    curves_of,
    job_rows,
    jobs_curve,
    markdown_of,
    summary,
    utilisation_curve,
)
from scheduler.simulator.traces.clusters import uniform_cluster
from scheduler.simulator.traces.trace import Trace, TraceJob
from tests.scheduler.cases import job

CLUSTER = uniform_cluster(n_nodes=1, n_gpus=4)
TWO = Trace("case", "mlhub", (TraceJob("a", 0, 4, 100), TraceJob("b", 10, 4, 50)))


def runs(trace: Trace = TWO, policy: str = "fifo") -> SimulationOutcome:
    return simulate(CountingEnvironment(trace, CLUSTER), policy=policy_named(policy, {}))


def history(
    name: str, *spans: tuple[float, float, tuple[int, ...]], at: float = 0.0, tenant: str = "alice"
) -> JobHistory:
    """A job that held these GPUs of n0 from and to, and then ended."""
    held = [(a, b, GangAllocation(Mode.ALL_REDUCE, len(g), 0, (NodeAllocation("n0", g),))) for a, b, g in spans]
    most = max((len(g) for _, _, g in spans), default=1)
    return JobHistory(job(name, gpus=most, tenant=tenant), at, held[0][0], held[-1][1], spans=held)


def test_a_gpu_that_two_jobs_share_is_in_use_once() -> None:
    histories = {"a": history("a", (0, 100, (0,))), "b": history("b", (50, 150, (0,)))}
    figures = summary(SimulationOutcome(histories, 1, (), 150.0), nodes=CLUSTER.nodes)
    assert figures["utilisation"] == pytest.approx(150 / (4 * 150))


def test_the_rows_show_waiting_restarts_and_gpu_seconds() -> None:
    a, b = job_rows(runs(policy="srtf"), rho={"a": 1.5})
    assert (a["waited_s"], a["n_restarts"], a["gpu_s"], a["rho"]) == (pytest.approx(50), 1, 400, 1.5)
    assert (b["jct_s"], b["waited_s"], b["n_restarts"], b["rho"]) == (50, 0, 0, None)


def test_tables_have_the_rows_in_both_forms() -> None:
    rows = [{"policy": "fifo", "avg_jct_s": 1234.5, "rho": None}, {"policy": "srtf", "avg_jct_s": 0.5, "rho": 2.0}]
    assert csv_of(rows) == "policy,avg_jct_s,rho\nfifo,1234.5,\nsrtf,0.5,2\n"
    assert markdown_of(rows).splitlines()[2:] == ["| fifo | 1,234 |  |", "| srtf | 0.5 | 2 |"]


def test_the_curves_integrate_to_what_was_held_and_to_the_completion_times() -> None:
    outcome = runs()
    at_B, share_B = utilisation_curve(outcome, nodes=CLUSTER.nodes, n_bins=7)
    assert share_B == pytest.approx(np.ones(7))
    assert at_B[0] == pytest.approx(150 / 14)
    _, n_jobs_B = jobs_curve(outcome, n_bins=13)
    assert n_jobs_B.sum() * 150 / 13 == pytest.approx(100 + 140)


def test_alone_every_job_takes_its_duration() -> None:
    assert alone_s(TWO, lambda trace: CountingEnvironment(trace, CLUSTER)) == {"a": 100, "b": 50}


def test_rho_is_one_for_a_job_alone_and_says_who_pays_for_the_queue() -> None:
    """Under fifo a is alone for 10 s of 100: 1.9 jobs on average, so 190 s on its share; b takes 140 of 1.64 x 50."""
    alone = {"a": 100.0, "b": 50.0}
    asked = {"a": 4, "b": 4}
    lonely = finish_time_fairness(runs(Trace("one", "mlhub", TWO.jobs[:1])), alone_s=alone, n_asked=asked, n_gpus=4)
    assert lonely == {"a": pytest.approx(1.0)}
    both = finish_time_fairness(runs(), alone_s=alone, n_asked=asked, n_gpus=4)
    assert both == {"a": pytest.approx(100 / 190), "b": pytest.approx(140 / (50 * (1 + 90 / 140)))}


def test_a_job_smaller_than_its_share_is_not_expected_to_take_turns() -> None:
    trace = Trace("small", "mlhub", (TraceJob("a", 0, 1, 100), TraceJob("b", 0, 1, 100)))
    found = finish_time_fairness(runs(trace), alone_s={"a": 100.0, "b": 100.0}, n_asked={"a": 1, "b": 1}, n_gpus=4)
    assert found == {"a": pytest.approx(1.0), "b": pytest.approx(1.0)}


def test_a_guarantee_is_broken_where_a_job_waits_although_its_tenant_holds_too_little() -> None:
    """Alice may have 2; her second job waits from 0 to 60 next to one GPU, her third from 60 on, when she is full."""
    histories = {
        "a": history("a", (0, 100, (0,))),
        "b": history("b", (60, 160, (1,))),
        "c": history("c", (100, 200, (0,)), at=10.0),
        "x": history("x", (0, 60, (1, 2, 3)), tenant="bob"),
    }
    outcome = SimulationOutcome(histories, 1, (), 200.0)
    found = broken_guarantees(outcome, guarantees={"alice": 2}, grace_s=30.0)
    assert found == [BrokenGuarantee("b", "alice", 0.0, 60.0), BrokenGuarantee("c", "alice", 10.0, 60.0)]
    assert broken_guarantees(outcome, guarantees={"alice": 2}, grace_s=60.0) == []
    assert broken_guarantees(outcome, guarantees={"alice": 1, "bob": 4}, grace_s=0.0) == []


def test_a_job_that_is_put_aside_within_its_guarantee_counts_from_then_on() -> None:
    histories = {"a": history("a", (0, 50, (0,)), (90, 100, (0,)))}
    found = broken_guarantees(SimulationOutcome(histories, 1, (), 100.0), guarantees={"alice": 1}, grace_s=5.0)
    assert found == [BrokenGuarantee("a", "alice", 50.0, 90.0)]


@pytest.mark.slow
def test_every_figure_is_drawn_as_png_and_svg_and_the_same_each_time() -> None:
    outcome = runs()
    curves = {"fifo": curves_of(outcome, nodes=CLUSTER.nodes, rho={"a": 1.0, "b": 2.0})}
    files = compared(curves) | gantt(outcome, nodes=CLUSTER.nodes) | averages([("fifo", 120.0, 3.0)])
    names = {"jct_cdf", "utilisation", "jobs", "fairness", "gantt", "avg_jct"}
    assert set(files) == {f"{name}.{kind}" for name in names for kind in ("png", "svg")}
    assert all(files[f"{name}.png"].startswith(b"\x89PNG") for name in names)
    assert all(b"</svg>" in files[f"{name}.svg"] for name in names)
    assert gantt(outcome, nodes=CLUSTER.nodes)["gantt.svg"] == files["gantt.svg"]


def test_no_gantt_chart_of_more_rows_than_can_be_seen() -> None:
    assert gantt(runs(), nodes=uniform_cluster(n_nodes=100, n_gpus=8).nodes) == {}
