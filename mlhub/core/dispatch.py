# SPDX-License-Identifier: Apache-2.0
"""Sending Celery tasks after the commit; a broker that is away delays work, it never fails a request."""

from __future__ import annotations

import structlog
from django.db import transaction
from kombu.exceptions import OperationalError

from mlhub.celery import app

logger = structlog.stdlib.get_logger(__name__)
CONNECT_TIMEOUT_S = 2.0


def send_on_commit(task: str, *arguments: str) -> None:
    """Sends the task of that full name once the present transaction commits.

    By name, since actions stand below tasks. What could not be sent, the sweep of that kind of work sends again.
    """
    transaction.on_commit(lambda: send(task, *arguments), robust=True)


def send(task: str, *arguments: str) -> bool:
    """Whether the broker took the task."""
    # a connection of its own: Celery's pool would try a broker that is away for many seconds
    options = {**app.conf.broker_transport_options, "max_retries": 0, "socket_connect_timeout": CONNECT_TIMEOUT_S}
    try:
        with app.connection_for_write(transport_options=options) as connection:
            app.send_task(task, args=arguments, retry=False, connection=connection)
    except (OperationalError, OSError) as error:
        logger.warning("task.not_sent", task=task, arguments=arguments, error=error)
        return False
    return True
