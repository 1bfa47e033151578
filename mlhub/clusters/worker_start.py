# SPDX-License-Identifier: Apache-2.0
"""What a Celery worker reports of its machine as soon as it is ready."""

from __future__ import annotations

import structlog
from celery.signals import worker_ready
from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from mlhub.clusters.sandbox_reports import record_sandbox

logger = structlog.stdlib.get_logger(__name__)


@worker_ready.connect
def report_sandbox(**_: object) -> None:
    """What this machine lacks for running uploaded code is logged and stored at once, not with the first upload.

    Where Jobs of the cluster run it, this machine does not, and has nothing to report."""
    if settings.SANDBOX == "jobs":
        return
    # only workers run uploaded code: other processes need not load the sandbox
    from mlhub.runtime.sandbox.capabilities import Capabilities, capabilities

    found: Capabilities | OSError
    try:
        found = capabilities()
    except OSError as error:
        logger.error("sandbox.unavailable", error=error)
        found = error
    try:
        record_sandbox(found, now=timezone.now())
    except DatabaseError as error:
        logger.warning("sandbox.report_not_stored", error=error)
