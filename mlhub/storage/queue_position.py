# SPDX-License-Identifier: Apache-2.0
"""Where a piece of work stands in the queue, in numbers of its own organisation alone: others' are not shown."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from mlhub.storage.models import WorkItem


@dataclass(frozen=True)
class QueuePosition:
    """is_running: it is under way. n_before: items of the same organisation that come first; 0 when under way.

    problem: why the platform could not do it the last time, while it is tried again; "" = that did not happen.
    """

    is_running: bool
    n_before: int
    problem: str = ""


def position_of(subject_id: UUID) -> QueuePosition | None:
    """None when there is no open work on it. Users of an organisation take turns, as in work_queue.py; who is served
    first of those that were never served is taken to be who came first."""
    item = WorkItem.objects.open().filter(subject_id=subject_id).first()
    if item is None:
        return None
    if item.started_at is not None:
        return QueuePosition(is_running=True, n_before=0, problem=item.problem)
    rows = (
        WorkItem.objects.waiting()
        .filter(organisation=item.organisation_id, is_outgoing=item.is_outgoing)
        .order_by("is_bulk", "id")
    )
    by_user: dict[UUID | None, list[int]] = {}
    for user_id, item_id in rows.values_list("user_id", "id"):
        by_user.setdefault(user_id, []).append(item_id)
    own = by_user.pop(item.user_id, [item.pk])
    turn = own.index(item.pk) if item.pk in own else 0
    others = (min(len(ids), turn + (ids[0] < own[0])) for ids in by_user.values())
    return QueuePosition(is_running=False, n_before=turn + sum(others), problem=item.problem)
