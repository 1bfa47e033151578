# SPDX-License-Identifier: Apache-2.0
"""What replays know of deleted jobs and organisations goes, too: rows by job, and means by organisation."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction

from mlhub.control.models import PolicyReplay, ReplayState
from mlhub.jobs.models import Job


def forget_deleted() -> int:
    """Returns how many replays lost rows. Traces are no jobs of the platform, and stay as they were uploaded."""
    over = PolicyReplay.objects.filter(state=ReplayState.SUCCEEDED, since__isnull=False)
    return sum(_forget(replay_id) for replay_id in over.order_by("id").values_list("id", flat=True))


@transaction.atomic
def _forget(replay_id: UUID) -> bool:
    replay = PolicyReplay.objects.select_for_update().filter(pk=replay_id).first()
    if replay is None or replay.result is None:
        return False
    hits = [hit for figures in _figures(replay.result) for hit in figures["worst_hit"]]
    named = {row["job"] for row in (*replay.job_rows, *hits)}
    jobs = {str(job_id) for job_id in Job.objects.filter(id__in=named).values_list("id", flat=True)}
    rows = [row for row in replay.job_rows if row["job"] in jobs]
    organisations = {row["organisation"] for row in rows}  # one of which no job is left has no mean either
    is_changed = len(rows) < len(replay.job_rows)
    for figures in _figures(replay.result):
        hit = [one for one in figures["worst_hit"] if one["job"] in jobs]
        means = [one for one in figures["by_organisation"] if one["organisation"] in organisations]
        is_changed |= len(hit) < len(figures["worst_hit"]) or len(means) < len(figures["by_organisation"])
        figures.update(worst_hit=hit, by_organisation=means)
    if is_changed:
        replay.job_rows = rows
        replay.save(update_fields=["result", "job_rows"])
    return is_changed


def _figures(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Of the policies that did not fail."""
    return [one["figures"] for one in result["policies"] if one["figures"] is not None]
