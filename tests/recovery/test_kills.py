# SPDX-License-Identifier: Apache-2.0
"""A backup or a restore that is killed with SIGKILL leaves nothing half used, and the next one succeeds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mlhub.recovery.backups import create_backup
from mlhub.recovery.databases import Database
from mlhub.recovery.restores import verify_backup
from tests.recovery.conftest import SmallPlatform, ask
from tests.recovery.forked import exit_status

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(1200)]
RESTORING = "mlhub.recovery.restores"


def command(*arguments: str, database: Database, settings: Any) -> int:
    """The exit status of a new process."""
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "mlhub.settings",
        "DATABASE_URL": database.url,
        "MLHUB_HOME": str(settings.MLHUB_HOME),
        "MLHUB_BLOB_ROOT": str(settings.BLOB_ROOT),
    }
    argv = [sys.executable, "-m", "django", *arguments]
    done = subprocess.run(argv, env=environment, check=False, capture_output=True)
    return done.returncode


@pytest.mark.parametrize("place", ["_add_blobs", "keys_of_settings", "installation"])
def test_a_backup_that_is_killed_leaves_no_file_of_its_name(
    small_platform: SmallPlatform, backup_file: Path, settings: Any, place: str
) -> None:
    own = Database.of_settings()
    kill_at = f"mlhub.recovery.backups.{place}"
    assert exit_status("backup", str(backup_file), database=own, kill_at=kill_at) == -signal.SIGKILL
    assert not backup_file.exists()
    assert command("backup", str(backup_file), database=own, settings=settings) == 0
    assert [p.name for p in backup_file.parent.iterdir()] == [backup_file.name]
    verify_backup(backup_file)


def test_a_restore_that_is_killed_anywhere_leaves_the_old_platform_or_the_new_one(
    small_platform: SmallPlatform, target: Database, backup_file: Path, settings: Any
) -> None:
    create_backup(backup_file)
    arguments = ("restore", str(backup_file), "--force")
    assert command("restore", str(backup_file), database=target, settings=settings) == 0
    ask(target, "UPDATE jobs_job SET name = 'newer'")
    places = ["_load", "_django@1", "_django@2", "_store_blobs", "restore_checkpoints", "_record_epoch", "swap"]
    for place in places:
        kill_at = f"{RESTORING}.{place}"
        assert exit_status(*arguments, database=target, kill_at=kill_at) == -signal.SIGKILL, place
        assert ask(target, "SELECT name FROM jobs_job") == [("newer",)], place
    assert exit_status(*arguments, database=target, kill_at=f"{RESTORING}.Restored") == -signal.SIGKILL
    assert ask(target, "SELECT name, state FROM jobs_job") == [("job", "queued")]
    assert command(*arguments, database=target, settings=settings) == 0
    assert ask(target, "SELECT name, state FROM jobs_job") == [("job", "queued")]
    assert not target.named(f"{target.name}_restoring").exists()
    # the last kill but one had recorded its epoch: none was given out twice
    assert ask(target, "SELECT epoch FROM core_installation") == [(5,)]
