# SPDX-License-Identifier: Apache-2.0
"""Tests of removing ended jobs' checkpoints: nothing that lives, is unknown or young, or is no job's."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from mlhub.runtime.checkpoints import sweep


def folder(root: Path, name: str, *, is_old: bool = True) -> Path:
    path = root / name / "step-10"
    path.mkdir(parents=True)
    (path / "weights").write_text("x")
    if is_old:
        for part in (path / "weights", path, path.parent):
            os.utime(part, (0, 0))
    return path.parent


def test_old_folders_of_jobs_that_are_over_go_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    unknown, gone, young = uuid4(), uuid4(), uuid4()
    there = [folder(tmp_path, str(unknown)), folder(tmp_path, str(young), is_old=False), folder(tmp_path, "lost+found")]
    ended = folder(tmp_path, str(gone))
    monkeypatch.setenv(sweep.ENDED, f"{gone.hex},{young.hex}")
    assert sweep.main(["--root", str(tmp_path), "--older-than-s", "3600"]) == 0
    assert not ended.exists()
    assert all(path.exists() for path in there)
    assert "1 folders removed" in capsys.readouterr().out


def test_a_file_written_lately_deep_inside_keeps_the_whole(tmp_path: Path) -> None:
    job = folder(tmp_path, str(UUID(int=7)))
    os.utime(job / "step-10" / "weights")
    assert sweep.sweep(tmp_path, ended={UUID(int=7)}, older_than_s=3600) == 0
    assert job.exists()


def test_a_link_to_elsewhere_is_not_followed(tmp_path: Path) -> None:
    elsewhere = folder(tmp_path / "elsewhere", "data")
    root = tmp_path / "root"
    root.mkdir()
    (root / str(UUID(int=8))).symlink_to(elsewhere)
    assert sweep.sweep(root, ended={UUID(int=8)}, older_than_s=0) == 0
    assert elsewhere.exists()
