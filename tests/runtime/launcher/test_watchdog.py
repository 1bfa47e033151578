# SPDX-License-Identifier: Apache-2.0
"""Code that hangs is noticed from outside, and it is known who waits for whom; with real trainers."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlhub.runtime.launcher.watchdog import Watchdog
from mlhub.runtime.reporting import Reporter
from mlhub.wire.launch import ModelSpec, SyncMode, TrainingSpec
from tests.runtime.gang import Gang, write_blobs

HANGING = """
import os, time
from torch import nn
n_calls = 0


def build_model(given):
    return nn.Linear(6, given["n_classes"])


def loss(outputs, targets):
    global n_calls
    n_calls += 1
    while n_calls > 7 and os.environ["RANK"] == "1":
        pass
    return nn.functional.cross_entropy(outputs, targets)
"""


class RecordingReporter(Reporter):
    def __init__(self) -> None:
        super().__init__(None)
        self.phases: list[tuple[str, dict[str, Any]]] = []

    def phase(self, phase: str, **detail: Any) -> None:
        self.phases.append((phase, detail))


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize("mode", [SyncMode.ALL_REDUCE, SyncMode.PARAMETER_SERVER])
def test_a_worker_that_hangs_is_distinguished_from_those_that_wait(mode: SyncMode, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        archive.writestr("hanging_model.py", HANGING)
    gang = Gang(
        tmp_path,
        write_blobs(tmp_path / "blobs.npz"),
        model=ModelSpec(kind="package", entry="hanging_model", package="code"),
        package=tmp_path / "code.zip",
        training=TrainingSpec(epochs=50, batch_size=10),
    )
    gang.start(mode, n_workers=2, n_servers=1 if mode is SyncMode.PARAMETER_SERVER else 0)
    names = ("worker-0", "worker-1")
    try:
        gang.wait_for(lambda: all((gang.work(name) / "heartbeat").exists() for name in names))
        reporters = {name: RecordingReporter() for name in names}
        watches = {
            name: Watchdog(reporters[name], heartbeat_file=gang.work(name) / "heartbeat", still_s=3.0) for name in names
        }

        def both_are_reported() -> bool:
            for watch in watches.values():
                watch.look(time.monotonic())
            return all(any(d["doing"] != "start" for _, d in reporter.phases[-1:]) for reporter in reporters.values())

        gang.wait_for(both_are_reported)
    finally:
        for process in gang.processes.values():
            process.kill()
            process.wait()
    assert [reporters[name].phases[-1][1]["doing"] for name in names] == ["sync", "compute"]
    steps = [reporters[name].phases[-1][1]["step"] for name in names]
    assert steps[0] == steps[1] > 0


def watched(tmp_path: Path, **of: Path) -> tuple[RecordingReporter, Callable[[float], None]]:
    reporter = RecordingReporter()
    watch, began = Watchdog(reporter, still_s=10.0, start_s=100.0, **of), time.monotonic()
    return reporter, lambda seconds: watch.look(began + seconds)


def test_a_script_lives_as_long_as_it_reports_and_is_reported_again_while_it_does_not(tmp_path: Path) -> None:
    reports = tmp_path / "reports.jsonl"
    reporter, look_after = watched(tmp_path, reports=reports)
    look_after(9)
    assert reporter.phases == []
    reports.write_text("one\n")
    look_after(11)
    look_after(20)
    assert reporter.phases == []
    for seconds in (22, 30, 85):
        look_after(seconds)
    assert [phase for phase, _ in reporter.phases] == ["stalled", "stalled"]
    reports.write_text("one\ntwo\n")
    look_after(90)
    assert reporter.phases[-1] == ("moving", {})


def test_a_trainer_that_never_came_to_its_first_step_is_reported(tmp_path: Path) -> None:
    reporter, look_after = watched(tmp_path, heartbeat_file=tmp_path / "pulse")
    look_after(99)
    assert reporter.phases == []  # it imports its libraries
    look_after(102)
    assert reporter.phases == [("stalled", {"step": 0, "doing": "start", "still_s": 102.0})]


def test_a_script_that_prints_is_not_stalled(tmp_path: Path) -> None:
    output = tmp_path / "output.log"
    output.write_text("$ python train.py\n")
    reporter, look_after = watched(tmp_path, reports=tmp_path / "reports.jsonl", output=output)
    look_after(60)
    assert reporter.phases == []
    for seconds in (61, 70, 79):
        with output.open("a") as file:
            file.write("epoch 1\n")
        look_after(seconds)
    assert reporter.phases == []
    look_after(91)
    assert [phase for phase, _ in reporter.phases] == ["stalled"]
