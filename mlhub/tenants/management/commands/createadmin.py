# SPDX-License-Identifier: Apache-2.0
"""manage.py createadmin: an administrator of the platform, for scripts; running it again changes only what differs."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from mlhub.tenants.management.commands import create_user


class Command(create_user.Command):
    help = "Create an administrator of the platform, or make an existing user one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(staff=True)

    def handle(self, *arguments: Any, **options: Any) -> None:
        super().handle(*arguments, **{**options, "staff": True})
