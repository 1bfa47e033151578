# SPDX-License-Identifier: Apache-2.0
"""The Celery application: edge work around the control loop (inspection, validation, hand-off, clean-up)."""

import os

from celery import Celery
from celery.signals import beat_init, before_task_publish, heartbeat_sent, worker_process_init

from mlhub.core import heartbeat
from mlhub.core.structured_logs import task_logs  # noqa: F401 (connects its receivers)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mlhub.settings")

app = Celery("mlhub")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@heartbeat_sent.connect
def record_heartbeat(**_: object) -> None:
    """The worker's main loop turns; its tasks run in other processes."""
    heartbeat.record()


@worker_process_init.connect
def keep_connection(**_: object) -> None:
    """The next task uses the connection of the last one again; making one costs more than most tasks ask of it."""
    from django.conf import settings

    from mlhub.core.database.base import keep_connections

    keep_connections(min(1, settings.IDLE_CONNECTIONS))


@beat_init.connect
def record_beat(**_: object) -> None:
    """Only beat's own publishing counts, not that of a worker's tasks."""
    heartbeat.record()
    before_task_publish.connect(record_heartbeat)
