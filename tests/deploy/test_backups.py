# SPDX-License-Identifier: Apache-2.0
"""Tests of the chart's backups by schedule: the rendered program is run, with a `manage.py` that records its calls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.test_chart import kinds, rendered
from tests.deploy.test_processes import pods


def test_backups_are_written_to_a_volume_that_outlives_the_release() -> None:
    [schedule] = kinds("production", "CronJob").values()
    assert schedule["spec"]["concurrencyPolicy"] == "Forbid"
    [container] = pods("production")["backup"]["spec"]["containers"]
    assert container["command"][3:] == ["/var/backups/mlhub", "14", "verify"]
    assert {"name": "backups", "mountPath": "/var/backups/mlhub"} in container["volumeMounts"]
    assert {"name": "backups", "persistentVolumeClaim": {"claimName": "mlhub-backups"}} in pods("production")["backup"][
        "spec"
    ]["volumes"]
    claim = kinds("production", "PersistentVolumeClaim")["mlhub-backups"]
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert "CronJob" not in {found["kind"] for found in rendered("trial")}


@pytest.mark.parametrize("verifies", [True, False])
def test_a_backup_is_verified_and_the_oldest_files_go(tmp_path: Path, verifies: bool) -> None:
    """The rendered program, with a `manage.py` that writes down what it is asked for."""
    [container] = pods("production")["backup"]["spec"]["containers"]
    (tmp_path / "manage.py").write_text(
        "import pathlib, sys\n"
        "with pathlib.Path('asked').open('a') as asked: asked.write(' '.join(sys.argv[1:]) + '\\n')\n"
        "pathlib.Path(sys.argv[2]).touch()\n"
    )
    backups = tmp_path / "backups"
    backups.mkdir()
    for day in range(1, 5):
        (backups / f"mlhub-2026010{day}T000000Z.backup").touch()
    argv = [str(backups), "3", *(["verify"] if verifies else [""])]
    subprocess.run([sys.executable, "-c", container["command"][2], *argv], cwd=tmp_path, check=True)
    left = sorted(path.name for path in backups.iterdir())
    assert left[:2] == ["mlhub-20260103T000000Z.backup", "mlhub-20260104T000000Z.backup"]
    assert len(left) == 3
    asked = [f"backup {backups / left[2]}", *([f"backup {backups / left[2]} --verify"] if verifies else [])]
    assert (tmp_path / "asked").read_text().splitlines() == asked


def test_a_backup_that_fails_removes_no_older_one(tmp_path: Path) -> None:
    [container] = pods("production")["backup"]["spec"]["containers"]
    (tmp_path / "manage.py").write_text("raise SystemExit(1)")
    (tmp_path / "mlhub-20260101T000000Z.backup").touch()
    argv = [sys.executable, "-c", container["command"][2], str(tmp_path), "0"]
    assert subprocess.run(argv, cwd=tmp_path, check=False, capture_output=True).returncode != 0
    assert (tmp_path / "mlhub-20260101T000000Z.backup").exists()


def test_the_server_image_has_the_dump_programs_of_the_bundled_database() -> None:
    text = (Path(__file__).parents[2] / "deploy" / "images" / "server.Dockerfile").read_text()
    [database] = [pod["spec"]["containers"][0]["image"] for c, pod in pods("trial").items() if c == "postgres"]
    major = database.partition(":")[2].partition(".")[0]
    assert f"postgresql-client-{major}" in text
