# SPDX-License-Identifier: Apache-2.0
"""The queue of work in the sandbox (inspections, validations, dry runs), shared fairly between organisations.

Celery's messages only say that there is work. What is done next is chosen in PostgreSQL when a worker is free:

1. of interactive and bulk items, the class with fewer under way, so that neither takes all workers while the other one
   waits; with equally many an interactive one, but after INTERACTIVE_STREAK of them a bulk one;
2. of the organisation with the fewest items under way, then of the one that was served least recently;
3. within it, of the user with the fewest items under way, then of the one served least recently;
4. of that user's items, the oldest.

An item is created in the transaction that makes its subject, so none is lost with a message. A worker holds an advisory
lock on its item for as long as its database connection lives; an item under way without a lock is one whose worker was
killed, and goes back to the queue. Source of rule 2: max-min fair sharing, as in Hadoop's fair scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from mlhub.core.dispatch import send_on_commit
from mlhub.core.locks import lock_until_commit, work_lock
from mlhub.core.structured_logs.logs import current_request_id
from mlhub.events.changes import ChangeKind, report_change
from mlhub.storage.models import WorkItem

if TYPE_CHECKING:
    from mlhub.tenants.models import Organisation, User

WORK = "mlhub.storage.tasks.work_on_next"
OUTGOING_WORK = "mlhub.storage.tasks.work_on_next_outgoing"
POSTPONED_FOR = timedelta(seconds=5)
INTERACTIVE_ITEMS = 10  # of a user at a time; what comes on top of them is bulk
INTERACTIVE_STREAK = 20  # interactive items begun since the last bulk one: then it is bulk's turn
LARGE_BYTES = 64 * 2**20  # files from this size on are bulk
RETRY_AFTER = timedelta(seconds=30)  # after the platform failed; twice as long each time
MAX_RETRY_AFTER = timedelta(minutes=10)
MAX_PROBLEM = 2_000
MAX_COUNTED_FAILURES = 1000
KEPT_FOR = timedelta(hours=1)  # ended items, which say who was served when
CHOICE = """
WITH served AS (
    SELECT organisation_id, user_id, count(*) FILTER (WHERE ended_at IS NULL) AS n_running, max(started_at) AS last_at
    FROM storage_workitem WHERE is_outgoing = %(outgoing)s AND started_at IS NOT NULL GROUP BY organisation_id, user_id
), of_organisation AS (
    SELECT organisation_id, sum(n_running) AS n_running, max(last_at) AS last_at FROM served GROUP BY organisation_id
), of_class AS (
    SELECT is_bulk, count(*) FILTER (WHERE ended_at IS NULL) AS n_running, max(started_at) AS last_at
    FROM storage_workitem WHERE is_outgoing = %(outgoing)s AND started_at IS NOT NULL GROUP BY is_bulk
), streak AS (
    SELECT count(*) >= %(streak)s AS is_over FROM storage_workitem
    WHERE is_outgoing = %(outgoing)s AND NOT is_bulk
        AND started_at > coalesce((SELECT last_at FROM of_class WHERE is_bulk), '-infinity')
)
SELECT item.id FROM storage_workitem item
LEFT JOIN of_class c ON c.is_bulk = item.is_bulk
LEFT JOIN of_organisation o ON o.organisation_id = item.organisation_id
LEFT JOIN served u ON u.organisation_id = item.organisation_id AND u.user_id IS NOT DISTINCT FROM item.user_id
WHERE item.is_outgoing = %(outgoing)s AND item.started_at IS NULL AND item.ended_at IS NULL
    AND (item.not_before IS NULL OR item.not_before <= %(now)s)
ORDER BY coalesce(c.n_running, 0), item.is_bulk <> (SELECT is_over FROM streak),
         coalesce(o.n_running, 0), o.last_at NULLS FIRST, coalesce(u.n_running, 0), u.last_at NULLS FIRST, item.id
LIMIT 1 FOR UPDATE OF item SKIP LOCKED
"""


class PostponedError(Exception):
    """Raised by a task whose work cannot begin yet through no fault: it waits in the queue for POSTPONED_FOR."""


class TurnOverError(Exception):
    """Raised by a task that came further and leaves the rest for its next turn: its work is queued behind all other of
    its user, and the turn counts as one when the next item is chosen."""


def enqueue(
    task: str,
    subject_id: UUID,
    *,
    organisation: Organisation,
    user: User | None,
    size_bytes: int = 0,
    is_bulk: bool = False,
    is_outgoing: bool = False,
    is_new_subject: bool = False,
) -> WorkItem:
    """Adds work in the present transaction; what waits or is under way already is not added again.

    task: the full name of the Celery task that does it when called with the subject's id. is_bulk: it comes after the
    user's interactive work, as large files do, and what is beyond INTERACTIVE_ITEMS. is_outgoing: it calls other sites,
    and is done by the process that may, and that has the key of secrets; no code of users runs there. is_new_subject:
    this transaction makes the subject, so no other can have added work on it.
    """
    interactive = WorkItem.objects.open().filter(organisation=organisation, user=user, is_bulk=False)
    fields = {
        "organisation": organisation,
        "user": user,
        "is_outgoing": is_outgoing,
        "is_bulk": is_bulk or size_bytes >= LARGE_BYTES or interactive.count() >= INTERACTIVE_ITEMS,
        "request_id": current_request_id()[:64],
    }
    if is_new_subject:
        item, is_new = WorkItem.objects.create(task=task, subject_id=subject_id, **fields), True
    else:
        item, is_new = WorkItem.objects.open().get_or_create(task=task, subject_id=subject_id, defaults=fields)
    if is_new:
        send_on_commit(OUTGOING_WORK if is_outgoing else WORK)
    found: WorkItem = item
    return found


def withdraw(subject_ids: Sequence[UUID]) -> int:
    """Removes waiting work on subjects that are deleted or cancelled; returns how many items."""
    return WorkItem.objects.waiting().filter(subject_id__in=subject_ids).delete()[0]


@contextmanager
def next_item(*, is_outgoing: bool = False) -> Iterator[WorkItem | None]:
    """The item whose turn it is, of those that call other sites or of all others, under way until the block ends; None
    when nothing waits.

    An exception in the block puts the item back for RETRY_AFTER, twice as long each further time up to MAX_RETRY_AFTER,
    and goes on; PostponedError ends here, and puts it back for a little while, TurnOverError for its next turn.
    """
    with ExitStack() as held:
        with transaction.atomic():
            lock_until_commit("work-queue")  # of two workers, the second one sees whom the first one serves
            item = _chosen(is_outgoing)
            if item is not None:
                # before the commit: an item that is under way is never seen without its lock
                held.enter_context(work_lock(_lock_name(item)))
                WorkItem.objects.filter(pk=item.pk).update(started_at=timezone.now())
                _report_turn()
        try:
            yield item
        except PostponedError:
            if item is not None:
                later = timezone.now() + POSTPONED_FOR
                WorkItem.objects.filter(pk=item.pk).update(started_at=None, not_before=later)
            return
        except TurnOverError:
            if item is not None:
                _queue_next_turn(item)
            return
        except Exception as error:
            if item is not None:
                _put_back(item, error)
            raise
        if item is not None:
            WorkItem.objects.filter(pk=item.pk).update(ended_at=timezone.now())
            _report_turn()


def others_wait(task: str, subject_id: UUID) -> bool:
    """Whether the same work on another subject waits for a worker, and not because the platform failed lately."""
    soon = Q(not_before=None) | Q(not_before__lte=timezone.now() + POSTPONED_FOR)
    waiting: bool = WorkItem.objects.waiting().filter(soon, task=task).exclude(subject_id=subject_id).exists()
    return waiting


def _queue_next_turn(item: WorkItem) -> None:
    """The item ends, so that the choice of the next one knows of the turn; what waited for its place is due at once."""
    kept = ("task", "subject_id", "organisation_id", "user_id", "is_bulk", "is_outgoing", "request_id")
    with transaction.atomic():
        WorkItem.objects.filter(pk=item.pk).update(ended_at=timezone.now())
        WorkItem.objects.create(**{name: getattr(item, name) for name in kept})
        WorkItem.objects.waiting().filter(task=item.task, n_failures=0).update(not_before=None)
        send_on_commit(OUTGOING_WORK if item.is_outgoing else WORK, "chain")
    _report_turn()


def _report_turn() -> None:
    """All that wait may have come nearer, those of other organisations too."""
    report_change(ChangeKind.QUEUED_WORK, organisation_id=None)


def _put_back(item: WorkItem, error: Exception) -> None:
    # min: of an item that failed for weeks the power would be too large for a timedelta
    waits = min(MAX_RETRY_AFTER, RETRY_AFTER * 2 ** min(item.n_failures, 10))
    WorkItem.objects.filter(pk=item.pk).update(
        started_at=None,
        not_before=timezone.now() + waits,
        problem=str(error)[:MAX_PROBLEM],
        n_failures=min(item.n_failures + 1, MAX_COUNTED_FAILURES),
    )
    _report_turn()


def requeue_abandoned() -> int:
    """Puts items back whose worker was killed; returns how many."""
    n = 0
    for item in WorkItem.objects.running():
        with work_lock(_lock_name(item)) as is_free:
            if is_free:
                n += WorkItem.objects.running().filter(pk=item.pk).update(started_at=None)
    return n


def forget_ended() -> int:
    """Deletes items that ended more than KEPT_FOR ago; returns how many."""
    return WorkItem.objects.filter(ended_at__lt=timezone.now() - KEPT_FOR).delete()[0]


def _chosen(is_outgoing: bool) -> WorkItem | None:
    with connection.cursor() as cursor:
        cursor.execute(CHOICE, {"streak": INTERACTIVE_STREAK, "outgoing": is_outgoing, "now": timezone.now()})
        row = cursor.fetchone()
    return None if row is None else WorkItem.objects.get(pk=row[0])


def _lock_name(item: WorkItem) -> str:
    return f"work:{item.pk}"
