# SPDX-License-Identifier: Apache-2.0
"""The testbed as far as it needs no network namespaces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from benchmarks.testbed import cells
from benchmarks.testbed_bound import (
    GangOption,
    SearchedJob,
    TypeTimeline,
    capacity_of_nodes,
    least_found_s,
    mean_jct_s,
    searched_jobs,
)
from benchmarks.testbed_calibration import MeasuredGang, NodeCalibration
from benchmarks.testbed_forecasts import forecast_lines
from benchmarks.testbed_page import write_page
from benchmarks.testbed_runs import OF_ATTEMPT, RunStore, TestbedRun
from benchmarks.testbed_trace import COMPARED, KINDS, jobs_of
from benchmarks.testbed_twin import simulated_jct_s
from benchmarks.virtual_nodes import VirtualCluster, VirtualNode
from mlhub.backends.local import read_cluster
from scheduler import POLICIES
from scheduler.policies.abilities import abilities_of


def test_the_local_backend_reads_the_virtual_clusters_file(tmp_path: Path) -> None:
    nodes = tuple(
        VirtualNode(f"node-{i}", f"rack-{i // 2}", f"10.77.0.{10 + i}", ("sh", "-c", 'echo 0 > x; exec "$@"', "sh"))
        for i in range(4)
    )
    cluster = VirtualCluster(nodes, "10.77.0.1", nic_bps=200e6, uplink_bps=100e6)
    (tmp_path / "cluster.yaml").write_text(cluster.as_yaml())
    found = read_cluster(tmp_path / "cluster.yaml")
    assert [(n.name, n.rack, n.n_slots, n.nic_bps, n.rack_uplink_bps) for n in found.nodes] == [
        (f"node-{i}", f"rack-{i // 2}", 1, 200e6, 100e6) for i in range(4)
    ]
    assert found.place("node-3").address == "10.77.0.13"
    assert found.place("node-3").enter == nodes[3].enter


def test_every_draw_has_all_kinds_both_organisations_and_guesses_that_fit_a_type() -> None:
    for seed in (1, 2, 3):
        jobs = jobs_of(seed, 20)
        assert jobs == jobs_of(seed, 20) != jobs_of(seed + 10, 20)
        assert {job.kind.name for job in jobs} == {kind.name for kind in KINDS}
        assert {job.organisation for job in jobs} == {0, 1}
        assert all(1 <= job.guess <= 4 for job in jobs)
        assert len({job.name for job in jobs}) == len(jobs)


def test_each_seed_begins_with_another_policy_and_has_all_of_them() -> None:
    order = cells(COMPARED, [1, 2, 3])
    assert len(set(order)) == len(order) == 21
    firsts = [next(policy for policy, of_seed in order if of_seed == seed) for seed in (1, 2, 3)]
    assert len(set(firsts)) == 3


def recorded_run(policy: str, seed: int, *, jct_s: float, steps_s: tuple[float, float] = (1.0, 1.0)) -> TestbedRun:
    """Two jobs, the second one launched two minutes after the first. steps_s: predicted and measured, of the second."""
    jobs = []
    for i, at in enumerate(("12:00:00", "12:02:00")):
        predicted, measured = steps_s if i else (3.0, 1.0)
        attempt = dict.fromkeys(OF_ATTEMPT) | {
            "number": 1, "mode": "all_reduce", "n_workers": 1, "n_servers": 0, "created_at": f"2030-01-01T{at}+00:00",
            "training_at": f"2030-01-01T{at}+00:00", "ended_at": "2030-01-01T12:05:00+00:00", "nodes": ["node-0"],
            "predicted_step_s": predicted, "measured_step_s": measured,
        }  # fmt: skip
        jobs.append({
            "name": f"{i:02d}-cnn", "submitted_at": f"2030-01-01T{at}+00:00", "attempts": [attempt],
            "finished_at": "2030-01-01T12:05:00+00:00", "jct_s": jct_s,
        })  # fmt: skip
    return TestbedRun(policy, seed, f"2030-01-01T12:0{seed}:00+00:00", 1.0, tuple(jobs))


CALIBRATION = NodeCalibration(
    tuple(
        MeasuredGang(
            kind.name,
            {
                "mode": kind.mode or "all_reduce",
                "n_workers": 1,
                "n_servers": 1 if kind.mode else 0,
                "n_nodes": 1,
                "n_racks": 1,
                "gpu_type": gpu_type,
                "batch_size": kind.batch_size,
                "step_s": step_s,
                "compute_s": step_s,
                "sync_s": 0.0,
                "n_steps": 50,
            },
            20.0,
            {"example_s": 0.001, "step_overhead_s": 0.01, "parameters_bytes": 400_000},
            30,
        )
        for kind in KINDS
        for gpu_type, step_s in (("fast", 0.2), ("slow", 0.4))
    ),
    (0.10, 0.11, 0.12),
)


@pytest.mark.slow
def test_runs_are_kept_one_by_one_and_the_page_is_made_of_what_is_kept(tmp_path: Path) -> None:
    store, page = RunStore(tmp_path / "runs"), tmp_path / "results" / "testbed.md"
    page.parent.mkdir()
    store.keep_calibration(CALIBRATION)
    store.keep(recorded_run("mlhub", 1, jct_s=70.0, steps_s=(1.1, 1.0)))
    assert store.has("mlhub", 1, n_jobs=2)
    assert not store.has("mlhub", 2, n_jobs=2)
    assert not store.has("mlhub", 1, n_jobs=20)  # of another trace
    store.keep(recorded_run("optimus", 1, jct_s=100.0))
    store.keep(recorded_run("optimus", 2, jct_s=10.0))  # a seed that mlhub has not: it is not compared
    write_page(page, store, n_jobs=2)
    words = page.read_text()
    assert "at least 20% below the best rival's: met; it is 30% below `optimus`'s on the same seeds" in words
    assert "at most 15%: met (10%)" in words  # the first minute's error of 200 % does not count
    assert "3 runs, 2030-01-01" in words
    assert "100, 110, 120 ms a step (18% from the fastest" in words
    assert (page.parent / "testbed-jobs.svg").exists()


def outcomes(n: int, within_p90: float | None, n_waited: int, started: float | None) -> dict[str, object]:
    return {"n": n, "within_p90": within_p90, "n_waited": n_waited, "started_within_p90": started}


def with_outcomes(run: TestbedRun, *, ended: float, started: float | None) -> TestbedRun:
    n_waited = 0 if started is None else 2
    first = outcomes(4, ended, n_waited, started)
    return replace(
        run,
        calibration={
            "calibration": [{"moment": "submission", **first}, {"moment": "launch", **outcomes(4, 1.0, 0, None)}],
            "calibration_by_organisation": [{"organisation": "acme", **first}],
            "calibration_by_cause": [{"cause": "", **first}],
        },
    )


def test_forecasts_of_all_seeds_count_together_and_runs_without_any_are_left_out() -> None:
    runs = {
        "mlhub": [
            with_outcomes(recorded_run("mlhub", 1, jct_s=70.0), ended=1.0, started=0.5),
            with_outcomes(recorded_run("mlhub", 2, jct_s=70.0), ended=0.75, started=None),
            recorded_run("mlhub", 3, jct_s=70.0),
        ],
        "fifo": [recorded_run("fifo", 1, jct_s=70.0)],
        "optimus": [with_outcomes(recorded_run("optimus", 1, jct_s=70.0), ended=0.9, started=None)],
    }
    lines = forecast_lines(runs)
    assert "| mlhub | 1, 2 | 50% (2) | 88% (8) | 100% (8) |" in lines
    assert "| optimus | 1 | – (0) | 90% (4) | 100% (4) |" in lines
    assert "| acme | 50% (2) | 88% (12) |" in lines
    assert lines[-1].endswith("**missed** for `mlhub`.")
    assert forecast_lines({"fifo": runs["fifo"]}) == []


@pytest.mark.parametrize("policy", COMPARED)
def test_the_twin_ends_all_jobs_under_every_policy_and_knows_its_nodes(policy: str) -> None:
    jobs = jobs_of(1, 6)
    is_elastic = abilities_of(POLICIES[policy]).is_elastic
    simulated = simulated_jct_s(jobs, CALIBRATION, policy, is_elastic=is_elastic)
    least = [20.0 + job.epochs * 30 * 0.2 / 8 for job in jobs]  # a start, and steps that eight nodes share at best
    assert len(simulated) == 6
    assert all(jct_s > at_least for jct_s, at_least in zip(simulated, least, strict=True))


def test_the_search_for_the_least_mean_finds_the_order_and_sizes_that_are_best() -> None:
    """On two GPUs of one type, two jobs: one after the other on both GPUs, the shorter first, is best."""
    short = SearchedJob(0.0, (GangOption("fast", 1, 20.0), GangOption("fast", 2, 10.0)))
    long = SearchedJob(0.0, (GangOption("fast", 1, 100.0), GangOption("fast", 2, 50.0)))
    assert mean_jct_s([long, short], [0, 1], [1, 1], {"fast": 2}) == pytest.approx((50.0 + 60.0) / 2)
    assert least_found_s([long, short], {"fast": 2}, n_steps=200) == pytest.approx((10.0 + 60.0) / 2)


def test_a_searched_job_starts_when_enough_gpus_are_free_for_all_of_its_time() -> None:
    timeline = TypeTimeline(2)
    assert timeline.reserve(10.0, 10.0, 1) == 10.0
    assert timeline.reserve(0.0, 10.0, 2) == 0.0  # before it
    assert timeline.reserve(0.0, 5.0, 2) == 20.0
    assert timeline.reserve(0.0, 10.0, 1) == 10.0  # next to the first
    assert timeline.reserve(0.0, 1.0, 1) == 25.0


def test_the_bound_is_below_what_every_policy_reaches_on_the_twin() -> None:
    jobs = jobs_of(1, 6)
    found_s = least_found_s(searched_jobs(jobs, CALIBRATION), capacity_of_nodes(), n_steps=2000)
    assert found_s <= fmean(simulated_jct_s(jobs, CALIBRATION, "mlhub", is_elastic=True))
