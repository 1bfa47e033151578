# SPDX-License-Identifier: Apache-2.0
"""The launcher against an API that is away, forgets, repeats or refuses: nothing is lost, nothing comes twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlhub.runtime.launcher.ingest_api import (
    MAX_RETRY_AFTER_S,
    IngestApi,
    IngestUnavailableError,
    RefusedError,
    StorageQuotaError,
)
from mlhub.runtime.launcher.shipping import Shipper
from mlhub.wire.exits import Cause, ExitCode
from mlhub.wire.launch import Input, ModelSpec, PodSpec, SyncMode, TrainingSpec
from tests.runtime.gang import ROOT, Gang, write_blobs
from tests.runtime.launcher.ingest_server import Ingest
from tests.runtime.processes import PROGRESS_EVERY_S
from tests.runtime.scripts.test_script import gang as script_gang


class Ship:
    def __init__(self, ingest: Ingest, folder: Path) -> None:
        self.reports, self.log, self.usage = (folder / f"{name}.jsonl" for name in ("reports", "output", "usage"))
        self.ends: list[str] = []
        api = IngestApi(ingest.url, "attempt", "token")
        self.shipper = Shipper(
            api, role="worker", index=0, reports=self.reports, log=self.log, on_final=self.ends.append,
            usage=self.usage,
        )  # fmt: skip
        self.shipper.start()

    def say(self, *lines: str) -> None:
        with self.log.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))


def until(condition: Any, *, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def test_lines_arrive_once_and_in_order_though_answers_are_lost(ingest: Ingest, tmp_path: Path) -> None:
    ship = Ship(ingest, tmp_path)
    ingest.drop_answers = 2
    ship.say(*(f"line {i}" for i in range(2500)))
    assert ship.shipper.drain(timeout_s=120)
    assert ingest.streams["log"] == [f"line {i}" for i in range(2500)]


def test_what_was_reported_while_the_api_was_away_arrives_when_it_is_back(ingest: Ingest, tmp_path: Path) -> None:
    ingest.is_away = True
    ship = Ship(ingest, tmp_path)
    ship.say("first")
    until(lambda: ingest.n_requests >= 2)
    ship.say("second")
    ship.reports.write_text(json.dumps({"type": "phase"}) + "\n")
    ingest.is_away = False
    assert ship.shipper.drain(timeout_s=120)
    assert ingest.streams == {"log": ["first", "second"], "reports": [{"type": "phase"}]}


def test_a_pod_that_reports_too_fast_waits_and_loses_nothing(ingest: Ingest, tmp_path: Path) -> None:
    ingest.refusals = ["0", "1"]
    ship = Ship(ingest, tmp_path)
    ship.say(*(f"line {i}" for i in range(1500)))
    assert ship.shipper.drain(timeout_s=120)
    assert ingest.streams["log"] == [f"line {i}" for i in range(1500)]
    assert ingest.refusals == []


def test_what_a_proxy_answers_in_place_of_the_api_loses_nothing(ingest: Ingest, tmp_path: Path) -> None:
    ingest.foreign_answers = [b"ok", b"<html>Sign in</html>", b"[" * 100_000, b"[1]", b""]
    ship = Ship(ingest, tmp_path)
    ship.say("a line")
    assert ship.shipper.drain(timeout_s=120)
    assert ingest.streams["log"] == ["a line"]
    assert not ingest.foreign_answers
    assert not ship.ends


def test_an_artifact_over_the_storage_quota_is_told_from_other_refusals(ingest: Ingest, tmp_path: Path) -> None:
    file = tmp_path / "weights.safetensors"
    file.write_bytes(b"weights")
    api = IngestApi(ingest.url, "attempt", "token")
    ingest.problem = {"code": "quota_exceeded", "detail": "A may store 10 bytes."}
    with pytest.raises(StorageQuotaError, match="A may store 10 bytes"):
        api.put_artifact(file.name, file, sha256="0" * 64)
    ingest.problem = {"code": "hash_mismatch", "detail": "Other bytes."}
    with pytest.raises(RefusedError, match="hash_mismatch") as refused:
        api.put_artifact(file.name, file, sha256="0" * 64)
    assert not isinstance(refused.value, StorageQuotaError)


@pytest.mark.parametrize(("asked", "waited_s"), [("7", 7.0), ("86400", MAX_RETRY_AFTER_S), ("soon", 0.0)])
def test_a_refusal_says_how_long_to_wait_within_bounds(ingest: Ingest, asked: str, waited_s: float) -> None:
    ingest.refusals = [asked]
    with pytest.raises(IngestUnavailableError) as refused:
        IngestApi(ingest.url, "attempt", "token").send_lines(role="worker", index=0, stream="log", first=0, lines=["a"])
    assert refused.value.retry_after_s == waited_s


def test_an_api_that_lost_lines_gets_them_again(ingest: Ingest, tmp_path: Path) -> None:
    ship = Ship(ingest, tmp_path)
    ship.say("a", "b", "c")
    until(lambda: len(ingest.streams.get("log", [])) == 3)
    ingest.forget("log", 1)
    ship.say("d")
    assert ship.shipper.drain(timeout_s=120)
    assert ingest.streams["log"] == ["a", "b", "c", "d"]


def test_samples_of_usage_arrive_at_the_latest_in_the_end(ingest: Ingest, tmp_path: Path) -> None:
    ship = Ship(ingest, tmp_path)
    ship.usage.write_text('{"at": 1}\n{"at": 2}\n')
    assert ship.shipper.drain(timeout_s=120)
    assert ingest.streams["usage"] == [{"at": 1}, {"at": 2}]


def test_a_platform_that_knows_no_usage_gets_all_else(ingest: Ingest, tmp_path: Path) -> None:
    ingest.unknown_streams = frozenset({"usage"})
    ship = Ship(ingest, tmp_path)
    ship.usage.write_text('{"at": 1}\n')
    ship.say("a line")
    assert ship.shipper.drain(timeout_s=120)
    assert ingest.streams == {"log": ["a line"]}
    assert not ship.ends


def test_a_fenced_attempt_is_refused_once_and_sends_no_more(ingest: Ingest, tmp_path: Path) -> None:
    ingest.is_fenced = True
    ship = Ship(ingest, tmp_path)
    ship.say("unwanted")
    until(lambda: ship.ends)
    assert len(ship.ends) == 1
    assert not ship.shipper.drain(timeout_s=1)


@pytest.mark.parametrize("line", ["no report", '{"type": "phase"', "[" * 100_000, '"' + "x" * 2_000_000 + '"'])
def test_a_line_that_is_no_report_ends_the_pod_and_not_only_the_thread_that_ships(
    ingest: Ingest, tmp_path: Path, line: str
) -> None:
    """The user's code can write to the file: a pod whose reports cease to arrive would train on without a word."""
    ship = Ship(ingest, tmp_path)
    with ship.reports.open("w") as file:
        file.write(line + "\n")
    until(lambda: ship.ends)
    assert "Line 0 of the pod's reports is no report" in ship.ends[0]
    assert ship.shipper.is_refused


def test_the_last_line_counts_without_its_end_but_half_a_report_does_not(ingest: Ingest, tmp_path: Path) -> None:
    ship = Ship(ingest, tmp_path)
    with ship.log.open("wb") as file:
        file.write(b"whole\nhalf \xff\x00")
    with ship.reports.open("w") as file:
        file.write('{"type": "phase"}\n{"type": "met')
    assert ship.shipper.drain(timeout_s=120)
    assert ingest.streams["log"] == ["whole", "half ��"]
    assert ingest.streams["reports"] == [{"type": "phase"}]


@pytest.mark.slow
@pytest.mark.dist
def test_a_pod_trains_and_hands_in_everything_though_the_api_is_away_at_first(ingest: Ingest, tmp_path: Path) -> None:
    ingest.is_away = True
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz"))
    pod = _launch(gang, ingest)
    until(lambda: (gang.work() / "artifacts" / "artifacts.json").exists(), seconds=120)
    assert pod.poll() is None
    ingest.is_away = False
    assert pod.wait(120) == ExitCode.DONE
    kinds = [report["type"] for report in ingest.streams["reports"]]
    assert kinds.count("result") == 1
    assert sum(sample["values"].get("cpus", 0) * sample["interval_s"] for sample in ingest.streams["usage"]) > 0
    assert "metrics" in kinds
    assert set(ingest.artifacts) == {"weights.safetensors", "metadata.json"}


USING = """
import os
import greeting
print(greeting.WORDS, os.environ["PLAIN"], os.environ["KEY"], os.environ["KEY"] == "s3cret" + "-value", flush=True)
raise ValueError(f"the key {os.environ['KEY']} is wrong")
"""

WRITING = """
from torch.utils.tensorboard import SummaryWriter
with SummaryWriter() as writer:
    writer.add_scalar("loss", 0.5, 7)
"""


@pytest.mark.slow
@pytest.mark.dist
def test_a_script_is_heard_through_tensorboard_alone(ingest: Ingest, tmp_path: Path) -> None:
    pod = _launch(script_gang(tmp_path, WRITING), ingest)
    assert pod.wait(600) == ExitCode.DONE
    found = [report for report in ingest.streams["reports"] if report["type"] == "metrics"]
    assert [(report["step"], report["values"]) for report in found] == [(7, {"train/loss": 0.5})]


@pytest.mark.slow
@pytest.mark.dist
def test_a_script_gets_its_packages_variables_and_secrets_and_no_secret_leaves_the_pod(
    ingest: Ingest, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "layer.zip", "w") as layer:
        layer.writestr("greeting.py", "WORDS = 'hello'\n")
    gang = script_gang(tmp_path, USING)
    gang.start()
    work = gang.work()
    spec = PodSpec.from_json((work / "spec.json").read_text())
    path = tmp_path / "layer.zip"
    layer_input = Input("layer", "1" * 64, path.stat().st_size, path.as_uri())
    model = replace(spec.model, environment="layer")
    changed = replace(spec, inputs=(*spec.inputs, layer_input), model=model, variables={"PLAIN": "seen"})
    (work / "spec.json").write_text(changed.to_json())
    (work / "secrets.json").write_text(json.dumps({"KEY": "s3cret-value"}))
    pod = _launch(gang, ingest, user_secrets=work / "secrets.json")
    assert pod.wait(120) == ExitCode.USER_CODE
    assert "hello seen *** True" in ingest.streams["log"]
    (report,) = [report for report in ingest.streams["reports"] if report["type"] == "failure"]
    assert "the key *** is wrong" in report["message"]
    assert "s3cret-value" not in json.dumps(ingest.streams)


@pytest.mark.dist
def test_a_pod_that_is_fenced_leaves_at_once(ingest: Ingest, tmp_path: Path) -> None:
    ingest.is_fenced = True
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz"))
    assert _launch(gang, ingest).wait(120) == ExitCode.REPORT_REFUSED


@pytest.mark.slow
@pytest.mark.dist
def test_a_pod_whose_server_is_killed_goes_on_and_reports_it(ingest: Ingest, tmp_path: Path) -> None:
    training = TrainingSpec(epochs=10, batch_size=4, checkpoint_every_s=0.1, strategy={"name": "asp"})
    often = {PROGRESS_EVERY_S: "0.05"}
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz", n=400), training=training, environment=often)
    gang.start(SyncMode.PARAMETER_SERVER, n_workers=1, n_servers=1)
    pod = _launch(gang, ingest, "server-0")
    gang.wait_for_step(100)
    gang.kill_serving("server-0", guard=_child(pod.pid))
    assert gang.processes["worker-0"].wait(600) == ExitCode.DONE, gang.logs()
    assert pod.wait(600) == ExitCode.DONE
    found = [r for r in ingest.streams["reports"] if r.get("phase") == "server_returned"]
    assert [r["detail"]["signal"] for r in found] == ["SIGKILL"]
    assert gang.result()["steps"] == 10 * 80


@pytest.mark.slow
@pytest.mark.dist
def test_a_pod_whose_weights_have_no_room_ends_with_that_cause(ingest: Ingest, tmp_path: Path) -> None:
    ingest.problem = {"code": "quota_exceeded", "detail": "A may store 10 bytes and uses 10."}
    pod = _launch(Gang(tmp_path, write_blobs(tmp_path / "blobs.npz")), ingest)
    assert pod.wait(600) == ExitCode.STORAGE_QUOTA
    (report,) = [report for report in ingest.streams["reports"] if report["type"] == "failure"]
    assert report["cause"] == Cause.STORAGE_QUOTA
    assert "A may store 10 bytes and uses 10." in report["message"]


# the launcher as it is, with another file for the kernel's counts
COUNTED = """
import sys
from pathlib import Path
from mlhub.runtime.launcher.judgement import OomKillCounter
from mlhub.runtime.launcher.main import Launcher
from mlhub.runtime.pod import Pod
sys.exit(Launcher(Pod.from_environment(), oom_kills=OomKillCounter(Path(sys.argv[1]))).run())
"""
KILLED = [(ExitCode.OUT_OF_MEMORY, "out_of_memory", True), (128 + signal.SIGKILL, "killed", False)]


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize(("status", "cause", "is_counted"), KILLED)
def test_a_killed_trainer_lacked_memory_only_if_the_kernel_says_so(
    ingest: Ingest, tmp_path: Path, status: int, cause: str, *, is_counted: bool
) -> None:
    events = tmp_path / "memory.events"
    events.write_text("oom_kill 1\n")
    gang = script_gang(tmp_path, "import time\nprint('begun', flush=True)\ntime.sleep(600)")
    pod = _launch(gang, ingest, events=events)
    until(lambda: "begun" in ingest.streams.get("log", []), seconds=120)
    if is_counted:
        events.write_text("oom_kill 2\n")
    os.kill(_child(pod.pid), signal.SIGKILL)
    assert pod.wait(600) == status
    (report,) = [report for report in ingest.streams["reports"] if report["type"] == "failure"]
    assert report["cause"] == cause


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize("act", ["os.kill(os.getpid(), 11)", "os.abort()"])
def test_a_crash_in_native_code_is_reported_with_the_stack_in_the_log(ingest: Ingest, tmp_path: Path, act: str) -> None:
    pod = _launch(script_gang(tmp_path, f"import os\ndef native():\n    {act}\nnative()"), ingest)
    assert pod.wait(600) in (128 + signal.SIGSEGV, 128 + signal.SIGABRT)
    (report,) = [report for report in ingest.streams["reports"] if report["type"] == "failure"]
    assert report["cause"] == "crashed"
    assert any("in native" in line for line in ingest.streams["log"])


@pytest.mark.slow
@pytest.mark.dist
def test_a_package_that_ends_the_process_with_status_0_has_not_trained(ingest: Ingest, tmp_path: Path) -> None:
    """Its job would be taken for one that succeeded, with all of its progress and no model."""
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        archive.writestr("model.py", "import os\ndef build_model(hyperparameters):\n    os._exit(0)\n")
    model = ModelSpec(kind="package", entry="model", package="code")
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz"), model=model, package=tmp_path / "code.zip")
    assert _launch(gang, ingest).wait(600) == ExitCode.USER_CODE
    (report,) = [report for report in ingest.streams["reports"] if report["type"] == "failure"]
    assert report["cause"] == Cause.USER_CODE
    assert "before its work was done" in report["message"]


def _child(pid: int) -> int:
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


def _launch(
    gang: Gang,
    ingest: Ingest,
    name: str = "worker-0",
    *,
    events: Path | None = None,
    user_secrets: Path | None = None,
) -> subprocess.Popen[bytes]:
    """One pod with its launcher, given what the local backend would give it, instead of the trainer that runs.

    Without another one, it is started for its folder alone. events: stands for the control group's memory.events.
    """
    if not gang.processes:
        gang.start()
    trainer = gang.processes.pop(name)
    trainer.kill()
    trainer.wait()
    work = gang.work(name)
    for file in ("reports.jsonl", "output.log"):
        (work / file).unlink(missing_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "MLHUB_SPEC": str(work / "spec.json"),
        "MLHUB_TOKEN_FILE": str(work / "token"),
        "MLHUB_GANG_SECRET_FILE": str(work / "secret"),
        "MLHUB_WORK_DIR": str(work),
        "MLHUB_API_URL": ingest.url,
        **({} if user_secrets is None else {"MLHUB_USER_SECRETS_FILE": str(user_secrets)}),
    }
    program = ["-m", "mlhub.runtime"] if events is None else ["-c", COUNTED, str(events)]
    return subprocess.Popen(
        [sys.executable, *program], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
