# SPDX-License-Identifier: Apache-2.0
"""The Celery application: edge work around the control loop (inspection, validation, hand-off, clean-up)."""

import logging
import os

from celery import Celery
from celery.signals import worker_ready

from mlhub.core import task_logs  # noqa: F401 (connects its receivers)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mlhub.settings")

app = Celery("mlhub")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


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
