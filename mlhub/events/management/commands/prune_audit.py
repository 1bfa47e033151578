# SPDX-License-Identifier: Apache-2.0
"""manage.py prune_audit: the one way to delete events, for retention periods; what it did is an event itself."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from mlhub.events.retention import oldest, prune
from mlhub.events.verification import verify


class Command(BaseCommand):
    help = (
        "Delete events older than so many days. Job stories and the audit of that time are gone then: save them first."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--days", type=int, required=True, help="keep events of the last so many days; at least 1")

    def handle(self, *_: Any, **options: Any) -> None:
        if options["days"] < 1:
            raise CommandError("--days: keep at least one day.")
        found = verify()
        if not found.is_intact:
            raise CommandError(f"{found.problem} Nothing was deleted: deleting would hide it.")
        before = timezone.now() - timedelta(days=options["days"])
        with transaction.atomic():
            n_deleted = prune(oldest(before=before), before=before)
        self.stdout.write(f"{n_deleted} events were deleted.")
