# SPDX-License-Identifier: Apache-2.0
"""The check of the audit: the newest events are intact, or it is said which one is not."""

from __future__ import annotations

from unittest.mock import ANY

import pytest
from django.db import connection

from mlhub.embedded.checks.audit_check import check_audit
from mlhub.embedded.checks.examiner import CheckResult
from mlhub.events.models import ChainHead, Event
from mlhub.events.verification import verify
from tests.events.test_chain import appended, tamper

pytestmark = pytest.mark.django_db(transaction=True)


def found(newest: int = 100) -> CheckResult:
    at = connection.settings_dict
    user = f"{at['USER']}:{at['PASSWORD']}@" if at["PASSWORD"] else f"{at['USER']}@"
    return check_audit(f"postgresql://{user}{at['HOST']}:{at['PORT'] or 5432}/{at['NAME']}", newest=newest)


def test_what_is_as_it_was_written_is_ok_and_the_bound_is_named() -> None:
    assert found() == CheckResult("audit", True, "All 0 events are as they were written.")
    appended(5, facts={"x": 1e22, "y": [-0.0, 0.1, "é"]})
    assert found() == CheckResult("audit", True, "All 5 events are as they were written.")
    bounded = found(newest=3)
    assert (bounded.is_ok, "newest 3 events" in bounded.detail) == (True, True)
    assert "verify_audit" in bounded.detail


@pytest.mark.parametrize("newest", [100, 4])
def test_a_changed_or_missing_event_among_the_newest_fails(newest: int) -> None:
    events = appended(5)
    kept = list(Event.objects.values())
    cases = [
        ("UPDATE events_event SET facts = '{}' WHERE id = %s", 3, f"Event {events[3].id} was changed"),
        ("UPDATE events_event SET actor_id = gen_random_uuid() WHERE id = %s", 2, f"Event {events[2].id} was changed"),
        ("DELETE FROM events_event WHERE id = %s", 4, "are missing"),
        ("DELETE FROM events_event WHERE id = %s", 3, "missing" if newest > 5 else f"Before event {events[4].id} an"),
    ]
    for statement, index, words in cases:
        tamper(statement, events[index].id)
        result = found(newest)
        assert (result.is_ok, words in result.detail) == (False, True), result
        assert "verify_audit" in result.remedy
        tamper("DELETE FROM events_event")
        Event.objects.bulk_create(Event(**row) for row in kept)
    assert (found(newest).is_ok, verify().is_intact) == (True, True)


def test_the_oldest_and_the_head_belong_to_the_chain() -> None:
    first, *_ = appended(3)
    ChainHead.objects.update(n_events=2)
    tamper("DELETE FROM events_event WHERE id = %s", first.id)
    assert "an event was deleted" in found().detail
    ChainHead.objects.all().delete()
    assert found() == CheckResult("audit", False, "The head of the chain of events was deleted.", ANY)


def test_a_database_that_does_not_answer_is_another_check_s() -> None:
    result = check_audit("postgresql://x@127.0.0.1:1/x")
    assert (result.is_ok, result.detail) == (True, "The audit cannot be read now.")
    assert check_audit("").is_ok
