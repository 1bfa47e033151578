# SPDX-License-Identifier: Apache-2.0
"""Publishing, deleting and dismissing announcements."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from mlhub.announcements.models import Announcement, AnnouncementDismissal
from mlhub.core.errors import ConflictError
from mlhub.core.locks import lock_until_commit
from mlhub.events.actions import append
from mlhub.events.changes import ChangeKind, report_change
from mlhub.tenants.models import Organisation, User

MOST_UNENDED = 10  # begun or not: people read a few
MOST_ENDED = 100  # that are listed; the audit names all


def publish_announcement(
    *, organisation: Organisation | None, actor: User, now: datetime, **facts: Any
) -> Announcement:
    """facts: text, severity, begins_at, ends_at and is_dismissible. Raises ConflictError where there are too many."""
    with transaction.atomic():
        lock_until_commit("announcements")
        if Announcement.objects.unended(now=now).count() >= MOST_UNENDED:
            raise ConflictError(
                f"There are {MOST_UNENDED} announcements that have not ended, which is the most.",
                code="too_many_announcements",
                remedy="Delete one that people need no longer.",
            )
        made = Announcement.objects.create(organisation=organisation, published_by=actor, published_at=now, **facts)
        unended = Announcement.objects.unended(now=now).values("pk")
        ended = Announcement.objects.exclude(pk__in=unended).order_by("-id").values_list("pk", flat=True)
        Announcement.objects.filter(pk__in=list(ended[MOST_ENDED:])).delete()
        _publish("announcement.published", made, actor=actor)
    return made


def delete_announcement(announcement: Announcement, *, actor: User) -> None:
    """Pages show it no more, at once."""
    with transaction.atomic():
        n_deleted, _ = Announcement.objects.filter(pk=announcement.pk).delete()
        if n_deleted:
            _publish("announcement.deleted", announcement, actor=actor)


def dismiss_announcement(announcement: Announcement, *, user: User) -> None:
    """This person does not see it any more. Raises ConflictError for one that stays until its end."""
    if not announcement.is_dismissible:
        raise ConflictError(
            "This announcement cannot be dismissed.", code="not_dismissible", remedy="It is shown until it ends."
        )
    AnnouncementDismissal.objects.get_or_create(announcement=announcement, user=user)


def _publish(kind: str, announcement: Announcement, *, actor: User) -> None:
    report_change(ChangeKind.ANNOUNCEMENT, organisation_id=None)  # also to outsiders, who hear nothing else of theirs
    append(
        kind,
        organisation=announcement.organisation,
        subject_kind="announcement",
        subject_id=announcement.pk,
        actor=actor,
        text=announcement.text,
        severity=announcement.severity,
        begins_at=announcement.begins_at,
        ends_at=announcement.ends_at,
        is_dismissible=announcement.is_dismissible,
    )
