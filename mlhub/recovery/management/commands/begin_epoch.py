# SPDX-License-Identifier: Apache-2.0
"""manage.py begin_epoch: fences what was live in a database that was restored; `restore` calls it."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from mlhub.recovery.archive import BackupError
from mlhub.recovery.epochs import begin_epoch


class Command(BaseCommand):
    help = "Begin a new epoch in a restored database: fence live attempts, and move numbers on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("epoch", type=int, help="higher than every earlier one")
        parser.add_argument("--backup-at", type=datetime.fromisoformat, required=True, help="ISO 8601")

    def handle(self, *_: Any, epoch: int, backup_at: datetime, **__: Any) -> None:
        try:
            n_fenced = begin_epoch(epoch, backup_at=backup_at, now=timezone.now())
        except BackupError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"epoch {epoch}: {n_fenced} attempts fenced")
