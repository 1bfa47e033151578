# SPDX-License-Identifier: Apache-2.0
"""manage.py setup_code: prints the one-time code with which the first administrator signs up in the browser."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from mlhub.tenants.actions.administration.setup import is_setup_needed, setup_code


class Command(BaseCommand):
    help = "Print the one-time code for creating the first administrator in the browser."

    def handle(self, *_: Any, **__: Any) -> None:
        if not is_setup_needed():
            raise CommandError("This installation has an administrator already. Further ones: manage.py createadmin.")
        self.stdout.write(setup_code())
