# SPDX-License-Identifier: Apache-2.0
"""The Celery application: edge work around the control loop (inspection, validation, hand-off, clean-up)."""

import logging
import os

from celery import Celery
from celery.signals import beat_init, before_task_publish, heartbeat_sent, worker_ready

from mlhub.core import (
    heartbeat,
    task_logs,  # noqa: F401 (connects its receivers)
)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mlhub.settings")

app = Celery("mlhub")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@heartbeat_sent.connect
def record_heartbeat(**_: object) -> None:
    """The worker's main loop turns; its tasks run in other processes."""
    heartbeat.record()


@beat_init.connect
def record_beat(**_: object) -> None:
    """Only beat's own publishing counts, not that of a worker's tasks."""
    heartbeat.record()
    before_task_publish.connect(record_heartbeat)


@worker_ready.connect
def report_sandbox(**_: object) -> None:
    """What this machine lacks for running uploaded code is logged and stored at once, not with the first upload."""
    from django.db import DatabaseError
    from django.utils import timezone

    from mlhub.clusters.sandbox_reports import record_sandbox
    from mlhub.runtime.sandbox.capabilities import Capabilities, capabilities

    logger = logging.getLogger(__name__)
    found: Capabilities | OSError
    try:
        found = capabilities()
    except OSError as error:
        logger.error("sandbox.unavailable %s", error)
        found = error
    try:
        record_sandbox(found, now=timezone.now())
    except DatabaseError as error:
        logger.warning("sandbox.report_not_stored %s", error)
