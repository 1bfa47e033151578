# SPDX-License-Identifier: Apache-2.0
"""manage.py verify_audit: has any event been changed, deleted or inserted since it was written?"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from mlhub.events.verification import verify


class Command(BaseCommand):
    help = "Verify the hash chain of events. Keep the head that it prints elsewhere, and give it back later."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--expect", default="", help="a head that this command printed earlier")

    def handle(self, *_: Any, **options: Any) -> None:
        found = verify(expected=options["expect"])
        if not found.is_intact:
            raise CommandError(f"{found.problem} {found.n_events} events before that are intact.")
        self.stdout.write(f"{found.n_events} events are intact. Head: {found.head}")
