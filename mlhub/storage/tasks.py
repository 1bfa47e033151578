# SPDX-License-Identifier: Apache-2.0
"""Celery's part of storage: working off the queue of the sandbox, and collecting what no owner holds."""

from __future__ import annotations

from datetime import timedelta

import structlog
from celery import shared_task
from django.utils import timezone

from mlhub.celery import app
from mlhub.core.dispatch import send
from mlhub.core.locks import work_lock
from mlhub.core.structured_logs.task_logs import bind_work
from mlhub.storage import actions, multipart, resumable, work_queue
from mlhub.storage.models import WorkItem
from mlhub.storage.stores import blob_store

logger = structlog.stdlib.get_logger(__name__)
MESSAGES = {False: work_queue.WORK, True: work_queue.OUTGOING_WORK}  # by whether an item calls other sites
WAKE_UPS = 8  # of a sweep: more than the workers of most installations
QUIET_FOR = timedelta(seconds=15)  # without a start while items wait: the messages were lost


@shared_task
def work_on_next(is_chain: str = "") -> None:
    """Does the item whose turn it is, whichever message this was. is_chain "chain": another message follows while
    items wait, in place of messages that were lost."""
    _work_on_next(is_chain, is_outgoing=False)


@shared_task
def work_on_next_outgoing(is_chain: str = "") -> None:
    """The same for items that call other sites."""
    _work_on_next(is_chain, is_outgoing=True)


def _work_on_next(is_chain: str, *, is_outgoing: bool) -> None:
    with work_queue.next_item(is_outgoing=is_outgoing) as item:
        if item is None:
            return
        bind_work(item.task, subject_id=str(item.subject_id), request_id=item.request_id)
        app.tasks[item.task].run(str(item.subject_id))
    if is_chain and WorkItem.objects.due().filter(is_outgoing=is_outgoing).exists():
        send(MESSAGES[is_outgoing], is_chain)


@shared_task
def sweep_work_queue() -> int:
    """Puts back what dead workers left, and wakes workers when nothing was begun for a while; returns how many."""
    n_abandoned = work_queue.requeue_abandoned()
    work_queue.forget_ended()
    if n_abandoned:
        logger.warning("work_queue.workers_died", items=n_abandoned)
    return sum(_wake(is_outgoing, after_deaths=n_abandoned > 0) for is_outgoing in MESSAGES)


def _wake(is_outgoing: bool, *, after_deaths: bool) -> int:
    items = WorkItem.objects.filter(is_outgoing=is_outgoing)
    n_due = items.due().count()
    is_moving = items.filter(started_at__gt=timezone.now() - QUIET_FOR).exists()
    if not n_due or (is_moving and not after_deaths):
        return 0
    return sum(send(MESSAGES[is_outgoing], "chain") for _ in range(min(n_due, WAKE_UPS)))


@shared_task
def collect_unheld_blobs() -> int:
    """Removes blobs that no owner has held for a day, and what dead uploads left; returns how many blobs.

    Blobs stay while a backup is made.
    """
    with work_lock(actions.REMOVAL) as is_mine:
        removed = sum(actions.collect(sha256) for sha256 in actions.collectable()) if is_mine else 0
    stale = blob_store().sweep_staging(older_than_s=actions.UNHELD_FOR.total_seconds())
    orphans = resumable.sweep_orphans()
    multipart.forget_completed()
    logger.info("storage.collected", blobs=removed, staged=stale, uploads=orphans)
    return removed
