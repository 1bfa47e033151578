# SPDX-License-Identifier: Apache-2.0
"""Celery's part of storage: collecting what no owner holds."""

from __future__ import annotations

import structlog
from celery import shared_task

from mlhub.core.locks import work_lock
from mlhub.storage import actions
from mlhub.storage.stores import blob_store

logger = structlog.stdlib.get_logger(__name__)


@shared_task
def collect_unheld_blobs() -> int:
    """Removes blobs that no owner has held for a day, and what dead uploads left; returns how many blobs.

    Blobs stay while a backup is made.
    """
    with work_lock(actions.REMOVAL) as is_mine:
        removed = sum(actions.collect(sha256) for sha256 in actions.collectable()) if is_mine else 0
    stale = blob_store().sweep_staging(older_than_s=actions.UNHELD_FOR.total_seconds())
    logger.info("storage.collected", blobs=removed, staged=stale)
    return removed
