# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of scripts, as they appear and go."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlhub.runtime.launcher.checkpoint_listing import CheckpointListing
from mlhub.runtime.reporting import Reporter


def write(path: Path, text: str, *, age_s: float = 60.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    at = time.time() - age_s
    for part in (path, path.parent):
        os.utime(part, (at, at))
    return path


def reports(tmp_path: Path) -> list[dict[str, Any]]:
    path = tmp_path / "reports.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def listing(tmp_path: Path) -> CheckpointListing:
    return CheckpointListing(tmp_path / "kept", Reporter(tmp_path / "reports.jsonl"))


def test_checkpoints_are_reported_once_with_what_else_is_there(tmp_path: Path) -> None:
    root = tmp_path / "kept"
    write(root / "output" / "checkpoint-10" / "model.pt", "of an earlier attempt")
    found = listing(tmp_path)
    write(root / "script" / "step-000000000003" / "model.pt", "abc")
    write(root / "output" / "checkpoints" / "epoch_2.pt", "de")
    write(root / "output" / "table.csv", "no checkpoint")
    found.look()
    found.look()
    listed = [(r["name"], r["step"], r["size_bytes"]) for r in reports(tmp_path)]
    assert listed == [("output/checkpoints/epoch_2.pt", 2, 2), ("script/step-000000000003", 3, 3)]
    assert reports(tmp_path)[-1]["present"] == [
        "output/checkpoint-10", "output/checkpoints/epoch_2.pt", "script/step-000000000003",
    ]  # fmt: skip


def test_one_that_is_being_written_waits_and_one_that_was_written_anew_is_reported_anew(tmp_path: Path) -> None:
    found = listing(tmp_path)
    path = write(tmp_path / "kept" / "output" / "ckpt.pt", "half", age_s=-5.0)
    found.look()
    assert reports(tmp_path) == []
    write(path, "whole")
    found.look()
    write(path, "whole again", age_s=30.0)
    found.look(is_final=True)
    assert [report["size_bytes"] for report in reports(tmp_path)] == [5, 11]


def test_one_that_is_gone_is_no_longer_present(tmp_path: Path) -> None:
    found = listing(tmp_path)
    first = write(tmp_path / "kept" / "output" / "step-1.pt", "a")
    found.look()
    first.unlink()
    write(tmp_path / "kept" / "output" / "step-2.pt", "b")
    found.look()
    assert [report["present"] for report in reports(tmp_path)] == [["output/step-1.pt"], ["output/step-2.pt"]]


def test_a_folder_that_vanishes_before_it_is_listed_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, entries = tmp_path / "kept", Path.iterdir
    vanishing = root / "output" / "a_run"

    def iterdir(folder: Path) -> Iterator[Path]:
        if folder == vanishing:
            shutil.rmtree(folder, ignore_errors=True)
        return entries(folder)

    found = listing(tmp_path)
    write(vanishing / "epoch_1.pt", "abc")
    write(root / "output" / "epoch_2.pt", "de")
    monkeypatch.setattr(Path, "iterdir", iterdir)
    found.look()
    assert [report["name"] for report in reports(tmp_path)] == ["output/epoch_2.pt"]


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("epoch=2-step=96.ckpt", 96),
        ("epoch_01.weights.h5", 1),
        ("checkpoint-500", 500),
        ("epoch=3-val_loss=0.25.ckpt", 3),
        ("ckpt_7", 7),
        ("ckpt.pt", 0),
        ("last.pth", 0),
        ("runs/model_latest.pth.tar", 0),
        ("checkpoints/resnet.pt", 0),
    ],
)
def test_the_step_is_the_one_that_the_name_calls_so(name: str, step: int, tmp_path: Path) -> None:
    found = listing(tmp_path)
    write(tmp_path / "kept" / "output" / name, "x")
    found.look()
    assert [report["step"] for report in reports(tmp_path)] == [step]
