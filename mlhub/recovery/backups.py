# SPDX-License-Identifier: Apache-2.0
"""Making a backup while the platform runs: everything in it is of one moment of the database."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path
from uuid import UUID

import structlog
from django.conf import settings
from django.utils import timezone

from mlhub._version import __version__
from mlhub.core.installation import installation
from mlhub.core.locks import work_lock
from mlhub.jobs.states import ENDED
from mlhub.recovery.archive import DATABASE, KEYS, BackupError, BackupWriter, Manifest, writing
from mlhub.recovery.checkpoints import opened_checkpoint
from mlhub.recovery.databases import Database, Moment, moment, table_counts
from mlhub.storage.actions import REMOVAL
from mlhub.storage.stores import blob_store

logger = structlog.stdlib.get_logger(__name__)


def create_backup(target: Path, *, with_checkpoints: bool = False) -> Manifest:
    """Writes a backup of the platform to the file, which appears under its name when it is complete.

    1 keep the collector of blobs away  2 choose a moment  3 dump the database  4 copy the blobs that it names
    5 add the keys  6 add checkpoints of jobs that have not ended  7 write the manifest.
    Raises BackupError, also while another backup is made.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with work_lock(REMOVAL) as is_mine:
        if not is_mine:
            raise BackupError("Another backup is made, or unheld blobs are collected, at this moment. Repeat it later.")
        with writing(target) as writer, moment(Database.of_settings()) as seen:
            at = timezone.now()
            tables = table_counts(seen.cursor)
            with tempfile.TemporaryFile(dir=target.parent) as dump:
                seen.dump(dump)
                writer.add_file(DATABASE, dump)
            lost = _add_blobs(writer, seen)
            writer.add_json(KEYS, keys_of_settings())
            if with_checkpoints:
                _add_checkpoints(writer, seen)
            manifest = Manifest(at.isoformat(), __version__, installation().epoch, tables, lost=lost)
            return writer.finish(manifest)


def keys_of_settings() -> dict[str, str]:
    """The secrets without which a restored platform's sessions and signatures are worth nothing, by variable."""
    return {"MLHUB_SECRET_KEY": settings.SECRET_KEY, "MLHUB_METRICS_TOKEN": settings.METRICS_TOKEN}


def _add_blobs(writer: BackupWriter, seen: Moment) -> list[str]:
    """Returns those whose bytes are gone or damaged: a backup of the others is better than none."""
    seen.cursor.execute("SELECT sha256 FROM storage_blob ORDER BY sha256")
    lost = []
    for (sha256,) in seen.cursor.fetchall():
        try:
            with blob_store().local_file(sha256) as path, path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                    lost.append(sha256)
                    logger.error("backup.blob_damaged", sha256=sha256)
                    continue
                writer.add_file(f"blobs/{sha256}", file)
        except FileNotFoundError:
            lost.append(sha256)
            logger.error("backup.blob_missing", sha256=sha256)
    return lost


def _add_checkpoints(writer: BackupWriter, seen: Moment) -> None:
    for job_id in _unfinished_jobs(seen):
        with opened_checkpoint(Path(settings.CHECKPOINT_ROOT) / str(job_id)) as (folder, files):
            for name, file in files.items():
                writer.add_file(f"checkpoints/{job_id}/{folder}/{name}", file)


def _unfinished_jobs(seen: Moment) -> Iterable[UUID]:
    seen.cursor.execute("SELECT id FROM jobs_job WHERE state <> ALL(%s) ORDER BY id", [[str(s) for s in ENDED]])
    return [row[0] for row in seen.cursor.fetchall()]
