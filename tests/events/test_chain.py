# SPDX-License-Identifier: Apache-2.0
"""Tests of the chain of events: what was changed, deleted or inserted in the database is found."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from importlib import import_module
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from mlhub.events.actions import append
from mlhub.events.chain import GENESIS
from mlhub.events.models import ChainHead, Event
from mlhub.events.verification import verify
from mlhub.tenants.models import Organisation, User
from tests.cast import make_cast

pytestmark = pytest.mark.django_db
WITHOUT_TRIGGERS = "SET LOCAL session_replication_role = replica"  # as an administrator of the database could


def appended(n: int = 3, **facts: Any) -> list[Event]:
    return [
        append("test.happened", organisation=None, subject_kind="test", subject_id=uuid4(), n=i, **facts)
        for i in range(n)
    ]


def tamper(statement: str, *parameters: Any) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(WITHOUT_TRIGGERS)
        cursor.execute(statement, parameters)
        cursor.execute("SET LOCAL session_replication_role = origin")


def test_events_are_linked_in_their_order() -> None:
    first, second, third = appended()
    assert (first.previous_hash, second.previous_hash, third.previous_hash) == (GENESIS, first.hash, second.hash)
    found = verify()
    assert (found.is_intact, found.n_events, found.head) == (True, 3, third.hash)


@pytest.mark.parametrize(
    "facts",
    [
        {"x": 1e22},
        {"x": -0.0},
        {"x": 0.1},
        {"x": 1.0},
        {"x": 10**25},
        {"x": [True, None, {"é": "\u2028"}]},
        {"x": 5e-324},
    ],
)
def test_an_event_is_intact_whatever_the_database_makes_of_its_numbers(facts: Any) -> None:
    appended(**facts)
    assert verify().is_intact


@pytest.mark.parametrize(
    "change",
    ["kind = 'test.else'", "at = at + interval '1 microsecond'", "facts = '{\"n\": 7}'", "subject_id = NULL",
     "actor_id = gen_random_uuid()", "organisation_id = gen_random_uuid()", "subject_kind = 'job'"],
)  # fmt: skip
def test_a_changed_event_is_found(change: str) -> None:
    _, second, _ = appended()
    tamper(f"UPDATE events_event SET {change} WHERE id = %s", second.id)
    assert verify().problem == f"Event {second.id} was changed after it was written."


def test_a_deleted_event_is_found_in_the_middle_and_at_either_end() -> None:
    first, second, third = appended()
    for gone, expected in (
        (second, f"Before event {third.id} an event was deleted, inserted or moved."),
        (first, f"Before event {second.id} an event was deleted, inserted or moved."),
        (third, "the newest are missing."),
    ):
        point = transaction.savepoint()
        tamper("DELETE FROM events_event WHERE id = %s", gone.id)
        assert expected in verify().problem
        transaction.savepoint_rollback(point)
    assert verify().is_intact


def test_an_inserted_event_is_found() -> None:
    *_, newest = appended()
    made_up = Event.objects.get(pk=newest.pk)
    made_up.pk, made_up.previous_hash = newest.pk + 1000, newest.hash
    made_up.save(force_insert=True)
    assert verify().problem == f"Event {made_up.pk} was changed after it was written."


def test_a_chain_that_was_rewritten_as_a_whole_is_found_by_a_head_that_was_kept() -> None:
    *_, newest = appended()
    tamper("DELETE FROM events_event")
    ChainHead.objects.all().delete()
    appended()
    assert verify().is_intact
    assert "was rewritten or cut" in verify(expected=newest.hash).problem


@pytest.mark.parametrize(
    "statement",
    ["UPDATE events_event SET kind = 'x'", "DELETE FROM events_event", "TRUNCATE events_event",
     "TRUNCATE usage_usageentry"],
)  # fmt: skip
def test_the_database_refuses_to_change_and_to_delete_events(statement: str) -> None:
    appended()
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert verify().is_intact


def test_events_outlive_their_actor_and_their_organisation() -> None:
    user, organisation = User.objects.create(username="dora"), Organisation.objects.create(name="C")
    event = append("test.happened", organisation=organisation, subject_kind="test", subject_id=None, actor=user)
    user_id = user.pk
    user.delete()
    organisation.delete()
    assert verify().is_intact
    cast = make_cast()
    (found,) = cast.client(cast.root).get(f"/api/v1/events?kind={event.kind}").json()["results"]
    assert (found["id"], found["actor"]) == (event.id, {"username": f"deleted account {user_id}"})


@pytest.mark.django_db(transaction=True)
def test_writers_at_the_same_time_make_one_chain() -> None:
    def write() -> None:
        for _ in range(5):
            appended(2)
        connection.close()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = verify()
    assert (found.is_intact, found.n_events) == (True, 40), found.problem


def test_the_command_names_the_event_and_the_head() -> None:
    *_, newest = appended()
    out = StringIO()
    call_command("verify_audit", stdout=out)
    assert out.getvalue() == f"3 events are intact. Head: {newest.hash}\n"
    call_command("verify_audit", expect=newest.hash, stdout=out)
    tamper("UPDATE events_event SET kind = 'x' WHERE id = %s", newest.id)
    with pytest.raises(CommandError, match=f"Event {newest.id} was changed .* 2 events before that are intact"):
        call_command("verify_audit")


def test_old_events_are_deleted_by_the_command_only_and_the_rest_stays_verifiable() -> None:
    long_ago = timezone.now() - timedelta(days=100)
    for _ in range(2):
        append("test.old", organisation=None, subject_kind="test", subject_id=None, at=long_ago)
    kept = appended()
    out = StringIO()
    call_command("prune_audit", days=90, stdout=out)
    assert out.getvalue() == "2 events were deleted.\n"
    assert list(Event.objects.order_by("id").values_list("kind", flat=True)) == 3 * ["test.happened"] + ["audit.pruned"]
    assert verify(expected=kept[0].hash).is_intact
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        Event.objects.filter(pk=kept[0].pk)._raw_delete("default")
    call_command("prune_audit", days=90, stdout=out)
    assert Event.objects.count() == 4


def test_nothing_is_deleted_from_a_chain_that_is_not_intact() -> None:
    append("test.old", organisation=None, subject_kind="test", subject_id=None, at=timezone.now() - timedelta(days=9))
    tamper("UPDATE events_event SET kind = 'x'")
    with pytest.raises(CommandError, match="Nothing was deleted"):
        call_command("prune_audit", days=1)
    assert Event.objects.count() == 1


def test_events_of_earlier_versions_are_linked_by_the_migration() -> None:
    appended()
    ChainHead.objects.all().delete()
    migration = import_module("mlhub.events.migrations.0003_hash_chain")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(WITHOUT_TRIGGERS)
        cursor.execute("UPDATE events_event SET hash = '', previous_hash = ''")
        migration.link_events(apps, None)
        cursor.execute("SET LOCAL session_replication_role = origin")
    appended()
    found = verify()
    assert (found.is_intact, found.n_events) == (True, 6)


VERIFY, EVENTS = "/api/v1/events/verify", "/api/v1/events"


def test_platform_administrators_verify_the_chain_through_the_api() -> None:
    cast = make_cast()
    root = cast.client(cast.root)  # signing in is the first event
    _, second, newest = appended()
    assert root.get(VERIFY).json() == {"is_intact": True, "n_events": 4, "head": newest.hash, "problem": ""}
    assert root.get(f"{VERIFY}?expect={second.hash}").json()["is_intact"]
    assert not root.get(f"{VERIFY}?expect={'0' * 63}1").json()["is_intact"]
    tamper("UPDATE events_event SET kind = 'x' WHERE id = %s", second.id)
    found = root.get(VERIFY).json()
    assert (found["is_intact"], found["n_events"]) == (False, 2)
    assert f"Event {second.id} was changed" in found["problem"]
    for user in (cast.alice, cast.charlie):
        assert cast.client(user).get(VERIFY).status_code == 403


def test_events_are_found_by_actor_name_kind_and_time() -> None:
    cast = make_cast()
    about: dict[str, Any] = {"organisation": cast.a, "subject_kind": "test", "subject_id": None}
    noon = datetime(2026, 11, 20, 12, tzinfo=UTC)
    early = append("test.one", **about, actor=cast.bob, at=noon)
    late = append("test.two", **about, actor=cast.alice, at=noon + timedelta(hours=1), username="dora")

    def found(query: str) -> list[int]:
        answer = cast.client(cast.victor).get(f"{EVENTS}?{query}")
        assert answer.status_code == 200, answer.json()
        return [row["id"] for row in answer.json()["results"]]

    assert found("actor=bob") == [early.id]
    assert found("username=dora") == [late.id]
    assert found("kind=test.two") == [late.id]
    assert found("kind_prefix=test.") == [late.id, early.id]
    assert found("since=2026-11-20T12:30:00Z") == [late.id]
    assert found("since=1458-11-26T19%3A02%3A21%2B23%3A40") == found(
        "kind_prefix="
    )  # an offset that PostgreSQL does not take
    refused = cast.client(cast.victor).get(f"{EVENTS}?since=0001-01-01T00%3A00%3A00%2B05%3A00")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "since"), refused.json()
    assert found("until=2026-11-20T12:30:00Z") == [early.id]
    assert cast.client(cast.charlie).get(f"{EVENTS}?actor=bob").json()["results"] == []
