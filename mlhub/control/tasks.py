# SPDX-License-Identifier: Apache-2.0
"""What Celery does for the control loop: it notices that no rounds are made, which the loop could not publish."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from mlhub.control.round_health import publish_stop


@shared_task
def watch_rounds() -> None:
    """Publishes once that rounds have stopped."""
    publish_stop(now=timezone.now())
