# SPDX-License-Identifier: Apache-2.0
"""Celery's part of retention: batches of what is due, kind after kind, and organisations that are deleted, each for a
bounded time."""

from __future__ import annotations

import time

import structlog
from celery import shared_task
from django.db.models import ProtectedError
from django.utils import timezone

from mlhub.core.dispatch import send
from mlhub.core.errors import ConflictError
from mlhub.core.locks import work_lock
from mlhub.jobs.retention.retention_rules import cutoffs
from mlhub.metrics.detached import remove_piece
from mlhub.retention.deletion_contents import ERASE
from mlhub.retention.erasure import erase
from mlhub.retention.models import OrganisationDeletion, ProjectDeletion, TenantDeletion
from mlhub.retention.project_caches import sweep_caches
from mlhub.retention.rules import OWNED_RULES, RULES, cutoff

logger = structlog.stdlib.get_logger(__name__)
BATCH = 5000  # rows of one transaction
RUN_S = 60.0  # of each kind; the next run goes on


@shared_task
def remove_expired(batch: int = BATCH) -> dict[str, int]:
    """Removes what the settings do not keep any longer; returns rows by kind. One run at a time."""
    removed: dict[str, int] = {}
    with work_lock("retention") as is_mine:
        for kind, owned in OWNED_RULES.items() if is_mine else ():
            kept, until = cutoffs(kind, now=timezone.now()), time.monotonic() + RUN_S
            while time.monotonic() < until and (n := owned(kept, batch)):
                removed[kind] = removed.get(kind, 0) + n
        for kind, rule in RULES.items() if is_mine else ():
            now, until = timezone.now(), time.monotonic() + RUN_S
            before = cutoff(kind, now=now)
            while before is not None and time.monotonic() < until and (n := rule(before, now, batch)):
                removed[kind] = removed.get(kind, 0) + n
        if is_mine and (n := sweep_caches()):
            removed["project_caches"] = n
    if removed:
        logger.info("retention.removed", **removed)
    return removed


@shared_task
def remove_detached(batch: int = BATCH) -> int:
    """Removes points, lines and samples of deleted jobs, in pieces, for a bounded time; returns how many rows. One run
    at a time; the next one goes on."""
    removed, until = 0, time.monotonic() + RUN_S
    with work_lock("detached-rows") as is_mine:
        while is_mine and time.monotonic() < until and (n := remove_piece(batch)) is not None:
            removed += n
    if removed:
        logger.info("retention.detached_removed", rows=removed)
    return removed


@shared_task
def erase_organisations(run_s: float = RUN_S) -> int:
    """Goes on with the projects and organisations that are being deleted; returns how many are gone. One at a time."""
    n_gone = 0
    with work_lock("organisation-deletions") as is_mine:
        for deletion in _running() if is_mine else ():
            try:
                n_gone += erase(deletion, run_s=run_s)
            except (ConflictError, ProtectedError) as error:  # tried again by the next run
                type(deletion)._default_manager.filter(pk=deletion.pk).update(problem=str(error)[:1000])
                logger.warning("tenant.not_erased", name=deletion.name, problem=str(error)[:200])
    if is_mine and any(deletion.problem == "" for deletion in _running()):
        send(ERASE)
    return n_gone


def _running() -> list[TenantDeletion]:
    """Those of projects first, which are parts of organisations."""
    deletions: tuple[type[ProjectDeletion | OrganisationDeletion], ...] = (ProjectDeletion, OrganisationDeletion)
    return [one for table in deletions for one in table.objects.running().order_by("requested_at")]
