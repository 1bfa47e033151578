# SPDX-License-Identifier: Apache-2.0
"""A backup contains what its moment had, is found damaged when it is, and comes back as a whole or not at all."""

from __future__ import annotations

import os
import shutil
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from mlhub.core.locks import work_lock
from mlhub.core.models import Installation
from mlhub.jobs.models import Job
from mlhub.recovery import restores
from mlhub.recovery.archive import BackupError, BackupWriter, reading
from mlhub.recovery.backups import create_backup
from mlhub.recovery.databases import Database
from mlhub.recovery.epochs import begin_epoch
from mlhub.recovery.restores import restore_backup, verify_backup
from mlhub.storage import actions as storage
from mlhub.storage import tasks
from mlhub.storage.stores import blob_store
from tests.jobs.builders import job
from tests.recovery.conftest import SmallPlatform, ask, hold, launch
from tests.recovery.forked import run_django

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
ATTEMPTS = "SELECT number, is_fenced, ended_at IS NULL FROM jobs_attempt ORDER BY number"


@pytest.fixture(autouse=True)
def _commands_are_forked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the first test do without new processes of Django, as tests/recovery/test_kills.py has them too."""
    if request.node.name != test_a_restored_platform_has_every_row_and_every_blob.__name__:
        monkeypatch.setattr(restores, "_django", run_django)


def restore(path: Path, target: Database, **how: Any) -> restores.Restored:
    return restore_backup(path, now=how.pop("now", NOW), database=target, **how)


@pytest.mark.slow
def test_a_restored_platform_has_every_row_and_every_blob(
    small_platform: SmallPlatform, target: Database, backup_file: Path, settings: Any
) -> None:
    made = create_backup(backup_file)
    assert backup_file.stat().st_mode & 0o077 == 0
    assert [p.name for p in backup_file.parent.iterdir()] == [backup_file.name]
    verify_backup(backup_file)
    settings.BLOB_ROOT = settings.MLHUB_HOME / "another-store"
    done = restore(backup_file, target)
    assert (done.n_blobs, done.lost, done.old_database) == (2, [], "")
    found = target.counts()
    changed = {"events_event", "core_installation", "django_migrations", "usage_usageentry"}
    assert {k: v for k, v in found.items() if k not in changed} == {
        k: v for k, v in made.tables.items() if k not in changed
    }
    # the attempt that ran is ended, and its GPU-hours are entered
    assert (made.tables["usage_usageentry"], found["usage_usageentry"]) == (0, 1)
    assert all(blob_store().verify(sha256) for sha256 in small_platform.blobs)


def test_only_blobs_that_the_database_names_are_in_it_and_lost_ones_are_reported(
    small_platform: SmallPlatform, backup_file: Path
) -> None:
    with blob_store().stage(limit_bytes=100) as staging:
        staging.write(b"nobody's")
        unknown = blob_store().keep(staging).sha256
    gone, damaged = small_platform.blobs
    blob_store().delete(gone)
    path = blob_store().path(damaged)  # type: ignore[attr-defined]
    path.chmod(0o644)
    path.write_bytes(b"other bytes")
    kept = hold(small_platform.cast, b"whole")
    made = create_backup(backup_file)
    assert sorted(made.lost) == sorted([gone, damaged])
    assert f"blobs/{kept}" in made.members
    assert f"blobs/{unknown}" not in made.members
    verify_backup(backup_file)


@pytest.mark.slow
def test_what_is_written_while_a_backup_is_made_is_not_in_it(
    small_platform: SmallPlatform, target: Database, backup_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moment was chosen before: counts and dump agree, which verification and restoring check."""
    add_file = BackupWriter.add_file

    def write_meanwhile(self: BackupWriter, name: str, file: Any) -> None:
        writer = threading.Thread(target=_add_a_job, args=(small_platform,))
        writer.start()
        writer.join(120)
        add_file(self, name, file)

    monkeypatch.setattr(BackupWriter, "add_file", write_meanwhile)
    made = create_backup(backup_file)
    assert made.tables["jobs_job"] == 1 < Job.objects.count()
    restore(backup_file, target)
    assert target.counts()["jobs_job"] == 1


def _add_a_job(platform: SmallPlatform) -> None:
    job(platform.cast.project_a, platform.cast.bob, name=f"later {uuid4()}")
    connection.close()


def test_blobs_are_not_collected_while_a_backup_is_made(
    small_platform: SmallPlatform, backup_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sha256, _) = small_platform.blobs
    storage.Holding.objects.filter(blob=sha256).delete()
    os.utime(blob_store().path(sha256), (0, 0))  # type: ignore[attr-defined]
    storage.Blob.objects.filter(pk=sha256).update(created_at=timezone.now() - timedelta(days=3))
    add_json, removed = BackupWriter.add_json, []

    def collect_meanwhile(self: BackupWriter, name: str, value: object) -> None:
        collector = threading.Thread(target=lambda: (removed.append(tasks.collect_unheld_blobs()), connection.close()))
        collector.start()
        collector.join(120)
        add_json(self, name, value)

    monkeypatch.setattr(BackupWriter, "add_json", collect_meanwhile)
    assert f"blobs/{sha256}" in create_backup(backup_file).members
    assert removed == [0, 0]
    assert tasks.collect_unheld_blobs() == 1


def test_a_file_that_is_not_there_is_not_verified_and_says_how_to_write_it(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"monday\.backup to verify. Write it first, without --verify"):
        call_command("backup", str(tmp_path / "monday.backup"), "--verify")


def test_a_second_backup_at_the_same_time_is_refused(small_platform: SmallPlatform, backup_file: Path) -> None:
    refused: list[str] = []

    def second() -> None:
        with pytest.raises(BackupError) as error:
            create_backup(backup_file)
        refused.append(str(error.value))
        connection.close()

    with work_lock(storage.REMOVAL):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(120)
    assert refused == ["Another backup is made, or unheld blobs are collected, at this moment. Repeat it later."]


@pytest.mark.parametrize("damage", ["cut", "a byte of a blob", "a byte of the dump", "empty", "no file"])
def test_a_damaged_backup_is_refused_before_anything_changes(
    small_platform: SmallPlatform, target: Database, backup_file: Path, damage: str
) -> None:
    create_backup(backup_file)
    whole = backup_file.read_bytes()
    with reading(backup_file) as backup:
        infos = {i.name: i for i in backup._tar.getmembers()}
    at = {"a byte of a blob": f"blobs/{small_platform.blobs[1]}", "a byte of the dump": "database.dump"}
    if damage == "cut":
        backup_file.write_bytes(whole[: len(whole) // 2])
    elif damage in at:
        place = infos[at[damage]].offset_data + 5
        backup_file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    elif damage == "empty":
        backup_file.write_bytes(b"")
    else:
        backup_file.unlink()
    for use in (verify_backup, lambda path: restore(path, target)):
        with pytest.raises(BackupError):
            use(backup_file)
    assert not target.exists()


@pytest.mark.slow
def test_a_platform_with_people_is_replaced_only_by_force_and_kept(
    small_platform: SmallPlatform, target: Database, backup_file: Path
) -> None:
    create_backup(backup_file)
    restore(backup_file, target)
    ask(target, "UPDATE jobs_job SET name = 'newer'")
    with pytest.raises(BackupError, match="not empty: 5 people"):
        restore(backup_file, target)
    done = restore(backup_file, target, force=True, now=NOW + timedelta(hours=1))
    assert ask(target, "SELECT name FROM jobs_job") == [("job",)]
    assert ask(target.named(done.old_database), "SELECT name FROM jobs_job") == [("newer",)]
    assert done.epoch == 3


@pytest.mark.slow
def test_a_database_that_no_one_has_used_is_not_kept(
    small_platform: SmallPlatform, target: Database, backup_file: Path
) -> None:
    create_backup(backup_file)
    restore(backup_file, target)
    ask(target, "TRUNCATE tenants_user CASCADE")  # as a platform that was started, and has no account yet
    done = restore(backup_file, target, now=NOW + timedelta(hours=1))
    assert done.old_database == ""
    assert ask(target, "SELECT count(*) FROM tenants_user") == [(5,)]
    names = ask(target, "SELECT datname FROM pg_database WHERE datname LIKE %s", f"{target.name}\\_before%")
    assert names == []


def test_a_database_in_use_is_not_replaced(small_platform: SmallPlatform, backup_file: Path) -> None:
    create_backup(backup_file)
    with pytest.raises(BackupError, match="in use"):
        restore_backup(backup_file, now=NOW, force=True)


def test_a_backup_with_another_key_is_refused(
    small_platform: SmallPlatform, target: Database, backup_file: Path, settings: Any
) -> None:
    create_backup(backup_file)
    settings.SECRET_KEY = "another"
    with pytest.raises(BackupError, match="MLHUB_SECRET_KEY"):
        restore(backup_file, target)


@pytest.mark.slow
def test_a_restore_that_fails_late_leaves_the_old_database_and_is_repeated(
    small_platform: SmallPlatform, target: Database, backup_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_backup(backup_file)
    restore(backup_file, target)
    ask(target, "UPDATE jobs_job SET name = 'newer'")

    def no_space(*_: object) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as failing:
        failing.setattr(restores, "_store_blobs", no_space)
        with pytest.raises(OSError, match="No space"):
            restore(backup_file, target, force=True)
    assert ask(target, "SELECT name FROM jobs_job") == [("newer",)]
    assert not target.named(f"{target.name}_restoring").exists()
    restore(backup_file, target, force=True)
    assert ask(target, "SELECT name FROM jobs_job") == [("job",)]


@pytest.mark.slow
def test_an_epoch_fences_live_attempts_and_gives_out_no_number_again(
    small_platform: SmallPlatform, target: Database, backup_file: Path
) -> None:
    create_backup(backup_file)
    restore(backup_file, target)
    assert ask(target, ATTEMPTS) == [(1, True, False)]
    assert ask(target, "SELECT state, reason FROM jobs_job") == [("queued", "restored")]
    assert ask(target, "SELECT epoch FROM core_installation") == [(2,)]
    newest = ask(target, "SELECT facts FROM events_event WHERE kind = 'platform.restored' AND id > 1000000000")
    assert newest[0][0]["attempts_fenced"] == 1
    assert ask(target, "SELECT last_seq > 1000000000 FROM metrics_streamcursor") == [(True,)]


def test_attempts_after_a_restore_are_numbered_above_all_that_came_after_the_backup(
    small_platform: SmallPlatform,
) -> None:
    begin_epoch(2, backup_at=NOW, now=NOW)
    assert launch(small_platform.job).number == 1001
    assert Installation.objects.get().epoch == 2


def test_files_that_a_restored_database_does_not_know_are_not_removed_for_a_month(
    small_platform: SmallPlatform, settings: Any
) -> None:
    with blob_store().stage(limit_bytes=100) as staging:
        staging.write(b"newer work")
        newer = blob_store().keep(staging).sha256
    os.utime(blob_store().path(newer), (0, 0))  # type: ignore[attr-defined]
    begin_epoch(2, backup_at=NOW, now=timezone.now() - timedelta(days=29))
    assert tasks.collect_unheld_blobs() == 0
    assert blob_store().exists(newer)
    settings.RESTORE_HOLD_DAYS = 28.0
    assert tasks.collect_unheld_blobs() == 1


@pytest.mark.slow
def test_checkpoints_of_unfinished_jobs_come_back_whole(
    small_platform: SmallPlatform, target: Database, backup_file: Path, settings: Any
) -> None:
    root = Path(settings.CHECKPOINT_ROOT)
    folder = root / str(small_platform.job.pk)
    for name, complete in (("attempt-0001-step-0000000010", True), ("attempt-0001-step-0000000020", False)):
        (folder / name).mkdir(parents=True)
        (folder / name / "weights.safetensors").write_bytes(name.encode())
        if complete:
            (folder / name / "manifest.json").write_text("{}")
    made = create_backup(backup_file, with_checkpoints=True)
    assert len([name for name in made.members if name.startswith("checkpoints/")]) == 2
    shutil.rmtree(root)
    assert restore(backup_file, target).n_checkpoints == 1
    assert [p.name for p in folder.iterdir()] == ["attempt-0001-step-0000000010"]
    assert (folder / "attempt-0001-step-0000000010" / "weights.safetensors").read_bytes().endswith(b"10")
