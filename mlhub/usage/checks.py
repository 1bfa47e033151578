# SPDX-License-Identifier: Apache-2.0
"""What the comparison of the ledger with the attempts found, for the page of the cluster and for administrators."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from mlhub.events.actions import append
from mlhub.usage.models import LedgerCheck

MOST_NAMED = 20  # of the allocations that disagree
MISMATCH = "usage.mismatch"


def record_check(mismatched: Sequence[int], *, now: datetime) -> None:
    """Records a comparison; an event when entries disagree that did not at the one before."""
    with transaction.atomic():
        check, _ = LedgerCheck.objects.select_for_update().get_or_create(pk=1, defaults={"at": now})
        is_new = bool(mismatched) and check.failing_since is None
        check.at, check.allocations = now, list(mismatched[:MOST_NAMED])
        check.failing_since = (check.failing_since or now) if mismatched else None
        check.save()
        if is_new:
            append(
                MISMATCH,
                organisation=None,
                subject_kind="ledger",
                subject_id=None,
                at=now,
                n=len(mismatched),
                allocations=check.allocations,
            )


def ledger_failing_since() -> datetime | None:
    """Returns since when entries disagree with their attempts; None while they agree, and before the first check."""
    return LedgerCheck.objects.values_list("failing_since", flat=True).first()
