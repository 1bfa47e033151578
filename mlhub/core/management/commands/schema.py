# SPDX-License-Identifier: Apache-2.0
"""manage.py schema apply|wait: brings the database to this version's schema, or waits until another process has."""

from __future__ import annotations

import time
from typing import Any

import structlog
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

from mlhub.core.locks import work_lock

logger = structlog.stdlib.get_logger(__name__)
LOCK = "schema"
RETRY_S = 1.0


class Command(BaseCommand):
    help = (
        "apply: run the migrations and register the built-in models, one process at a time. wait: until that is done."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("verb", choices=["apply", "wait"])
        parser.add_argument(
            "--timeout-s", type=float, default=0.0, help="give up after so many seconds; 0, the default: never"
        )

    def handle(self, *_: Any, verb: str, timeout_s: float, **__: Any) -> None:
        until = time.monotonic() + timeout_s if timeout_s else float("inf")
        while reason := (_apply() if verb == "apply" else missing()):
            if time.monotonic() >= until:
                raise CommandError(f"Gave up after {timeout_s:g} s. {reason}")
            logger.info("schema.waits", reason=reason)
            time.sleep(RETRY_S)
        logger.info("schema.ready")


def missing() -> str:
    """What this version still waits for; "" when the database has every migration that it knows.

    Migrations of a newer version do not matter: after a rollback the older one starts on the newer schema.
    """
    try:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except OperationalError as error:
        connection.close()
        return f"The database does not answer: {error}"
    return f"{len(plan)} migrations are not applied; the first is {plan[0][0]}." if plan else ""


def _apply() -> str:
    """Returns why it could not be done yet, "" when it is done. Raises what a migration raises."""
    try:
        connection.ensure_connection()
    except OperationalError as error:
        return f"The database does not answer: {error}"
    with work_lock(LOCK) as is_mine:
        if not is_mine:
            return "Another process applies the migrations."
        call_command("migrate", interactive=False, verbosity=1)
        call_command("ensure_builtins")
    return ""
