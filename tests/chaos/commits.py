# SPDX-License-Identifier: Apache-2.0
"""Fail-points at every commit: an operation runs in a forked process that is killed at its n-th boundary, n = 1, 2 ...

A boundary is the moment before or after a transaction's COMMIT, or after a statement that commits by itself. All are
enumerated: the last run is the one that none of its boundaries ended.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

WRITES = ("INSERT", "UPDATE", "DELETE")
N_MOST = 60  # an operation with more boundaries than this does not end


def killed_everywhere(operation: Callable[[], None]) -> Iterator[str]:
    """Runs the operation once for each boundary and yields where it was killed; the caller repairs and checks.

    It ends after the run that was not killed. Raises AssertionError when the operation fails by itself.
    """
    for number in range(1, N_MOST):
        place = _run(operation, number)
        if not place:
            return
        yield place
    raise AssertionError(f"The operation has more than {N_MOST} commits.")


def _run(operation: Callable[[], None], number: int) -> str:
    """Where the process was killed; "" if it came to its end."""
    connections.close_all()  # a connection is not shared between two processes
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _in_child(operation, KillAt(number, writing))
    os.close(writing)
    with os.fdopen(reading) as pipe:
        place = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) == 0, f"the operation failed by itself: {place}"
        return ""
    assert os.WTERMSIG(status) == signal.SIGKILL
    return place


def _in_child(operation: Callable[[], None], kill: KillAt) -> None:
    try:
        with connection.execute_wrapper(kill.around_statement):
            kill.wrap_commits()
            operation()
    except BaseException:
        os.write(kill.pipe, traceback.format_exc().encode())
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)  # nothing of the test process is tidied up here


class KillAt:
    def __init__(self, number: int, pipe: int) -> None:
        self.left, self.pipe = number, pipe

    def wrap_commits(self) -> None:
        original = BaseDatabaseWrapper._commit  # type: ignore[attr-defined]

        def commit(wrapper: Any) -> Any:
            self.boundary("before a commit")
            done = original(wrapper)
            self.boundary("after a commit")
            return done

        BaseDatabaseWrapper._commit = commit  # type: ignore[attr-defined]

    def around_statement(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        done = execute(sql, params, many, context)
        wrapper = context["connection"]
        if not wrapper.in_atomic_block and wrapper.get_autocommit() and sql.lstrip().upper().startswith(WRITES):
            self.boundary(f"after {sql[:60]}")
        return done

    def boundary(self, place: str) -> None:
        self.left -= 1
        if self.left == 0:
            os.write(self.pipe, place.encode())
            os.kill(os.getpid(), signal.SIGKILL)
