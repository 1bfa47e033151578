# SPDX-License-Identifier: Apache-2.0
"""Commands of a restore in a fork of this process: it has Django imported by then, which takes a new process 2 s."""

from __future__ import annotations

import os
import traceback
from typing import Any

import environ
from django.core.management import call_command
from django.db import connection

from mlhub.recovery.archive import BackupError
from mlhub.recovery.databases import Database

_inherited: list[Any] = []  # sessions of the parent process, which a child must not close


def run_django(*arguments: str, database: Database) -> None:
    """Does what a restore does by `python -m django`, on that database. Raises BackupError."""
    pid = os.fork()
    if pid == 0:
        os._exit(_command(arguments, database))
    _, status = os.waitpid(pid, 0)
    if status:
        raise BackupError(f"django {arguments[0]} failed with the status {os.waitstatus_to_exitcode(status)}")


def _command(arguments: tuple[str, ...], database: Database) -> int:
    _inherited.append(connection.connection)
    connection.connection = None
    connection.settings_dict.update(environ.Env.db_url_config(database.url))
    try:
        call_command(*arguments)
        connection.close()
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
