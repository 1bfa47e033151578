# SPDX-License-Identifier: Apache-2.0
"""Deleting the oldest events: the database refuses it anywhere else (migration 0004)."""

from __future__ import annotations

from datetime import datetime

from django.db import connection
from django.db.models import QuerySet

from mlhub.core.locks import lock_until_commit
from mlhub.events.actions import append
from mlhub.events.models import ChainHead, Event


def oldest(*, before: datetime, limit: int | None = None, below: int | None = None) -> QuerySet[Event]:
    """The oldest events without a gap, up to the first that is not older than `before`: what prune() may delete.

    limit: so many at most. below: only ids below this one. To be called in the transaction that deletes them.
    """
    lock_until_commit("events")
    bounds = [event_id for event_id in (_first_at(before), below, _after(limit)) if event_id is not None]
    found = Event.objects.filter(at__lt=before)
    return found.filter(id__lt=min(bounds)) if bounds else found


def prune(due: QuerySet[Event], *, before: datetime) -> int:
    """Deletes what oldest() found; returns how many. The chain begins anew with the hash of the last one deleted, which
    is kept with an event that says so."""
    last = due.order_by("-id").first()
    if last is None:
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL mlhub.deletes_events = 'yes'")
    n_deleted = due._raw_delete(due.db)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL mlhub.deletes_events = 'no'")
    head = ChainHead.objects.get(pk=1)
    head.first_hash, head.n_events = last.hash, head.n_events - n_deleted
    head.save()
    append(
        "audit.pruned",
        organisation=None,
        subject_kind="audit",
        subject_id=None,
        before=before,
        n_deleted=n_deleted,
        last_hash=last.hash,
    )
    return n_deleted


def _first_at(time: datetime) -> int | None:
    return Event.objects.filter(at__gte=time).order_by("id").values_list("id", flat=True).first()


def _after(limit: int | None) -> int | None:
    ids = Event.objects.order_by("id").values_list("id", flat=True)
    return None if limit is None else ids[limit : limit + 1].first()
