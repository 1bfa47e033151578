# SPDX-License-Identifier: Apache-2.0
"""Deleting old events: the database refuses it anywhere else (migration 0004)."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection, transaction
from django.utils import timezone

from mlhub.core.locks import lock_until_commit
from mlhub.events.actions import append
from mlhub.events.models import ChainHead, Event


def prune(*, days: int) -> int:
    """Deletes the oldest events, up to the first of the last `days` days; returns how many. The chain begins anew with
    the hash of the last one deleted, which is kept with an event that says so."""
    before = timezone.now() - timedelta(days=days)
    with transaction.atomic():
        lock_until_commit("events")
        first_kept = Event.objects.filter(at__gte=before).order_by("id").first()
        old = Event.objects.filter(at__lt=before) if first_kept is None else Event.objects.filter(id__lt=first_kept.id)
        last = old.order_by("-id").first()
        if last is None:
            return 0
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL mlhub.deletes_events = 'yes'")
        n_deleted = old._raw_delete(old.db)
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
