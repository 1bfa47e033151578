# SPDX-License-Identifier: Apache-2.0
"""The command line: its forms, which scripts depend on, and what it reports of input that cannot be used."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import yaml

from scheduler import plan_to_json, snapshot_to_json
from scheduler.__main__ import main
from tests.scheduler.cases import cluster, job
from tests.scheduler.terminal import MURI, TIRESIAS, YAML, lay_out, run, simulate

FIGURES = {
    "n_submitted", "n_completed", "avg_jct_s", "median_jct_s", "p95_jct_s", "p99_jct_s", "makespan_s", "utilisation",
    "rounds", "decision_ms", "jct_s",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return lay_out(tmp_path, monkeypatch)


# simulate


@pytest.mark.slow
def test_world_is_another_name_of_the_option_environment(folder: Path) -> None:
    assert simulate("--world counting --json one.json") == simulate("--environment counting --json other.json") == 0
    one, other = (json.loads((folder / name).read_text()) for name in ("one.json", "other.json"))
    assert one["jct_s"] == other["jct_s"]


def test_a_day_can_be_made_up_for_any_cluster(folder: Path) -> None:
    assert main(["trace", "--nodes", "8", "--gpus", "4", "--out", "small.csv", "--cluster-out", "small.yaml"]) == 0
    tenants = yaml.safe_load((folder / "small.yaml").read_text())["tenants"]
    assert [tenant["guarantee"] for tenant in tenants] == [12, 12, 4, 4]


def test_a_day_is_printed_where_no_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "--nodes", "8", "--gpus", "4"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("job,submitted_at_s,n_gpus,duration_s")
    assert len(printed.out.splitlines()) == 1 + 300
    assert printed.err == "300 jobs of 4 tenants, 845 GPU hours for 32 GPUs\n"


def test_simulate_writes_the_figures_under_their_names(folder: Path) -> None:
    assert simulate("--environment counting --information durations --seed 1 --json out.json") == 0
    figures = json.loads((folder / "out.json").read_text())
    assert set(figures) >= FIGURES
    assert set(figures["decision_ms"]) == {"mean", "p99"}
    assert figures["jct_s"] == {"a": 100, "b": 140, "c": 160}
    assert figures["avg_jct_s"] == pytest.approx(400 / 3)
    assert (figures["n_submitted"], figures["n_completed"]) == (3, 3)


def test_figures_on_the_terminal_are_json_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate("--json -") == 0
    assert set(json.loads(capsys.readouterr().out)) >= FIGURES


def test_both_kinds_of_cluster_files_are_the_same_to_a_counting_environment(folder: Path) -> None:
    assert simulate("--json a.json") == simulate("--json b.json", cluster="cluster.yaml") == 0
    a, b = (json.loads((folder / name).read_text()) for name in ("a.json", "b.json"))
    assert a["jct_s"] == b["jct_s"]


@pytest.mark.parametrize(
    "text",
    [
        TIRESIAS,
        MURI,
        "job,submitted_at_s,n_gpus,duration_s\n0,0,4,100\n1,10,4,50\n",
        json.dumps(
            [{"job": str(i), "submitted_at_s": 10 * i, "n_gpus": 4, "duration_s": 100 - 50 * i} for i in (0, 1)]
        ),
    ],
)
def test_every_format_is_recognised(folder: Path, text: str) -> None:
    (folder / "trace").write_text(text)
    assert simulate("--json out.json", trace="trace", policy="srtf") == 0
    assert json.loads((folder / "out.json").read_text())["jct_s"] == {"0": 150, "1": 50}


def test_parameters_reach_the_policy(folder: Path) -> None:
    assert simulate("--param limits=[40] --param promote_after=0 --json out.json", policy="las") == 0
    assert json.loads((folder / "out.json").read_text())["jct_s"]["a"] > 100


@pytest.mark.slow
def test_a_report_has_the_jobs_the_curves_and_the_figures(folder: Path) -> None:
    assert simulate("--report r") == 0
    jobs = list(csv.DictReader((folder / "r/jobs.csv").read_text().splitlines()))
    assert [(job["job"], float(job["waited_s"])) for job in jobs] == [("a", 0), ("b", 90), ("c", 130)]
    assert all(float(job["rho"]) > 0 for job in jobs)
    names = ("jct_cdf", "utilisation", "jobs", "fairness", "gantt")
    assert {f.name for f in (folder / "r").iterdir()} == {
        "jobs.csv", "curves.csv", *(f"{name}.{kind}" for name in names for kind in ("png", "svg"))
    }  # fmt: skip


def test_a_tenants_limit_in_the_cluster_file_holds(folder: Path) -> None:
    (folder / "cluster.yaml").write_text(YAML + "tenants: [{name: alice, max_running_jobs: 1}, {name: bob}]\n")
    assert simulate("--json out.json", cluster="cluster.yaml", policy="srtf") == 0
    assert json.loads((folder / "out.json").read_text())["n_completed"] == 3


# compare


@pytest.mark.slow
def test_compare_plays_all_policies_on_the_same_jobs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policies = "--policies fifo,srtf,short=las --param short.limits=[40]"
    compared = f"compare --trace day.csv --cluster n2g2.csv {policies} --seeds 2 --processes 1 --out out"
    assert run(compared) == 0
    rows = list(csv.DictReader((folder / "out/table.csv").read_text().splitlines()))
    assert [(row["policy"], row["runs"], row["n_completed"]) for row in rows] == [
        ("fifo", "2", "6"), ("srtf", "2", "6"), ("short", "2", "6")
    ]  # fmt: skip
    assert float(rows[0]["avg_jct_s"]) == pytest.approx(400 / 3)
    assert min(float(row["times_best"]) for row in rows) == 1
    printed = capsys.readouterr()
    assert (folder / "out/table.md").read_text().strip() == printed.out.strip()
    assert "6/6 short · day.csv · seed 1: 3 jobs" in printed.err
    names = {"jct_cdf", "utilisation", "jobs", "fairness", "avg_jct", "gantt_fifo", "gantt_srtf", "gantt_short"}
    tables = {"table.csv", "table.md", "runs.csv", "jobs.csv", "curves.csv"}
    assert {f.name for f in (folder / "out").iterdir()} == tables | {
        f"{name}.{kind}" for name in names for kind in ("png", "svg")
    }


@pytest.mark.slow
def test_compare_gives_the_same_in_several_processes(folder: Path) -> None:
    for jobs in (1, 2):
        command = f"compare --trace day.csv --cluster n2g2.csv --policies fifo,srtf --processes {jobs} --out out{jobs}"
        assert run(command) == 0
    one, two = ((folder / f"out{jobs}/jobs.csv").read_text() for jobs in (1, 2))
    assert one == two


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--policies fifo,lass", "there is no policy 'lass'; known: "),
        ("--policies fifo,fifo", "'fifo' is in --policies twice; name one of them, as in other=fifo"),
        ("--policies ,", "--policies names none; as in fifo,srtf,mlhub"),
        ("--policies las --param limits=[1]", "--param 'limits' is of none of the policies; write it as in las.limits"),
        ("--policies las --param las.limit=1", "policy 'las' has no parameter 'limit'; it has: compatible, limits"),
        ("--policies fifo --seeds 0", "argument --seeds: '0' is no whole number of at least 1"),
        ("--policies fifo --trace day.csv day.csv", "a trace is named twice after --trace; name each once"),
        ("--policies fifo --trace day.csv bad.csv", "bad.csv, row 2: n_gpus is '0'; it must be a number of at least 1"),
        ("--policies fifo --out day.csv", "day.csv: it is a file; name a folder"),
    ],
)
def test_compare_refuses_in_one_line_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], options: str, message: str
) -> None:
    (folder / "bad.csv").write_text("job,submitted_at_s,n_gpus,duration_s\na,0,0,10\n")
    before = sorted(folder.iterdir())
    assert run(f"compare --trace day.csv --cluster n2g2.csv --processes 1 --out out {options}") == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert sorted(folder.iterdir()) == before


# trace


def test_a_made_up_day_can_be_replayed_on_its_cluster(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = "--n-jobs 30 --nodes 2 --gpus 4 --racks 1 --load 0.8"
    command = f"trace --tenants a:2:4 b:1:2 {size} --seed 5 --out made.csv --cluster-out made.yaml"
    assert run(command) == 0
    assert capsys.readouterr().out == "30 jobs of 2 tenants, 154 GPU hours for 8 GPUs\n"
    first = (folder / "made.csv").read_text()
    assert run(command) == 0
    assert (folder / "made.csv").read_text() == first
    tenants = yaml.safe_load((folder / "made.yaml").read_text())["tenants"]
    assert [(tenant["name"], tenant["guarantee"]) for tenant in tenants] == [("a", 4), ("b", 2)]
    assert (
        simulate("--json out.json --report r --no-figures", trace="made.csv", cluster="made.yaml", policy="srtf") == 0
    )
    assert json.loads((folder / "out.json").read_text())["n_completed"] == 30
    assert (folder / "r/broken.csv").read_text().startswith("job,tenant,since_s,to_s\n")


def test_a_made_up_day_of_measured_job_types_is_played_by_the_sharing_environment(folder: Path) -> None:
    (folder / "measured").mkdir()
    isolated = "worker_type,job_type,scale_factor,steps_per_s\nv100,one,1,2.5\nv100,any,1,10\nv100,any,4,30\n"
    pairs = "worker_type,job_a,scale_a,job_b,scale_b,norm_a,norm_b\nv100,one,1,any,1,0.9,0.8\n"
    (folder / "measured/isolated.csv").write_text(isolated)
    (folder / "measured/colocated_pairs_v100.csv").write_text(pairs)
    size = "--sizes 1:0.5 8:0.5 --tenants a b --n-jobs 20 --nodes 4 --gpus 8 --racks 1 --load 0.3"
    assert run(f"trace --data measured {size} --out made.csv --cluster-out made.yaml") == 0
    rows = [line.split(",") for line in (folder / "made.csv").read_text().splitlines()[1:]]
    assert {(row[5], row[2]) for row in rows} == {("one", "1"), ("any", "1"), ("any", "4")}
    options = "--environment sharing --data measured --json out.json"
    assert simulate(options, trace="made.csv", cluster="made.yaml", policy="mlhub") == 0
    assert json.loads((folder / "out.json").read_text())["n_completed"] == 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--sizes 1:0.5 2:x", "--sizes '2:x' is not of the form GPUS:SHARE, as in 2:0.18"),
        ("--tenants a:b", "--tenants 'a:b' is not of the form NAME:SHARE:GPUS, as in research:3:24"),
        ("--tenants a a", "the tenants are a, a; name at least one, each once"),
        ("--tenants a:1:100", "the guarantees are more than the 64 GPUs that there are; lower some"),
        ("--n-jobs 0", "argument --n-jobs: '0' is no whole number of at least 1"),
        ("--load -1", "load -1: all must be above 0"),
        ("--out no/where.csv", "no/where.csv: there is no folder"),
    ],
)
def test_impossible_days_are_refused_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], options: str, message: str
) -> None:
    assert run(f"trace --out made.csv {options}") == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (folder / "made.csv").exists()


# replay and explain


def record(folder: Path) -> None:
    """A round in which a runs and b waits, as the platform stores it."""
    case = cluster(gpus=2).running(job("a", gpus=2, name="first")).waiting(job("b", gpus=1, name="second", at=5.0))
    plan = case.decide("fifo")
    entry = {"snapshot": snapshot_to_json(case.snapshot), "policy": "fifo", "plan": plan_to_json(plan)}
    (folder / "round.json").write_text(json.dumps(entry))


def test_a_recorded_round_comes_out_as_it_was(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(folder)
    assert run("replay round.json --json plans.json") == 0
    assert capsys.readouterr().out == "round 1: 2 jobs, fifo: as recorded\n"
    assert len(json.loads((folder / "plans.json").read_text())[0]["decisions"]) == 2


def test_a_recorded_round_can_be_decided_by_another_policy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(folder)
    assert run("replay round.json --policy mlhub") == 0
    assert "round 1: 2 jobs, mlhub: " in capsys.readouterr().out


def test_a_recorded_round_is_explained_job_by_job(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(folder)
    assert run("explain round.json --job b") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["b second: wait", "    Pending: all 2 GPUs are allocated; it requests 1."]
    assert run("explain round.json --job z") == 2
    assert capsys.readouterr().err == "scheduler: job 'z' is not in this round; it has a, b\n"


@pytest.mark.parametrize("command", ["replay", "explain"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", ", row 1: not JSON: "),
        ('{"snapshot": {"now_s": 0}}', ": this snapshot has version None; this MLHub reads version"),
        ('{"snapshot": {"version": 1}}', ": not a snapshot's record: 'now_s'"),
        ('{"snapshot": 3}', ": 3 is no snapshot's record"),
        ("[{}]", ': round 1 has no "snapshot"; record it as {"snapshot", "policy", "plan"}'),
    ],
)
def test_rounds_that_cannot_be_read_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, text: str, message: str
) -> None:
    (folder / "round.json").write_text(text)
    assert run(f"{command} round.json") == 2
    error = capsys.readouterr().err
    assert error.startswith(f"scheduler: round.json{message}")
    assert error.count("\n") == 1


def test_no_command_and_help_show_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("") == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert run("--help") == 0
    out = capsys.readouterr().out
    for command in ("simulate", "compare", "trace", "replay", "explain", "interference"):
        assert command in out
        assert run(f"{command} --help") == 0


# failures


def test_failures_of_a_file_cost_what_was_not_saved(folder: Path) -> None:
    (folder / "f.yaml").write_text("lost: [{node: n0, at_s: 30, for_s: 10}]\n")
    assert simulate("--failures f.yaml --checkpoint-every-s 20 --json out.json") == 0
    figures = json.loads((folder / "out.json").read_text())
    assert (figures["n_failures"], figures["lost_gpu_s"]) == (1, 40)
    assert figures["jct_s"]["a"] == 140  # 20 s are saved; meanwhile c has its 30 s on the other node


def test_failures_are_drawn_by_the_seed(folder: Path) -> None:
    options = "--node-mtbf-s 60 --node-mttr-s 5 --slow-every-s 50 --slow-pace 3 --checkpoint-every-s 10 --json"
    assert [simulate(f"{options} {name} --seed {seed}") for name, seed in (("a", 1), ("b", 1), ("c", 2))] == [0, 0, 0]
    a, b, c = (json.loads((folder / name).read_text())["jct_s"] for name in "abc")
    assert a == b != c


def test_failures_that_make_no_sense_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "f.yaml").write_text("lost: [{node: n7, at_s: 30}]\n")
    assert simulate("--failures f.yaml") == 2
    assert "f.yaml: lost names the node 'n7', which the cluster does not have" in capsys.readouterr().err
    assert simulate("--failures f.yaml --node-mtbf-s 9") == 2
    assert simulate("--slow-every-s 9 --slow-pace 0.5") == 2
