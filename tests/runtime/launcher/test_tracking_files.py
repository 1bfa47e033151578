# SPDX-License-Identifier: Apache-2.0
"""What scripts log to TensorBoard and MLflow, as the job's own metrics."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

import pytest
from torch.utils.tensorboard import SummaryWriter

from mlhub.runtime.launcher.checkpoint_listing import CheckpointListing
from mlhub.runtime.launcher.tracking_files import MLFLOW_STORE, Pickup, variables
from mlhub.runtime.reporting import Reporter


def points(path: Path) -> dict[tuple[int, str], float]:
    reports = [json.loads(line) for line in path.read_text().splitlines()]
    return {(r["step"], name): value for r in reports for name, value in r["values"].items()}


def looked_at(work: Path) -> dict[tuple[int, str], float]:
    pickup = Pickup(work, Reporter(work / "reports.jsonl"))
    pickup.start()
    pickup.end()
    return points(work / "reports.jsonl")


def log(work: Path, name: str, *lines: str) -> None:
    """As MLflow's file store writes them."""
    path = work / MLFLOW_STORE / "0" / "9f" / "metrics" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write("".join(lines))


def test_scalars_for_tensorboard_become_metrics(tmp_path: Path) -> None:
    pickup = Pickup(tmp_path, Reporter(tmp_path / "reports.jsonl"))
    writer = SummaryWriter(str(tmp_path / "runs" / "first"))
    pickup.start()
    for step in (1, 2):
        writer.add_scalar("loss", 1 / step, step)
        writer.add_scalar("eval/accuracy", step / 4, step)
        writer.add_text("note", "not a number", step)
    writer.close()
    pickup.end()
    assert points(tmp_path / "reports.jsonl") == {
        (1, "train/loss"): 1.0, (1, "eval/accuracy"): 0.25, (2, "train/loss"): 0.5, (2, "eval/accuracy"): 0.5,
    }  # fmt: skip


def test_metrics_of_mlflow_become_metrics(tmp_path: Path) -> None:
    now_ms = int(time.time() * 1000) + 500
    log(tmp_path, "loss", f"{now_ms} 0.5 0\n", f"{now_ms} 0.25 1\n", f"{now_ms} 0.1")
    log(tmp_path, "eval/accuracy", f"{now_ms} 0.9 1\n")
    assert looked_at(tmp_path) == {(0, "train/loss"): 0.5, (1, "train/loss"): 0.25, (1, "eval/accuracy"): 0.9}


def test_damaged_files_leave_the_rest_as_it_is(tmp_path: Path) -> None:
    now_ms = int(time.time() * 1000) + 500
    log(tmp_path, "broken", "no line of its own\n", "\n", f"{now_ms} many 1\n")
    log(tmp_path, "loss", f"{now_ms} 0.5 3\n")
    (tmp_path / "events.out.tfevents.1").write_bytes(b"\x01" * 64)
    assert looked_at(tmp_path) == {(3, "train/loss"): 0.5}


def test_an_image_without_tensorboard_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard.backend.event_processing.event_file_loader", None)
    log(tmp_path, "loss", f"{int(time.time() * 1000) + 500} 0.5 3\n")
    (tmp_path / "events.out.tfevents.1").touch()
    pickup = Pickup(tmp_path, Reporter(tmp_path / "reports.jsonl"), log=tmp_path / "output.log")
    pickup.start()
    pickup.end()
    assert points(tmp_path / "reports.jsonl") == {(3, "train/loss"): 0.5}
    assert "this image has no package tensorboard" in (tmp_path / "output.log").read_text()


def test_what_a_package_brings_along_is_not_the_jobs(tmp_path: Path) -> None:
    log(tmp_path, "loss", "1600000000000 0.5 0\n")
    (tmp_path / "reports.jsonl").touch()
    assert looked_at(tmp_path) == {}


def test_scripts_find_where_mlflow_is_to_write(tmp_path: Path) -> None:
    assert variables(tmp_path)["MLFLOW_TRACKING_URI"] == f"file://{tmp_path}/{MLFLOW_STORE}"


def test_a_step_that_the_platform_would_refuse_is_left_out_and_the_others_are_not(tmp_path: Path) -> None:
    pickup = Pickup(tmp_path, Reporter(tmp_path / "reports.jsonl"), log=tmp_path / "output.log")
    log(tmp_path, "loss", f"{int(time.time() * 1000) + 500} 0.5 {2**53 + 1}\n")
    with SummaryWriter(str(tmp_path / "runs")) as writer:
        writer.add_scalar("loss", 0.5, time.time_ns())
        writer.add_scalar("loss", 0.25, 2**53)
    (tmp_path / "output.log").write_text(f"step={2**60} loss=9\n")
    pickup.start()
    pickup.end()
    assert points(tmp_path / "reports.jsonl") == {(2**53, "train/loss"): 0.25}


def test_a_source_that_cannot_be_read_ends_neither_the_others_nor_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_looks = 0
    has_looked_twice = threading.Event()

    def look(self: CheckpointListing, *, is_final: bool = False) -> None:
        nonlocal n_looks
        n_looks += 1
        if n_looks == 2:
            has_looked_twice.set()
        raise FileNotFoundError("a folder that vanished")

    monkeypatch.setattr(CheckpointListing, "look", look)
    printed, reports = tmp_path / "output.log", tmp_path / "reports.jsonl"
    pickup = Pickup(tmp_path, Reporter(reports), log=printed, checkpoints=tmp_path / "kept")
    pickup.start()
    assert has_looked_twice.wait(120)
    log(tmp_path, "loss", f"{int(time.time() * 1000) + 500} 0.5 3\n")
    pickup.end()
    assert points(reports) == {(3, "train/loss"): 0.5}
    assert printed.read_text().count("a folder that vanished") == 1
