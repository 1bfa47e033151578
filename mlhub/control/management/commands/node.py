# SPDX-License-Identifier: Apache-2.0
"""manage.py node cordon|drain|uncordon NAME: closes a node to MLHub's jobs, or opens it again."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from mlhub.control.observation import maintenance
from mlhub.core.errors import NotFoundError

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def duration(text: str) -> timedelta:
    """ "90s", "10m", "2h" or "1d". Raises CommandError."""
    match = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    if match is None:
        raise CommandError(f"--deadline is {text!r}; write it like 90s, 10m, 2h or 1d.")
    return timedelta(seconds=int(match[1]) * UNITS[match[2]])


class Command(BaseCommand):
    help = "cordon: nothing new starts there. drain: it is empty after the deadline. uncordon: as before."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("verb", choices=["cordon", "drain", "uncordon"])
        parser.add_argument("name")
        parser.add_argument("--deadline", default="10m", help="of a drain: 90s, 10m (the default), 2h, 1d")
        parser.add_argument("--reason", default="", help="shown on the cluster's page")

    def handle(self, *_: Any, verb: str, name: str, deadline: str, reason: str, **__: Any) -> None:
        now = timezone.now()
        try:
            if verb == "cordon":
                maintenance.cordon(name, actor=None, reason=reason, now=now)
                self.stdout.write(f"{name} is cordoned: what runs there goes on, and nothing new starts.")
            elif verb == "drain":
                by = now + duration(deadline)
                maintenance.drain(name, actor=None, by=by, reason=reason, now=now)
                self.stdout.write(f"{name} drains: its jobs leave by {by:%Y-%m-%d %H:%M:%S} UTC.")
            else:
                was_closed = maintenance.uncordon(name, actor=None, now=now)
                self.stdout.write(f"{name} is open{'' if was_closed else ' (it was not closed)'}.")
        except NotFoundError as error:
            raise CommandError(f"{error} {error.remedy}") from error
