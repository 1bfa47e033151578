# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that a script writes elsewhere than into its output folder outlive the attempt."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from mlhub.runtime.scripts.working_checkpoints import WorkingCheckpoints, put_back, read_manifest

LONG_AGO_S, NOW_S = 1000.0, 5000.0


def write(path: Path, text: str, *, at_s: float = LONG_AGO_S) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    for part in (path, path.parent):
        os.utime(part, (at_s, at_s))
    return path


def mirror(tmp_path: Path, *brought: str) -> WorkingCheckpoints:
    (tmp_path / "kept").mkdir(exist_ok=True)
    return WorkingCheckpoints(tmp_path / "code", tmp_path / "kept", brought=frozenset(brought))


def copies(tmp_path: Path) -> dict[str, str]:
    root = tmp_path / "kept" / "output"
    return {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_new_ones_are_copied_and_what_the_package_brought_or_is_still_written_is_not(tmp_path: Path) -> None:
    code = tmp_path / "code"
    write(code / "checkpointing" / "io.py", "code")
    write(code / "lightning_logs" / "version_0" / "checkpoints" / "epoch=2-step=96.ckpt", "lightning")
    write(code / "results" / "checkpoint-20" / "model.safetensors", "trainer")
    write(code / "results" / "checkpoint-30" / "model.safetensors", "half", at_s=NOW_S - 1)
    write(code / "data" / "checkpoint-1" / "model.pt", "downloaded")
    write(code / "checkpoints" / "resnet.pt", "any name")
    write(code / "checkpoints" / "README.md", "text")
    write(code / "runs" / "last.pth", "last")
    write(code / "lasting.py", "code")
    found = mirror(tmp_path, "checkpointing/io.py")
    found.look(now_s=NOW_S)
    assert copies(tmp_path) == {
        "lightning_logs/version_0/checkpoints/epoch=2-step=96.ckpt": "lightning",
        "results/checkpoint-20/model.safetensors": "trainer",
        "checkpoints/resnet.pt": "any name",
        "runs/last.pth": "last",
    }
    found.look(now_s=NOW_S, is_final=True)
    assert "results/checkpoint-30/model.safetensors" in copies(tmp_path)


def test_the_newest_are_copied_first_and_no_older_copy_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlhub.runtime.scripts.working_checkpoints.MAX_STRAY_BYTES", 10)
    write(tmp_path / "code" / "a" / "epoch=0.ckpt", "zero")
    write(tmp_path / "code" / "b" / "epoch=1.ckpt", "one")
    found = mirror(tmp_path)
    assert found.look(now_s=NOW_S) == []
    write(tmp_path / "code" / "a" / "epoch=0.ckpt", "zero again", at_s=LONG_AGO_S + 1)
    write(tmp_path / "code" / "b" / "epoch=1.ckpt", "one again", at_s=LONG_AGO_S + 2)
    assert found.look(now_s=NOW_S) == ["a/epoch=0.ckpt"]
    assert copies(tmp_path) == {"b/epoch=1.ckpt": "one again"}


def test_the_next_attempt_finds_them_and_those_that_it_rotates_out_go(tmp_path: Path) -> None:
    for step in (10, 20):
        write(tmp_path / "code" / "results" / f"checkpoint-{step}" / "model.pt", str(step))
    mirror(tmp_path).look(now_s=NOW_S)
    shutil.rmtree(tmp_path / "code")
    (tmp_path / "code").mkdir()
    found = mirror(tmp_path)
    found.look(now_s=NOW_S)  # before anything is put back: nothing goes
    put_back(tmp_path / "code", tmp_path / "kept")
    found.look(now_s=NOW_S)
    assert (tmp_path / "code" / "results" / "checkpoint-20" / "model.pt").read_text() == "20"
    shutil.rmtree(tmp_path / "code" / "results" / "checkpoint-10")
    found.look(now_s=NOW_S)
    assert read_manifest(tmp_path / "kept") == ["results/checkpoint-20"]
    assert copies(tmp_path) == {"results/checkpoint-20/model.pt": "20"}


def test_a_link_is_not_followed_and_a_name_that_leads_elsewhere_is_not_put_back(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret", "of others")
    write(tmp_path / "code" / "checkpoint-1" / "model.pt", "own")
    (tmp_path / "code" / "checkpoint-1" / "token").symlink_to(secret)
    (tmp_path / "code" / "checkpoint-2").symlink_to(tmp_path)
    mirror(tmp_path).look(now_s=NOW_S, is_final=True)
    assert copies(tmp_path) == {"checkpoint-1/model.pt": "own"}
    (tmp_path / "kept" / "working_checkpoints.json").write_text('["../../secret", "checkpoint-1"]')
    assert read_manifest(tmp_path / "kept") == ["checkpoint-1"]


def test_more_than_the_limit_is_left_out_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlhub.runtime.scripts.working_checkpoints.MAX_STRAY_BYTES", 5)
    write(tmp_path / "code" / "epoch_1.pt", "four")
    write(tmp_path / "code" / "epoch_2.pt", "more")
    assert mirror(tmp_path).look(now_s=NOW_S) == ["epoch_2.pt"]
    assert copies(tmp_path) == {"epoch_1.pt": "four"}
