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
    """What this machine lacks for running code of strangers is logged at once, not with the first upload."""
    from mlhub.runtime.sandbox.capabilities import capabilities

    try:
        capabilities()
    except OSError as error:
        logging.getLogger(__name__).error("sandbox.unavailable %s", error)
