# SPDX-License-Identifier: Apache-2.0
"""Celery's part of usage: the ledger is compared with the attempts every minute; periods that are over are reported."""

from __future__ import annotations

from datetime import timedelta

import structlog
from celery import shared_task
from django.utils import timezone

from mlhub.core.locks import work_lock
from mlhub.usage import ledger
from mlhub.usage.checks import record_check
from mlhub.usage.scheduled_reports import report_periods

logger = structlog.stdlib.get_logger(__name__)
CHECKED_FOR = timedelta(hours=1)  # after an attempt's end


@shared_task
def check_ledger() -> int:
    """Appends what is missing, as after an upgrade, and logs what disagrees; returns how many entries disagree."""
    with work_lock("usage") as is_mine:
        if not is_mine:
            return 0
        if n := ledger.append_missing():
            logger.info("usage.appended", entries=n)
        now = timezone.now()
        found = ledger.mismatches(since=now - CHECKED_FOR)
        record_check(found, now=now)
        if found:
            logger.error("usage.mismatch", n=len(found), allocations=found[:20])
        return len(found)


@shared_task
def report_use() -> int:
    """Reports weeks and months that are over, by organisation; returns how many reports."""
    with work_lock("usage-reports") as is_mine:
        return report_periods(timezone.now()) if is_mine else 0
