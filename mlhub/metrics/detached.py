# SPDX-License-Identifier: Apache-2.0
"""Points, lines and samples of deleted jobs: millions of rows, removed in pieces after the request that deleted them.

A job, its attempts and its series go at once, and with them every way to these rows. A trigger of the database notes
which series and attempts went, in the transaction that deletes them, whichever code that is (migration 0012). A note
stays until its last row is gone, so a process that is killed meanwhile loses at most the piece that it was removing.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction

from mlhub.metrics.models import DetachedKind, DetachedRows, LogLine, MetricPoint, UsageSample

# by kind: the rows, and the column that orders them within their series or attempt
ROWS: dict[str, tuple[Any, str]] = {
    DetachedKind.POINTS: (MetricPoint, "step"),
    DetachedKind.LINES: (LogLine, "seq"),
    DetachedKind.USAGE: (UsageSample, "number"),
}


def remove_piece(limit: int) -> int | None:
    """Removes about that many rows of what was deleted first; returns how many there were, None when nothing is left.

    More only where several rows have the same place: a number of each pod of a gang.
    """
    with transaction.atomic():
        note = DetachedRows.objects.select_for_update(skip_locked=True).order_by("id").first()
        if note is None:
            return None
        model, place = ROWS[note.kind]
        is_of_series = note.kind == DetachedKind.POINTS
        owner = {"series_id": note.series_id} if is_of_series else {"attempt_id": note.attempt_id}
        rows = model.objects.filter(**owner)
        last = rows.order_by(place).values_list(place, flat=True)[limit - 1 : limit].first()
        n: int = (rows if last is None else rows.filter(**{f"{place}__lte": last})).delete()[0]
        if last is None:
            note.delete()
        return n
