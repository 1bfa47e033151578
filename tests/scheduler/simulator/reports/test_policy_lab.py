# SPDX-License-Identifier: Apache-2.0
"""The policy lab: a history under other policies, and how well the simulator reproduces what happened."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler.api.snapshot import JobSnapshot, TenantSnapshot
from scheduler.simulator.environments.recorded import RecordedAttempt, RecordedJob
from scheduler.simulator.failures import Failure, FailureKind
from scheduler.simulator.reports.comparison import ComparedPolicy
from scheduler.simulator.reports.policy_lab import LabCase, check_trace, run_case
from scheduler.simulator.traces.clusters import Cluster, uniform_cluster
from scheduler.simulator.traces.formats import read_trace
from scheduler.simulator.traces.trace import BadInput

FIFO, SRTF = ComparedPolicy("fifo", "fifo"), ComparedPolicy("srtf", "srtf")
BEGIN_S = 1_790_000_000.0  # times of a history are absolute


def recorded(
    name: str, *, at_s: float, steps: int, ended_at_s: float | None = None, step_s: float = 1.0
) -> RecordedJob:
    """A job of one GPU, whose start and stop take no time."""
    job = JobSnapshot(
        id=name,
        name=name,
        tenant="t",
        submitted_at_s=BEGIN_S + at_s,
        steps_total=steps,
        batch_size=1,
        max_workers=1,
        cpus_per_worker=0.0,
        example_s=step_s,
        start_s=0.0,
        checkpoint_s=0.0,
    )
    return RecordedJob(
        job,
        job.submitted_at_s,
        steps,
        (RecordedAttempt(1, "gpu", step_s),),
        start_s=0.0,
        organisation="A",
        ended_at_s=None if ended_at_s is None else BEGIN_S + ended_at_s,
    )


def one_gpu(n_nodes: int = 1) -> Cluster:
    return replace(uniform_cluster(n_nodes=n_nodes, n_gpus=1), tenants=(TenantSnapshot("t"),))


# one GPU, first come, first served: 1000 s, then 100 s, then 10 s
HISTORY = (
    recorded("long", at_s=0, steps=1000, ended_at_s=1000),
    recorded("middle", at_s=1, steps=100, ended_at_s=1100),
    recorded("short", at_s=2, steps=10, ended_at_s=1110),
)


def test_a_history_under_the_policy_that_ran_takes_as_long_as_it_did() -> None:
    found = run_case(LabCase(one_gpu(), (FIFO,), HISTORY))
    assert found["reproduction"] == {
        "n_jobs": 3,
        "real_mean_jct_s": pytest.approx((1000 + 1099 + 1108) / 3),
        "simulated_mean_jct_s": pytest.approx((1000 + 1099 + 1108) / 3),
        "mean_error": pytest.approx(0.0, abs=1e-9),
        "median_job_error": pytest.approx(0.0, abs=1e-9),
        "p90_job_error": pytest.approx(0.0, abs=1e-9),
    }
    assert found["real"]["median_jct_s"] == 1099


def test_what_the_simulator_does_not_know_of_appears_as_its_error() -> None:
    late = (*HISTORY[:2], replace(HISTORY[2], ended_at_s=BEGIN_S + 2 + 2216))  # twice as late as can be explained
    found = run_case(LabCase(one_gpu(), (FIFO,), late))["reproduction"]
    assert found["mean_error"] == pytest.approx(-1108 / (1000 + 1099 + 2216))
    assert found["median_job_error"] == pytest.approx(0.0, abs=1e-9)


def test_another_policy_is_compared_with_the_first_one() -> None:
    history = (*HISTORY[:1], recorded("middle", at_s=1, steps=900), recorded("short", at_s=2, steps=10))
    fifo, srtf = run_case(LabCase(one_gpu(), (FIFO, SRTF), history))["policies"]
    assert srtf["figures"]["mean_jct_s"] < fifo["figures"]["mean_jct_s"]
    assert fifo["figures"]["worst_hit"] == []
    (worst, *_) = srtf["figures"]["worst_hit"]
    assert worst["jct_s"] > worst["baseline_jct_s"]
    assert srtf["figures"]["curve"][-1][1] == 1.0
    assert srtf["figures"]["by_organisation"][0]["n_jobs"] == 3


def test_a_job_from_before_the_period_holds_gpus_and_is_not_counted() -> None:
    before = replace(recorded("before", at_s=-500, steps=1000), at_s=BEGIN_S, is_counted=False)
    half_done = replace(before, job=replace(before.job, steps_done=600.0))
    found = run_case(LabCase(one_gpu(), (FIFO,), (half_done, recorded("next", at_s=5, steps=10))))
    assert [row["job"] for row in found["jobs"]] == ["next"]
    assert found["jobs"][0]["jct_s"]["fifo"] == pytest.approx(400 - 5 + 10)


def test_a_node_that_was_away_is_away_in_the_simulation() -> None:
    away = (
        Failure(BEGIN_S, "n1", FailureKind.LOST),
        Failure(BEGIN_S + 100, "n1", FailureKind.BACK),
    )
    case = LabCase(one_gpu(2), (FIFO,), HISTORY)
    assert run_case(case)["jobs"][1]["jct_s"]["fifo"] == pytest.approx(100)
    assert run_case(replace(case, failures=away))["jobs"][1]["jct_s"]["fifo"] == pytest.approx(199)


def test_a_size_that_never_ran_has_the_models_time_corrected_by_what_was_measured() -> None:
    twice_as_slow = recorded("a", at_s=0, steps=100, step_s=1.0)
    twice_as_slow = replace(
        twice_as_slow,
        job=replace(twice_as_slow.job, min_workers=2, max_workers=2, batch_size=2),
        attempts=(RecordedAttempt(1, "gpu", 4.0),),  # the model says 2 s: two examples of 1 s
    )
    cluster = replace(uniform_cluster(n_nodes=1, n_gpus=2), tenants=(TenantSnapshot("t"),))
    plain = replace(twice_as_slow, attempts=())
    jct_s = [run_case(LabCase(cluster, (FIFO,), (one,)))["jobs"][0]["jct_s"]["fifo"] for one in (plain, twice_as_slow)]
    assert jct_s[1] == pytest.approx(2 * jct_s[0])


def test_a_policy_that_fails_has_an_error_and_the_others_their_figures() -> None:
    entries = (FIFO, ComparedPolicy("wrong", "las", {"limits": "often"}))
    good, bad = run_case(LabCase(one_gpu(), entries, HISTORY))["policies"]
    assert good["figures"] is not None
    assert bad["figures"] is None
    assert "limits" in bad["error"]


def test_a_trace_is_simulated_on_a_cluster_of_several_gpu_types() -> None:
    trace = read_trace("job,submitted_at_s,n_gpus,duration_s\na,0,1,50\nb,0,1,70\n", name="trace.csv")
    fast, slow = uniform_cluster(n_nodes=1, n_gpus=1, gpu_type="a"), uniform_cluster(n_nodes=1, n_gpus=1, gpu_type="b")
    cluster = Cluster((fast.nodes[0], replace(slow.nodes[0], name="n1")), fast.racks)
    check_trace(trace, cluster)
    found = run_case(LabCase(cluster, (FIFO,), trace=trace))
    assert (found["reproduction"], found["real"]) == (None, None)
    assert found["policies"][0]["figures"]["mean_jct_s"] == pytest.approx(60)


def test_a_trace_job_that_no_node_can_run_is_refused_with_its_row() -> None:
    trace = read_trace("job,submitted_at_s,n_gpus,duration_s\na,0,1,50\nb,0,9,70\n", name="trace.csv")
    with pytest.raises(BadInput, match=r"row 3.*needs 9 GPUs"):
        check_trace(trace, one_gpu())
