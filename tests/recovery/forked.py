# SPDX-License-Identifier: Apache-2.0
"""Django's commands in a fork of this process: it has imported what a new process imports in 2 s.

A fork has its own session with the database that it is given, and may be killed where a function is called.
"""

from __future__ import annotations

import importlib
import os
import signal
import traceback
from typing import Any

import environ
from django.core.management import call_command
from django.db import connection

from mlhub.recovery import restores
from mlhub.recovery.archive import BackupError
from mlhub.recovery.databases import Database

_inherited: list[Any] = []  # sessions of the parent process, which a child must not close


def run_django(*arguments: str, database: Database) -> None:
    """Does what a restore does by `python -m django`, on that database. Raises BackupError."""
    status = exit_status(*arguments, database=database)
    if status:
        raise BackupError(f"django {arguments[0]} failed with the status {status}")


def exit_status(*arguments: str, database: Database, kill_at: str = "") -> int:
    """Of a command on that database; -9 when it was killed as it called kill_at: MODULE.FUNCTION, or its n-th call with
    MODULE.FUNCTION@n. What a restore would start as a process with Django is a fork of the fork."""
    pid = os.fork()
    if pid == 0:
        os._exit(_command(arguments, database, kill_at))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _command(arguments: tuple[str, ...], database: Database, kill_at: str) -> int:
    _inherited.append(connection.connection)
    connection.connection = None
    connection.settings_dict.update(environ.Env.db_url_config(database.url))
    try:
        restores._django = run_django
        if kill_at:
            _kill_at(kill_at)
        call_command(*arguments)
        connection.close()
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _kill_at(place: str) -> None:
    path, _, number = place.partition("@")
    module_name, _, name = path.rpartition(".")
    module = importlib.import_module(module_name)
    original, n_calls = getattr(module, name), 0

    def replaced(*args: Any, **kwargs: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        if n_calls == int(number or 1):
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*args, **kwargs)

    setattr(module, name, replaced)
