# SPDX-License-Identifier: Apache-2.0
"""A platform whose programs are exchanged while a job trains: of the version before, this one, and back again."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.test_upgrades import BEFORE, recorded
from tests.chaos.training import Training
from tests.platform import ROOT, RunningPlatform, wait

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(2400)]
UNREADABLE = "This checkout has not the history in which version {version} is (commit {commit})."


@pytest.fixture
def version_before(tmp_path: Path) -> Path:
    """Its programs, from the history. They run with the packages that are installed, which may be newer than theirs."""
    commit = recorded("commit").strip()
    known = subprocess.run(["git", "cat-file", "-e", commit], cwd=ROOT, capture_output=True, check=False)
    if known.returncode:
        pytest.skip(UNREADABLE.format(version=BEFORE, commit=commit))
    folder = tmp_path / BEFORE
    folder.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    for passed in (tmp_path.parent, tmp_path, folder):
        passed.chmod(0o755)  # pods are other users
    return folder


@pytest.fixture
def older(version_before: Path, tmp_path: Path) -> Iterator[RunningPlatform]:
    found = RunningPlatform(tmp_path / "home", program=version_before)
    try:
        found.start()
        yield found
    finally:
        found.end()


def exchange(training: Training, program: Path) -> None:
    platform = training.platform
    assert platform.stop() == 0
    platform.program = program
    platform.start()
    training.sign_in()


def points(training: Training) -> dict[int, float]:
    """Of the loss, asked for as both versions can be; so few are stored by then that none is thinned out."""
    (series,) = training.person.get(f"/jobs/{training.id}/metrics", key="train/loss", max_points=1_600)["series"]
    return {point["step"]: point["value"] for point in series["points"]}


def test_a_job_trains_on_through_an_upgrade_a_rollback_and_an_upgrade(
    older: RunningPlatform, version_before: Path, tmp_path: Path
) -> None:
    training = Training(older, tmp_path)
    seen, n_attempts = points(training), len(training.job()["attempts"])
    for program in (ROOT, version_before, ROOT):
        exchange(training, program)
        training.moves_on()
        now = points(training)
        assert {step: now.get(step) for step in seen} == seen  # resumed from the checkpoint that the other one wrote
        seen, n_attempts_before = now, n_attempts
        n_attempts = len(training.job()["attempts"])
        assert n_attempts == n_attempts_before + 1  # a stop of the embedded platform ends its pods: one attempt each
        assert training.job()["failure"] is None
        new = training.person.post("/jobs", **{**training.body, "epochs": 1}, max_workers=1)["id"]
        wait(
            lambda new=new: training.person.get(f"/jobs/{new}")["state"] == "succeeded",
            seconds=600, message=older.logs(),
        )  # fmt: skip
    assert os.fspath(older.program) == os.fspath(ROOT)
