# SPDX-License-Identifier: Apache-2.0
"""manage.py migrate: Django's, which starts from the newest schema where the database is empty."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from mlhub.core import newest_schema


class Command(migrate.Command):
    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--every-migration",
            action="store_true",
            help="Run all migrations one by one, also where the database is empty.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        others = ("app_label", "plan", "check_unapplied", "fake", "every_migration")  # which ask for something else
        if not any(options[name] for name in others) and newest_schema.is_empty(connection):
            newest_schema.load(connection)
            if options["verbosity"] >= 1:
                self.stdout.write("The database was empty: its tables were made from mlhub/core/schema.sql.")
        super().handle(*args, **options)
