# SPDX-License-Identifier: Apache-2.0
"""Input that cannot be used: one line that names file, row and remedy; exit status 2; nothing run or written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scheduler.terminal import MURI, NXGY, TIRESIAS, YAML, lay_out, run, simulate


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return lay_out(tmp_path, monkeypatch)


HEADER = "job,submitted_at_s,n_gpus,duration_s\n"
BAD_TRACES = {
    "": "bad, row 1: the header is of no known format; known are: job, submitted_at_s, n_gpus, duration_s (MLHub)",
    "job,submitted_at_s,n_gpus\na,0,1\n": "bad, row 1: the column 'duration_s' is missing; the format needs job,",
    "job_id,num_gpu,submit_time,iterations,model_name\n0,1,0,1,x\n": "bad, row 1: the column 'duration' is missing",
    "name,time,application,num_replicas\na,0,bert,1\n": "bad, row 1: the column 'batch_size' is missing",
    MURI.replace("batch_size,", "", 1): "bad, row 1: the column 'batch_size' is missing",
    HEADER: "bad: there are no jobs in it",
    HEADER + "a,0,1,10\nb,0,0,10\n": "bad, row 3: n_gpus is '0'; it must be a number of at least 1",
    HEADER + "a,0,1.5,10\n": "bad, row 2: n_gpus is '1.5'; it must be whole",
    HEADER + "a,-1,1,10\n": "bad, row 2: submitted_at_s is '-1'; it must be a number of at least 0",
    HEADER + "a,0,1,-10\n": "bad, row 2: duration_s is '-10'; it must be a number of at least 0",
    HEADER + "a,0,1,nan\n": "bad, row 2: duration_s is 'nan'; it must be a number of at least 0",
    HEADER + "a,0,1,soon\n": "bad, row 2: duration_s is 'soon'; it must be a number of at least 0",
    HEADER + "a,0,1,0\n": "bad, row 2: job 'a' has no duration; the counting environment needs one",
    HEADER + "a,0,1,1\n\nb,0,1,1\na,0,1,1\n": "bad, row 5: job 'a' is in row 2 already; give every job its own id",
    HEADER + "a,0,1,1,9\n": "bad, row 2: 1 more cells than the header has columns; put text with commas in double",
    "job," + HEADER + "a,b,0,1,1\n": "bad, row 1: the column 'job' is there twice; rename one",
    HEADER + "a,0,1,1e300\n": "bad, row 2: duration_s is 1e300; at most 1e+15 is read",
    HEADER + "a,inf,1,1\n": "bad, row 2: submitted_at_s is 'inf'; it must be a number of at least 0",
    HEADER + ",0,1,1\n": "bad, row 2: job is empty; every job needs an id",
    HEADER + "a,0,1,1\nbig,0,5,1\n": "bad, row 3: job 'big' needs 5 GPUs, but n2g2.csv has 4; take the job out, or use",
    HEADER.strip() + ",max_gpus\na,0,2,1,1\n": "bad, row 2: it must be min_gpus <= n_gpus <= max_gpus",
    HEADER.strip() + ",priority\na,0,2,1,high\n": "bad, row 2: priority is 'high'; it must be a whole number",
    TIRESIAS.replace("0,4,0", "0,-4,0"): "bad, row 2: num_gpu is '-4'; it must be a number of at least 1",
    TIRESIAS.replace("\n1,", "\n0,"): "bad, row 3: job '0' is in row 2 already",
    MURI.replace("\n0,4", "\n0,400"): "bad, row 2: job '0' needs 400 GPUs, but n2g2.csv has 4",
    '{"jobs": [{"job": "a"}]}': "bad, row 1: the job has no 'submitted_at_s'; it needs job, submitted_at_s, n_gpus,",
    '{"jobs": [': "bad, row 1: not JSON: ",
    '{"jobs": 3}': 'bad: expected {"jobs": [{...}, ...]}',
}
BAD_CLUSTERS = {
    "bad.csv": {
        "num_switch,num_node_p_switch\n1,2\n": "bad.csv, row 1: the column 'num_gpu_p_node' is missing",
        NXGY.splitlines()[0]: "bad.csv, row 2: there is no row below the header",
        NXGY.replace("1,2,2,", "1,2,0,"): "bad.csv, row 2: num_gpu_p_node is '0'; it must be a number of at least 1",
        NXGY.replace(
            "1,2,2,", "99999999,2,2,"
        ): "bad.csv, row 2: a cluster of more than 1,000,000 nodes, GPUs, CPUs or",
        NXGY.replace("1,2,2,", "-1,2,2,"): "bad.csv, row 2: num_switch is '-1'; it must be a number of at least 1",
    },
    "bad.yaml": {
        "racks: [": "bad.yaml: not YAML: ",
        "nodes: []": "bad.yaml: expected a list under racks:, each with name, uplink and nodes",
        YAML.replace("uplink: 40Gbit", ""): "bad.yaml: rack r has no 'uplink'; add it",
        YAML.replace("uplink: 40Gbit", "uplink: 0"): "bad.yaml: r has the bandwidth 0; it must be above 0",
        YAML.replace("uplink: 40Gbit", "uplink: fast"): "bad.yaml: r has 'fast' where a bandwidth such as 10Gbit is",
        YAML.replace(
            "count: 2", "count: 9999999"
        ): "bad.yaml: node n has count 9999999; it must be a whole number from",
        YAML.replace(
            "64GiB", "9999999999TiB"
        ): "bad.yaml: node n has '9999999999TiB' where memory such as 64GiB is expected",
        YAML[: YAML.index("nodes:")] + "nodes: {}": "bad.yaml: rack r has {} under nodes:; list its nodes there",
        YAML.replace("nic:", "7:"): "bad.yaml: node n has the unknown field '7'; known: count, cpus, gpu_type,",
        YAML.replace("slots: 2", "slots: 0"): "bad.yaml: no node has a GPU; set slots: to 1 or more on some",
        YAML.replace(
            "slots: 2", "slots: -2"
        ): "bad.yaml: node n has slots -2; it must be a whole number from 0 to 1,000,000",
        YAML.replace("count: 2", "rack: r9"): "bad.yaml: node n links to rack 'r9' but is in 'r'",
        YAML.replace("nic:", "speed:"): "bad.yaml: node n has the unknown field 'speed'; known: count, cpus, gpu_type,",
        YAML + "  - {name: r, uplink: 1Gbit, nodes: []}\n": "bad.yaml: rack 'r' is there twice; give each its own name",
        YAML + "tenants: [{name: alice, parent: x}]\n": "bad.yaml: tenant 'alice' has the unknown parent 'x'; add it",
        YAML + "tenants: [{name: a, parent: b}, {name: b, parent: a}]\n": "bad.yaml: tenant 'a' is its own ancestor; ",
        YAML + "tenants: [{name: a}, {name: a}]\n": "bad.yaml: tenant 'a' is there twice; give each its own name",
        YAML
        + "tenants: [{name: a, gpus: 3}]\n": "bad.yaml: tenant 'a' has the unknown field 'gpus'; known: name, parent",
        YAML
        + "tenants: [{name: a, max_gpus: -3}]\n": "bad.yaml: tenant 'a' has max_gpus -3; it must be a whole number",
        YAML + "tenants: [{name: alice}]\n": "day.csv, row 3: job 'b' belongs to 'bob', whom bad.yaml does not name",
        YAML
        + "tenants: [{name: alice, max_gpus: 2}, {name: bob}]\n": "day.csv, row 2: job 'a' needs 4 GPUs, but 'alice'"
        " may never use more than 2; raise max_gpus in bad.yaml or take the job out",
    },
}


def refused(capsys: pytest.CaptureFixture[str], folder: Path, message: str) -> None:
    """One line that reports it, and nothing written."""
    error = capsys.readouterr().err
    assert f"scheduler: {message}" in error
    assert error.count("\n") == 1
    assert not (folder / "out.json").exists()


@pytest.mark.parametrize(("text", "message"), BAD_TRACES.items())
def test_a_bad_trace_is_refused(folder: Path, capsys: pytest.CaptureFixture[str], text: str, message: str) -> None:
    (folder / "bad").write_text(text)
    assert simulate("--json out.json", trace="bad") == 2
    refused(capsys, folder, message)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [(name, text, message) for name, cases in BAD_CLUSTERS.items() for text, message in cases.items()],
)
def test_a_bad_cluster_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, message: str
) -> None:
    (folder / name).write_text(text)
    assert simulate("--json out.json", cluster=name) == 2
    refused(capsys, folder, message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--policy lottery", "there is no policy 'lottery'; known: "),
        ("--policy las --param limit=3", "policy 'las' has no parameter 'limit'; it has: compatible, limits,"),
        ("--policy fifo --param limit=3", "policy 'fifo' has no parameter 'limit'; it has none"),
        ("--policy las --param limits=short", "parameter 'limits' of policy 'las' must be like "),
        ("--policy las --param limits=[-1]", "parameter 'limits' of policy 'las' must be like "),
        ("--policy las --param promote_after=-1", "parameter 'promote_after' of policy 'las' must be like "),
        ("--policy las --param limits=[1e999]", "--param 'limits=[1e999]' has a number that is not finite; give one"),
        ("--policy las --param limits", "--param 'limits' is not of the form key=value"),
        ("--environment moon", "argument --environment/--world: invalid choice: 'moon'"),
        ("--environment pollux", "day.csv, row 1: the pollux environment replays Pollux' own workloads only"),
        ("--information rumours", "argument --information: invalid choice: 'rumours'"),
        ("--seed -1", "argument --seed: '-1' is no whole number of at least 0"),
        ("--period 0", "argument --period: '0' is no number of seconds above 0"),
        ("--data nowhere", "nowhere: there is no such folder; check --data"),
        ("--trace nowhere.csv", "nowhere.csv: No such file or directory; check the path"),
        ("--cluster nowhere.yaml", "nowhere.yaml: No such file or directory; check the path"),
        ("--trace image", "image: not a text file in UTF-8 (byte 0)"),
        ("--json nowhere/out.json", "nowhere/out.json: there is no folder"),
        ("--report day.csv", "day.csv: it is a file; name a folder"),
        ("--trase day.csv", "unrecognized arguments: --trase day.csv"),
    ],
)
def test_bad_options_are_refused(folder: Path, capsys: pytest.CaptureFixture[str], options: str, message: str) -> None:
    (folder / "image").write_bytes(b"\xff\xd8\xff")
    assert simulate(f"--json out.json {options}") == 2
    refused(capsys, folder, message)


def test_pollux_workloads_need_their_measured_profiles(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "w.csv").write_text("name,time,application,num_replicas,batch_size\na,0,bert,1,32\n")
    assert simulate("--json out.json --environment pollux", trace="w.csv") == 2
    refused(capsys, folder, "w.csv: the pollux environment needs profiles; give their folder as --data")
    assert simulate("--json out.json --environment pollux --data .", trace="w.csv") == 2
    refused(capsys, folder, ".: there is no traces/*/*.csv in it; give the folder of the profiles")


PAIRS = "job_a,job_b,norm_a,norm_b\n"
OTHER_COMMANDS = {
    "bench --gpus 0 --jobs 5": "argument --gpus: '0' is no whole number of at least 1",
    "bench --gpus 8 --jobs 0": "argument --jobs: '0' is no whole number of at least 1",
    "bench --gpus 8 --jobs 5 --rounds -4": "argument --rounds: '-4' is no whole number of at least 1",
    "bench --gpus 99999999999 --jobs 5": "--gpus 99999999999 and --jobs 5: at most 1,000,000 of each can be measured",
    "bench --gpus 8 --jobs 5 --json nowhere/out.json": "nowhere/out.json: there is no folder",
    "bench --gpus 8 --jobs 5 --policy lottery": "there is no policy 'lottery'; known: ",
    "replay empty.json": "empty.json: there are no rounds in it; record one first",
    "replay other.json": "other.json: this snapshot has version None; this MLHub reads versions 1, 2 and 3; give",
    "replay broken.json": "broken.json, row 1: not JSON: ",
    "replay nowhere.json": "nowhere.json: No such file or directory; check the path",
    "explain other.json --job a": "other.json: this snapshot has version None",
    "interference --pairs day.csv": "day.csv, row 1: the column 'job_a' is missing; the file needs job_a, job_b,",
    "interference --pairs image": "image: not a text file in UTF-8 (byte 0)",
    "interference --pairs one.csv": "one.csv: all rows are of one pair; at least two are needed to leave one out",
    "interference --pairs one.csv --folds 0": "argument --folds: '0' is no whole number of at least 1",
    "interference --pairs one.csv --group lot": "argument --group: invalid choice: 'lot'",
    "interference --pairs one.csv --json nowhere/out.json": "nowhere/out.json: there is no folder",
    "interference --pairs slow.csv": "slow.csv, row 2: norm_a is -1; it must lie in 0..1.5: divide the speed by",
}


@pytest.mark.parametrize(("line", "message"), OTHER_COMMANDS.items())
def test_other_commands_refuse_what_they_cannot_use(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    files = {"empty.json": "[]", "other.json": '{"snapshot": {}}', "broken.json": "[1,", "one.csv": PAIRS + "x,y,1,0.5"}
    for name, text in {**files, "slow.csv": PAIRS + "x,y,-1,0.5"}.items():
        (folder / name).write_text(text)
    (folder / "image").write_bytes(b"\xff\xd8\xff")
    assert run(line) == 2
    refused(capsys, folder, message)


def test_a_spreadsheet_s_mark_at_the_beginning_of_a_trace_is_no_part_of_its_header(folder: Path) -> None:
    (folder / "marked.csv").write_text("\ufeff" + HEADER + "a,0,1,10\n", encoding="utf-8")
    assert simulate("--json out.json", trace="marked.csv") == 0
