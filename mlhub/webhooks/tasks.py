# SPDX-License-Identifier: Apache-2.0
"""Celery's part of webhooks: events are sent as deliveries and e-mail every few seconds; long waits become events."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from mlhub.core.locks import work_lock
from mlhub.webhooks import delivery, mail
from mlhub.webhooks.long_waits import report_long_waits


@shared_task
def deliver() -> int:
    """Returns how many deliveries succeeded. One run at a time."""
    with work_lock("webhooks") as is_mine:
        if not is_mine:
            return 0
        delivery.make_deliveries()
        return delivery.send_due()


@shared_task
def send_mail_notices() -> int:
    """Returns how many messages were sent. One run at a time."""
    with work_lock("mail notices") as is_mine:
        return mail.send_notices() if is_mine else 0


@shared_task
def watch_waiting_jobs() -> int:
    """Returns how many jobs were found to have waited for long."""
    with work_lock("long waits") as is_mine:
        return report_long_waits(timezone.now()) if is_mine else 0
