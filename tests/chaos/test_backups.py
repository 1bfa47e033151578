# SPDX-License-Identifier: Apache-2.0
"""An older database is restored over newer work while gangs of the later time still run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.training import Training
from tests.platform import ROOT, RunningPlatform, is_alive, wait

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(1200)]


def embedded(platform: RunningPlatform, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, with the environment of the platform's own start: its home, and no addresses."""
    clean = {k: v for k, v in platform.environment.items() if k not in ("DATABASE_URL", "REDIS_URL")}
    command = [sys.executable, "-m", "mlhub.embedded", *arguments]
    return subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, check=False)


def test_a_backup_made_during_training_is_restored_over_newer_work_and_loses_none_of_its_files(
    platform: RunningPlatform, tmp_path: Path
) -> None:
    training, file = Training(platform, tmp_path), tmp_path / "platform.backup"
    made = embedded(platform, "backup", str(file))
    assert made.returncode == 0, made.stderr
    assert embedded(platform, "backup", "--verify", str(file)).returncode == 0
    training.moves_on()
    newer = training.person.post("/jobs", **training.body, max_workers=1)["id"]
    wait(lambda: training.person.get(f"/jobs/{newer}")["state"] == "running", message=platform.logs())
    assert embedded(platform, "restore", str(file)).returncode == 3  # it runs
    platform.kill()
    pods = platform.pods()
    assert len(pods) == 3
    assert embedded(platform, "backup", str(tmp_path / "of-a-stopped-platform.backup")).returncode == 0
    refused = embedded(platform, "restore", str(file))
    assert refused.returncode == 1
    assert "--force" in refused.stderr
    restored = embedded(platform, "restore", "--force", str(file))
    assert restored.returncode == 0, restored.stderr
    platform.start()
    wait(lambda: not any(is_alive(pid) for pid in pods.values()), message=platform.logs())
    training.sign_in()
    assert [job["id"] for job in training.person.get("/jobs")["results"]] == [training.id]
    wait(lambda: len(training.job()["attempts"]) == 2 and training.job()["state"] == "running", message=platform.logs())
    training.moves_on()
    first, second = sorted(training.job()["attempts"], key=lambda a: a["number"])
    assert (first["number"], second["number"]) == (1, 1001)
    assert (platform.home / "checkpoints" / newer).exists()
