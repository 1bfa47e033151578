# SPDX-License-Identifier: Apache-2.0
"""manage.py restore FILE: makes a stopped platform what a backup shows."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from mlhub.core.errors import UnavailableError
from mlhub.recovery.archive import BackupError
from mlhub.recovery.restores import restore_backup


class Command(BaseCommand):
    help = "Restore a backup. The platform must be stopped."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--force", action="store_true", help="also in place of a platform that people have used")

    def handle(self, *_: Any, file: Path, force: bool, **__: Any) -> None:
        try:
            done = restore_backup(file.resolve(), now=timezone.now(), force=force)
        except BackupError as error:
            raise CommandError(str(error)) from error
        except UnavailableError as error:  # of the store; the database of before is still in its place
            raise CommandError(f"{error} {error.remedy}") from error
        except OSError as error:
            raise CommandError(f"{error}. Nothing is replaced: the database of before is in its place.") from error
        self.stdout.write(
            f"Restored: the platform at {done.manifest.at}, {sum(done.manifest.tables.values()):,} rows, "
            f"{done.n_blobs:,} blobs and {done.n_checkpoints:,} checkpoints put back. This is epoch {done.epoch}."
        )
        if done.old_database:
            self.stdout.write(f"The database of before is kept as {done.old_database}; drop it when it is not needed.")
        if done.lost:
            self.stderr.write(f"{len(done.lost)} blobs are in neither the backup nor the store: {done.lost[0]} ...")
