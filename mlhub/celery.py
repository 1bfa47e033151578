# SPDX-License-Identifier: Apache-2.0
"""The Celery application: edge work around the control loop (inspection, validation, hand-off, clean-up)."""

import os

from celery import Celery

from mlhub.core import task_logs  # noqa: F401 (connects its receivers)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mlhub.settings")

app = Celery("mlhub")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
