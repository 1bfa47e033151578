# SPDX-License-Identifier: Apache-2.0
"""Recording torch's profiler in trainers that run: what is recorded, and that it changes nothing."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlhub.runtime.profiling.files import RecordingNotes
from mlhub.runtime.profiling.trace_file import reduce_trace
from mlhub.wire.launch import ModelSpec, SyncMode, TrainingSpec
from mlhub.wire.profiles import ProfileRequest, checked_summary
from tests.runtime.gang import Gang, write_blobs

pytestmark = pytest.mark.dist
ID = "0199c0de-0000-7000-8000-000000000001"
# 200 examples, of which 160 are trained on: 16 steps an epoch
TRAINING = TrainingSpec(epochs=2, batch_size=10, hyperparameters={"learning_rate": 0.05})


def asked(*ranks: int, steps: int = 3, first_step: int | None = None, servers: tuple[int, ...] = ()) -> ProfileRequest:
    return ProfileRequest(ID, steps, ranks, first_step, servers)


def trained(
    folder: Path, request: ProfileRequest | None, *, mode: SyncMode = SyncMode.ALL_REDUCE, n_servers: int = 0
) -> Gang:
    folder.mkdir()
    gang = Gang(folder, write_blobs(folder / "blobs.npz", n=200), training=TRAINING, profile=request)
    gang.start(mode, n_workers=2, n_servers=n_servers)
    assert set(gang.wait().values()) == {0}, gang.logs()
    return gang


def notes(gang: Gang, name: str = "worker-0") -> RecordingNotes:
    return RecordingNotes(**json.loads((gang.work(name) / "profiles" / f"{ID}.notes.json").read_text()))


def trace(gang: Gang, name: str = "worker-0") -> Path:
    return gang.work(name) / "profiles" / f"{ID}.trace.json"


def weights(gang: Gang) -> bytes:
    return (gang.work() / "artifacts" / "weights.safetensors").read_bytes()


@pytest.mark.parametrize(("mode", "n_servers"), [(SyncMode.ALL_REDUCE, 0), (SyncMode.PARAMETER_SERVER, 1)])
def test_a_training_that_is_recorded_ends_with_the_same_weights_and_metrics(
    tmp_path: Path, mode: SyncMode, n_servers: int
) -> None:
    plain = trained(tmp_path / "plain", None, mode=mode, n_servers=n_servers)
    request = asked(0, 1, first_step=4, servers=tuple(range(n_servers)))
    recorded = trained(tmp_path / "recorded", request, mode=mode, n_servers=n_servers)
    assert weights(recorded) == weights(plain)
    assert recorded.result()["metrics"] == plain.result()["metrics"]
    for name in ("worker-0", "worker-1"):
        found = notes(recorded, name)
        # one step to warm up, so that both ranks record the very same ones
        assert (found.reason, found.note, found.first_step, found.n_steps) == ("", "", 5, 3)
        assert set(found.seconds) == {"input", "compute", "sync", "wait"}
        assert found.seconds["compute"] > 0
        assert found.seconds["sync"] > 0
        names = {event["name"] for event in events(recorded, tmp_path / "out.gz", name)}
        assert {"step 6", "step 7", "step 8", "aten::addmm", "computing", "exchanging"} <= names
        assert not names & {"step 5", "step 9"}


def test_a_server_records_what_its_threads_do_in_the_same_steps(tmp_path: Path) -> None:
    mode, request = SyncMode.PARAMETER_SERVER, asked(0, first_step=4, servers=(1,))
    gang = trained(tmp_path / "job", request, mode=mode, n_servers=2)
    found = notes(gang, "server-1")
    assert (found.reason, found.note, found.first_step, found.n_steps) == ("", "", 5, 3)
    assert (notes(gang).first_step, notes(gang).n_steps) == (5, 3)
    summary = reduce_trace(trace(gang, "server-1"), tmp_path / "summary.gz", found)
    of_phase = {one["name"]: one["calls"] for one in summary["operators"]}
    assert {"send", "wait for the next request"} <= set(of_phase)  # what is pushed, it reads in memory that is shared
    assert of_phase["aggregate and update"] == 3  # the model is one chunk
    assert summary["step_s"]["compute"] > 0
    shown = events(gang, tmp_path / "out.gz", "server-1")
    steps = [one for one in shown if one["name"].startswith("step ")]
    assert [one["name"] for one in steps] == ["step 6", "step 7", "step 8"]
    until = max(one["ts"] + one["dur"] for one in steps)
    assert all(0 <= one["ts"] <= until for one in shown if one["ph"] == "X")
    tracks = {one["args"]["name"] for one in shown if one["ph"] == "M"}
    assert {"updates", "worker 0", "worker 1"} <= tracks
    assert not trace(gang, "server-0").exists()


def events(gang: Gang, to: Path, name: str = "worker-0") -> list[dict[str, Any]]:
    import gzip

    checked_summary(reduce_trace(trace(gang, name), to, notes(gang, name)))
    with gzip.open(to, "rt") as file:
        found: list[dict[str, Any]] = json.load(file)["traceEvents"]
    return found


def test_only_the_ranks_that_were_asked_for_are_recorded(tmp_path: Path) -> None:
    gang = trained(tmp_path / "job", asked(1))
    assert notes(gang, "worker-1").n_steps == 3
    assert not trace(gang, "worker-0").exists()


@pytest.mark.slow
def test_a_recording_ends_before_the_evaluation_and_says_how_many_steps_it_has(tmp_path: Path) -> None:
    gang = trained(tmp_path / "job", asked(0, steps=50))
    found = notes(gang)
    assert (found.first_step, found.n_steps) == (1, 15)
    assert found.note == "15 of 50 steps: the epoch ended."


def test_a_request_late_in_an_epoch_waits_for_the_next_one(tmp_path: Path) -> None:
    gang = trained(tmp_path / "job", asked(0, steps=5, first_step=13))
    assert (notes(gang).first_step, notes(gang).n_steps) == (17, 5)


@pytest.mark.slow
def test_a_recording_that_cannot_begin_or_be_written_costs_the_training_nothing(tmp_path: Path) -> None:
    plain = trained(tmp_path / "plain", None)
    folder = tmp_path / "full"
    folder.mkdir()
    gang = Gang(folder, write_blobs(folder / "blobs.npz", n=200), training=TRAINING, profile=asked(0))
    spawn = gang._spawn

    def with_obstacle(*arguments: Any, **named: Any) -> None:
        spawn(*arguments, **named)
        trace(gang).mkdir(exist_ok=True)  # where the trace should be

    gang._spawn = with_obstacle  # type: ignore[method-assign]
    gang.start(n_workers=2)
    assert set(gang.wait().values()) == {0}, gang.logs()
    assert weights(gang) == weights(plain)


SCRIPT = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
first = torch.optim.SGD(model[0].parameters(), lr=0.01)
second = torch.optim.SGD(model[2].parameters(), lr=0.01)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 8)), batch_size=8)
import time, pathlib, os
from mlhub.runtime.profiling.files import RecordingFiles
from mlhub.runtime.pod import Pod
folder, n = Pod.from_environment().profiles, 0
while not list(folder.glob("*.notes.json")):
    for (x,) in data:
        for one in (first, second):
            one.zero_grad()
        model(x).sum().backward()
        first.step()
        second.step()
        n += 1
    time.sleep(0.01)
print("done after", n)
"""


def test_a_script_is_recorded_by_the_steps_of_its_first_optimiser(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        archive.writestr("train.py", SCRIPT)
    gang = Gang(
        tmp_path,
        write_blobs(tmp_path / "blobs.npz"),
        model=ModelSpec(kind="script", entry="train.py", package="code"),
        package=tmp_path / "code.zip",
        profile=replace(asked(0), steps=4),
    )
    gang.start()
    assert gang.wait() == {"worker-0": 0}, gang.logs()
    assert notes(gang).n_steps == 4
    summary = reduce_trace(trace(gang), tmp_path / "out.gz", notes(gang))
    # not of the summary, which has the dearest operators only
    names = [event["name"] for event in events(gang, tmp_path / "again.gz")]
    assert names.count("Optimizer.step#SGD.step") == 8
    assert summary["step_s"]["compute"] > 0
    assert summary["step_s"]["input"] > 0  # enumerate(DataLoader)
