# SPDX-License-Identifier: Apache-2.0
"""The table of what rounds left out: written where it changed, read by the cluster's page and Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from mlhub.backends.protocol import ItemKind, QuarantinedItem
from mlhub.control.fault_isolation.isolation import printable
from mlhub.control.models import QuarantineRecord
from mlhub.jobs.models import Attempt, Job
from mlhub.tenants.models import User

MOST_STORED = 1000  # items of one round
MAX_NAME = 300
KEPT_FOR = timedelta(days=7)  # after its end
REFRESHED_EVERY = timedelta(seconds=60)  # last_seen_at of those that stay
MOST_SHOWN = 200

_JOB = "Look at the job's configuration and profile; submit it again, or cancel it. Report the log of the control loop."
_ATTEMPT = (
    "Look at the log of the control loop for the traceback. Cancel the job if its attempt does not end by itself."
)
REMEDIES: Mapping[ItemKind, str] = {
    ItemKind.GANG: "Its job is started again. If the same job damages its files again, cancel it and look at its code.",
    ItemKind.POD: "Delete the pod if no job needs it; what created or changed it outside MLHub will do so again.",
    ItemKind.NODE: "Correct what the node reports of itself (name, labels, capacities); until then it is not used.",
    ItemKind.GPU: "Look with nvidia-smi at what holds it, and end that; it is offered again as soon as it is free.",
    ItemKind.ATTEMPT: _ATTEMPT,
    ItemKind.JOB: _JOB,
    ItemKind.PROJECT: "Look at the log of the control loop for the traceback.",
    ItemKind.QUOTA: "Set the quota again; until then no job below it starts.",
    ItemKind.STEP: "Look at the log of the control loop for the traceback; jobs are scheduled without this step.",
}


@dataclass
class QuarantineTable:
    """Stores the items of each round where they changed. At first, what the table holds counts as unknown."""

    _stored: dict[tuple[str, str], str] | None = None
    _refreshed_at: datetime | None = field(default=None)

    def store(self, items: Iterable[QuarantinedItem], *, now: datetime) -> None:
        """items: those of this round; all others are ended."""
        found = {(item.kind.value, printable(item.name)[:MAX_NAME]): item for item in list(items)[:MOST_STORED]}
        reasons = {key: item.reason for key, item in found.items()}
        is_due = self._refreshed_at is None or now - self._refreshed_at >= REFRESHED_EVERY
        if reasons == self._stored and not (is_due and reasons):
            return
        with transaction.atomic():
            _write(found, now=now)
        self._stored, self._refreshed_at = reasons, now


def quarantined_for(user: User) -> list[dict[str, Any]]:
    """Items that are left out now, then those that were lately, the newest first.

    Administrators see all of them; others those of jobs that they may see, without the reason, which may name code.
    """
    rows = QuarantineRecord.objects.all() if user.is_staff else QuarantineRecord.objects.visible_to(user)
    present = rows.select_related("job").filter(ended_at=None).order_by("-since", "-id")
    past = rows.select_related("job").exclude(ended_at=None).order_by("-ended_at", "-id")
    found = list(present[:MOST_SHOWN])
    return [_shown(row, is_staff=user.is_staff) for row in [*found, *past[: MOST_SHOWN - len(found)]]]


def _shown(row: QuarantineRecord, *, is_staff: bool) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "name": row.name,
        "reason": row.reason if is_staff else "",
        "remedy": REMEDIES[ItemKind(row.kind)] if is_staff else "Ask an administrator of the platform.",
        "job": {"id": row.job.id, "name": row.job.name} if row.job is not None else None,
        "since": row.since,
        "last_seen_at": row.last_seen_at,
        "ended_at": row.ended_at,
    }


def _write(found: Mapping[tuple[str, str], QuarantinedItem], *, now: datetime) -> None:
    known = {(row.kind, row.name): row for row in QuarantineRecord.objects.filter(ended_at=None)}
    gone = [row.pk for key, row in known.items() if key not in found]
    QuarantineRecord.objects.filter(pk__in=gone).update(ended_at=now)
    jobs = _jobs_of(item for item in found.values())
    for (kind, name), item in found.items():
        before = known.get((kind, name))
        since = before.since if before else item.since
        changes = {"reason": printable(item.reason), "job_id": jobs.get(item.name), "since": since}
        QuarantineRecord.objects.update_or_create(
            kind=kind, name=name, defaults=changes | {"last_seen_at": now, "ended_at": None}
        )
    QuarantineRecord.objects.filter(ended_at__lt=now - KEPT_FOR).delete()


def _jobs_of(items: Iterable[QuarantinedItem]) -> dict[str, UUID]:
    """By name of a job, attempt or gang, the job's id."""
    ids = [found for item in items if (found := _uuid(item)) is not None]
    if not ids:
        return {}
    jobs = {str(job_id): job_id for job_id in Job.objects.filter(id__in=ids).values_list("id", flat=True)}
    attempts = Attempt.objects.filter(id__in=ids).values_list("id", "job_id")
    return jobs | {str(attempt_id): job_id for attempt_id, job_id in attempts}


def _uuid(item: QuarantinedItem) -> UUID | None:
    if item.kind not in (ItemKind.JOB, ItemKind.ATTEMPT, ItemKind.GANG):
        return None
    try:
        return UUID(item.name)
    except ValueError:
        return None
