# SPDX-License-Identifier: Apache-2.0
"""Whether the newest events of the audit are as they were written: a part of what `manage.py verify_audit` reads."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import psycopg2
import psycopg2.errors
from psycopg2.extensions import ISOLATION_LEVEL_REPEATABLE_READ

from mlhub.embedded.checks.examiner import CheckResult
from mlhub.events.chain import CONTENT, hash_of

NEWEST = 2000  # events that are read
TIMEOUT_S = 5
BROKEN = (
    "Keep a copy of the database and of its newest backup, run `python manage.py verify_audit`, and find out who may "
    "write to the database: MLHub itself never changes an event."
)
HEAD = "SELECT hash, n_events, first_hash FROM events_chainhead WHERE id = 1"
EVENTS = f"SELECT {', '.join(CONTENT)}, previous_hash, hash FROM events_event ORDER BY id DESC LIMIT %s"  # noqa: S608 (the columns are named here)


def check_audit(url: str, *, newest: int = NEWEST) -> CheckResult:
    """newest: how many events are read."""
    if not url:
        return CheckResult("audit", True, "There is no audit without the database.")
    try:
        with contextlib.closing(psycopg2.connect(url, connect_timeout=TIMEOUT_S)) as connection:
            # the head and the events of one moment, though others are appended meanwhile
            connection.set_session(isolation_level=ISOLATION_LEVEL_REPEATABLE_READ, readonly=True)
            cursor = connection.cursor()
            cursor.execute(f"SET LOCAL statement_timeout = '{TIMEOUT_S}s'")
            cursor.execute(HEAD)
            head = cursor.fetchone()
            cursor.execute(EVENTS, [newest])
            columns = [column.name for column in cursor.description or ()]
            events = [SimpleNamespace(**dict(zip(columns, row, strict=True))) for row in cursor.fetchall()]
    except psycopg2.Error:
        return CheckResult("audit", True, "The audit cannot be read now.")
    is_whole = len(events) < newest
    if problem := _problem(head, events, is_whole=is_whole):
        return problem
    if is_whole:
        return CheckResult("audit", True, f"All {len(events)} events are as they were written.")
    return CheckResult(
        "audit",
        True,
        f"The newest {newest} events are as they were written; `manage.py verify_audit` reads all of them.",
    )


def _problem(head: tuple[str, int, str] | None, events: list[SimpleNamespace], *, is_whole: bool) -> CheckResult | None:
    """events: the newest first. is_whole: there are no others. None where the chain is intact."""
    if head is None:
        if not events:
            return None
        return CheckResult("audit", False, "The head of the chain of events was deleted.", BROKEN)
    expected, n_events, first_hash = head
    if (events[0].hash if events else first_hash) != expected or (is_whole and len(events) != n_events):
        return CheckResult(
            "audit", False, "Some of the events that were written are missing, such as the newest.", BROKEN
        )
    newer = 0
    for event in events:
        if event.hash != expected:
            break
        if hash_of(event, event.previous_hash) != event.hash:
            return CheckResult("audit", False, f"Event {event.id} was changed after it was written.", BROKEN)
        expected, newer = event.previous_hash, event.id
    else:
        if not is_whole or expected == first_hash:
            return None
    return CheckResult("audit", False, f"Before event {newer} an event was deleted, inserted or moved.", BROKEN)
