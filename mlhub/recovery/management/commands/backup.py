# SPDX-License-Identifier: Apache-2.0
"""manage.py backup FILE: the whole platform in one file, while it runs; --verify reads one back instead."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from mlhub.core.errors import UnavailableError
from mlhub.recovery.archive import BackupError
from mlhub.recovery.backups import create_backup
from mlhub.recovery.restores import verify_backup
from mlhub.storage.staging import NO_ROOM


class Command(BaseCommand):
    help = "Write a backup of database, blobs and keys to a file, or verify one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--checkpoints", action="store_true", help="also the newest one of each unfinished job")
        parser.add_argument("--verify", action="store_true", help="instead: read such a file, its database on trial")

    def handle(self, *_: Any, file: Path, checkpoints: bool, verify: bool, **__: Any) -> None:
        file = file.resolve()
        if file.is_dir():
            raise CommandError(f"{file} is a folder. Name a file, such as {file / 'monday.backup'}.")
        if verify and not file.exists():
            raise CommandError(f"There is no file {file} to verify. Write it first, without --verify.")
        try:
            manifest = verify_backup(file) if verify else create_backup(file, with_checkpoints=checkpoints)
        except BackupError as error:
            raise CommandError(str(error)) from error
        except UnavailableError as error:
            raise CommandError(f"{error} {error.remedy}") from error
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise CommandError(
                    f"{file} cannot be {'read' if verify else 'written'}: {error}. Name a file, in a folder "
                    "to which the user that runs this may write."
                ) from error
            raise CommandError(
                f"{file.parent} takes no more bytes ({error.strerror}), and nothing of this backup is left there. Make "
                "room, or name a file on another disk."
            ) from error
        n_blobs = sum(name.startswith("blobs/") for name in manifest.members)
        size_bytes = sum(member.size_bytes for member in manifest.members.values())
        word = "verified" if verify else "written"
        self.stdout.write(
            f"{file} {word}: the platform at {manifest.at}, {sum(manifest.tables.values()):,} rows, {n_blobs:,} blobs, "
            f"{size_bytes:,} bytes. It contains the platform's keys: keep it from others."
        )
        if manifest.lost:
            self.stderr.write(
                f"{len(manifest.lost)} blobs were missing or damaged in the store: {manifest.lost[0]} ..."
            )
