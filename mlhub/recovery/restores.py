# SPDX-License-Identifier: Apache-2.0
"""Verifying a backup, and restoring it: into a scratch database that takes the old one's place when all is done."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings

from mlhub.recovery.archive import DATABASE, BackupError, BackupReader, Manifest, reading
from mlhub.recovery.backups import keys_of_settings
from mlhub.recovery.checkpoints import restore_checkpoints
from mlhub.recovery.databases import Database, drop, load, scratch, sessions, swap
from mlhub.storage.stores import blob_store

N_NAMED = 5


@dataclass(frozen=True)
class Restored:
    """old_database: the name under which the database of before is kept; "" if there was none, or nothing in it."""

    manifest: Manifest
    epoch: int
    n_blobs: int
    n_checkpoints: int
    old_database: str
    lost: list[str]


def verify_backup(path: Path) -> Manifest:
    """Reads all of it, and restores its database into a scratch one. Raises BackupError."""
    with reading(path) as backup:
        backup.check()
        database = Database.of_settings()
        with scratch(database.named(f"{database.name}_verifying")) as copy:
            _load(backup, copy)
            _check_blobs(backup, copy)
        return backup.manifest


def restore_backup(path: Path, *, now: datetime, database: Database | None = None, force: bool = False) -> Restored:
    """Makes the platform what the backup shows. Until the last step, which is one transaction, nothing has changed.

    1 read all of the backup  2 refuse a database in use, or one with people in it  3 load the dump into a scratch
    database  4 migrate it, and begin a new epoch in it  5 store the blobs and checkpoints  6 exchange the databases.
    database: whose place it takes; the settings' one by default. force: also when people have used it; it is kept.
    One that no one has used, such as of a platform that was only started, is dropped once the exchange is made.
    Raises BackupError.
    """
    database = database or Database.of_settings()
    with reading(path) as backup:
        backup.check()
        _require_same_key(backup)
        there = database.exists()
        is_used = there and _require_free(database, force=force)
        epoch = 1 + max(backup.manifest.epoch, _epoch_of(database) if there else 0, _epoch_of_home())
        with scratch(database.named(f"{database.name}_restoring")) as copy:
            _load(backup, copy)
            _django("migrate", "--verbosity", "0", database=copy)
            _django("begin_epoch", str(epoch), "--backup-at", backup.manifest.at, database=copy)
            n_blobs, lost = _store_blobs(backup, copy)
            n_checkpoints = restore_checkpoints(backup, Path(settings.CHECKPOINT_ROOT))
            _record_epoch(epoch)
            old = f"{database.name}_before_{now:%Y%m%d%H%M%S}" if there else None
            swap(copy, into_place_of=database, old_name=old)
        if old and not is_used:
            old = None if _dropped(database.named(old)) else old
        return Restored(backup.manifest, epoch, n_blobs, n_checkpoints, old or "", lost)


def _load(backup: BackupReader, into: Database) -> None:
    with backup.open(DATABASE) as dump:
        load(dump, into)
    found, wanted = into.counts(), dict(backup.manifest.tables)
    if found != wanted:
        table = next(name for name in sorted({*found, *wanted}) if found.get(name) != wanted.get(name))
        raise BackupError(f"{table} has {found.get(table)} rows after loading, and had {wanted.get(table)}.")


def _check_blobs(backup: BackupReader, copy: Database) -> None:
    missing = _named_blobs(copy) - set(backup.blobs()) - set(backup.manifest.lost)
    if missing:
        raise BackupError(f"The backup lacks {len(missing)} blobs, {sorted(missing)[0]} for one. Use another one.")


def _require_same_key(backup: BackupReader) -> None:
    """Another key would end every session, and make what pods and people were given worthless."""
    if backup.keys()["MLHUB_SECRET_KEY"] != keys_of_settings()["MLHUB_SECRET_KEY"]:
        raise BackupError(
            "The backup was made with another MLHUB_SECRET_KEY. Set the one that it contains: "
            "tar --extract --to-stdout --file BACKUP keys.json"
        )


def _require_free(database: Database, *, force: bool) -> bool:
    """Returns whether people have used it. Raises BackupError."""
    if users := sessions(database):
        names = ", ".join(sorted(set(users))[:N_NAMED])
        raise BackupError(f"The database {database.name} is in use ({names}). Stop the platform first.")
    n_people = database.counts().get("tenants_user", 0)
    if n_people and not force:
        raise BackupError(
            f"The platform is not empty: {n_people} people have an account. "
            "Give --force to put the backup in its place; the present database is kept under another name."
        )
    return n_people > 0


def _dropped(database: Database) -> bool:
    """False where the server refuses it: then it stays, and its name is printed."""
    try:
        drop(database)
    except BackupError:
        return False
    return True


def _store_blobs(backup: BackupReader, copy: Database) -> tuple[int, list[str]]:
    """Stores what the store lacks. Returns how many blobs, and which of those that the database names are nowhere."""
    store, n_stored = blob_store(), 0
    for sha256 in backup.blobs():
        if not store.verify(sha256):
            member = f"blobs/{sha256}"
            with backup.open(member) as stream:
                store.write(stream, limit_bytes=backup.manifest.members[member].size_bytes)  # type: ignore[arg-type]
            n_stored += 1
    return n_stored, sorted(sha256 for sha256 in _named_blobs(copy) if not store.exists(sha256))


def _named_blobs(database: Database) -> set[str]:
    session = database.connect()
    try:
        with session.cursor() as cursor:
            cursor.execute("SELECT sha256 FROM storage_blob")
            return {row[0] for row in cursor.fetchall()}
    finally:
        session.close()


def _epoch_of(database: Database) -> int:
    """0 for a database without the table: it is empty, or older than epochs."""
    session = database.connect()
    try:
        with session.cursor() as cursor:
            cursor.execute("SELECT to_regclass('core_installation') IS NOT NULL")
            if not cursor.fetchone()[0]:
                return 0
            cursor.execute("SELECT coalesce(max(epoch), 0) FROM core_installation")
            return int(cursor.fetchone()[0])
    finally:
        session.close()


def _epoch_of_home() -> int:
    """The newest epoch that was begun from this folder, also when the database that knew it is gone."""
    path = settings.MLHUB_HOME / "epoch"
    return int(path.read_text()) if path.exists() else 0


def _record_epoch(epoch: int) -> None:
    temporary = settings.MLHUB_HOME / ".epoch"
    temporary.write_text(str(epoch))
    temporary.replace(settings.MLHUB_HOME / "epoch")


def _django(*arguments: str, database: Database) -> None:
    """A command of this MLHub in a process of its own, which sees that database. Raises BackupError."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "mlhub.settings", "DATABASE_URL": database.url}
    command = [sys.executable, "-m", "django", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BackupError(f"django {arguments[0]} failed: {(done.stdout + done.stderr).strip()[-800:]}")
