# SPDX-License-Identifier: Apache-2.0
"""Events: ids rise in the order of commits, and Redis being away never fails a write."""

from __future__ import annotations

import threading
from contextlib import suppress
from uuid import uuid4

import pytest
from django.db import connection, transaction

from mlhub.events.actions import append
from mlhub.events.models import Event
from mlhub.events.wakeups import wake
from mlhub.tenants.models import Organisation


def an_event(kind="test.happened", **facts):
    return append(kind, organisation=None, subject_kind="test", subject_id=uuid4(), **facts)


@pytest.mark.django_db
def test_an_event_keeps_its_facts_as_plain_json():
    organisation = Organisation.objects.create(name="A")
    subject = uuid4()
    append("job.state", organisation=organisation, subject_kind="job", subject_id=subject, before="queued", job=subject)
    event = Event.objects.get()
    assert event.facts == {"before": "queued", "job": str(subject)}
    assert (event.organisation, event.actor) == (organisation, None)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_ids_rise_in_the_order_of_commits_though_writers_overlap():
    first_has_appended, second_was_seen_waiting = threading.Event(), threading.Event()
    order: list[str] = []

    def second():
        first_has_appended.wait(600)
        with transaction.atomic():
            second_was_seen_waiting.set()
            an_event("second")
            order.append("second appended")
        connection.close()

    thread = threading.Thread(target=second)
    thread.start()
    with transaction.atomic():
        an_event("first")
        first_has_appended.set()
        second_was_seen_waiting.wait(600)
        assert Event.objects.filter(kind="second").count() == 0
        order.append("first commits")
    thread.join(60)
    assert order == ["first commits", "second appended"]
    assert list(Event.objects.order_by("id").values_list("kind", flat=True)) == ["first", "second"]


@pytest.mark.django_db(transaction=True)
def test_an_event_is_stored_while_redis_is_away(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    an_event("kept")
    assert Event.objects.filter(kind="kept").exists()
    assert wake("events") is False


@pytest.mark.django_db
def test_an_event_of_a_rolled_back_transaction_never_happened():
    with suppress(RuntimeError), transaction.atomic():
        an_event("undone")
        raise RuntimeError
    assert not Event.objects.exists()
