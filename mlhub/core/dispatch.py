# SPDX-License-Identifier: Apache-2.0
"""Sending Celery tasks after the commit; a broker that is away delays work, it never fails a request."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING

import structlog
from django.db import transaction
from kombu.exceptions import OperationalError

from mlhub.celery import app

if TYPE_CHECKING:
    from kombu import Connection

logger = structlog.stdlib.get_logger(__name__)
CONNECT_TIMEOUT_S = 2.0
MAX_IDLE = 4
# connections to the broker that were used before, with what they know of its queues, and the address of each
_idle: deque[tuple[str, Connection]] = deque(maxlen=MAX_IDLE)
os.register_at_fork(after_in_child=_idle.clear)  # their sockets are the parent's


def send_on_commit(task: str, *arguments: str) -> None:
    """Sends the task of that full name once the present transaction commits.

    By name, since actions stand below tasks. What could not be sent, the sweep of that kind of work sends again.
    """
    transaction.on_commit(lambda: send(task, *arguments), robust=True)


def send(task: str, *arguments: str) -> bool:
    """Whether the broker took the task."""
    url = str(app.conf.broker_write_url or app.conf.broker_url)
    while (used := _taken(url)) is not None:
        if _sent(url, used, task, arguments) is None:  # else the broker was restarted meanwhile
            return True
    error = _sent(url, _new(), task, arguments)
    if error is not None:
        logger.warning("task.not_sent", task=task, arguments=arguments, error=error)
    return error is None


def _taken(url: str) -> Connection | None:
    while _idle:
        try:
            address, connection = _idle.pop()
        except IndexError:  # another thread took the last one
            return None
        if address == url:
            return connection
        connection.release()
    return None


def _new() -> Connection:
    # of our own: Celery's pool would try a broker that is away for many seconds
    options = {**app.conf.broker_transport_options, "max_retries": 0, "socket_connect_timeout": CONNECT_TIMEOUT_S}
    return app.connection_for_write(transport_options=options)


def _sent(url: str, connection: Connection, task: str, arguments: tuple[str, ...]) -> Exception | None:
    """Why the broker did not take it; the connection is kept for the next task when it did."""
    try:
        app.send_task(task, args=arguments, retry=False, connection=connection)
    except (OperationalError, OSError) as error:
        connection.release()
        return error
    if len(_idle) < MAX_IDLE:
        _idle.append((url, connection))
    else:
        connection.release()
    return None
