"""manage.py control: the control loop. With --once: a single round, for tests and for looking."""

from __future__ import annotations

import signal
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from mlhub.backends.local import ClusterFileError
from mlhub.control.backends import configured_backend
from mlhub.control.loop import Loop


class Command(BaseCommand):
    help = "Observe, decide, apply, for ever: the process that gives jobs their GPUs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="make one round and leave")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            loop = Loop(configured_backend())
        except ClusterFileError as error:
            raise CommandError(str(error)) from error
        if options["once"]:
            record = loop.round()
            self.stdout.write("The backend is away." if record is None else f"{record.applied or 'Nothing to do.'}")
            return
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: setattr(loop, "is_asked_to_end", True))
        loop.run()
