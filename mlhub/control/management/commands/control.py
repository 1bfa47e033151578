# SPDX-License-Identifier: Apache-2.0
"""manage.py control: the control loop. With --once: a single round, for tests and for looking."""

from __future__ import annotations

import signal
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from mlhub.backends.local import ClusterFileError
from mlhub.control.agents.actions import ensure_own_agent
from mlhub.control.deciding.deciders import SubprocessDecider
from mlhub.control.deciding.shadow import Shadow
from mlhub.control.models import Round
from mlhub.control.pods.backends import configured_backend
from mlhub.control.rounds.loop import Loop
from mlhub.core.security.secret_key import require_secret_key

SHADOW_NICENESS = 10


class Command(BaseCommand):
    help = "Observe, decide, apply, for ever: the process that gives jobs their GPUs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="make one round and leave")

    def handle(self, *_: Any, **options: Any) -> None:
        require_secret_key()
        if settings.BACKEND == "agents" and settings.LIFELINE:  # of the embedded platform, which starts it
            ensure_own_agent()
        try:
            loop = Loop(
                configured_backend(),
                decider=SubprocessDecider(),
                shadow=Shadow(SubprocessDecider(niceness=SHADOW_NICENESS)),
            )
        except ClusterFileError as error:
            raise CommandError(str(error)) from error
        try:
            if options["once"]:
                record = loop.round()
                self.stdout.write(_summary_of(record))
                return
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: setattr(loop, "is_asked_to_end", True))
            loop.run()
        finally:
            loop.close()


def _summary_of(record: Round | None) -> str:
    if record is None:
        return "The backend is away."
    return record.error or str(record.applied or "Nothing to do.")
