# SPDX-License-Identifier: Apache-2.0
"""Announcements: whom they concern, when they are shown, what may be said, and who may publish and dismiss them."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from mlhub.announcements import actions
from mlhub.announcements.models import Announcement
from mlhub.events.models import Event
from mlhub.tenants.actions import create_token
from mlhub.tenants.models import Membership, User
from mlhub.tenants.roles import Role
from tests.cast import Cast, make_cast
from tests.metrics.test_stream import Frame, Viewer

pytestmark = pytest.mark.django_db
PATH = "/api/v1/announcements"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def publish(cast: Cast, text: str = "The file server is repaired tonight.", **body: Any) -> dict[str, Any]:
    answer = cast.client(cast.root).post(PATH, {"text": text, **body})
    assert answer.status_code == 201, answer.json()
    found: dict[str, Any] = answer.json()
    return found


def shown(cast: Cast, user: User) -> list[str]:
    answer = cast.client(user).get(f"{PATH}/current")
    assert answer.status_code == 200
    return [one["text"] for one in answer.json()["announcements"]]


def at(now: datetime, hours: float) -> str:
    return (now + timedelta(hours=hours)).isoformat()


def test_everybody_reads_what_is_for_everybody_and_members_what_is_for_their_organisation(cast: Cast) -> None:
    outsider = User.objects.create(username="outsider")
    Membership.objects.create(user=outsider, organisation=cast.a, role=Role.OUTSIDER)
    publish(cast, "for all")
    publish(cast, "for A", organisation=str(cast.a.pk), severity="warning")
    for member in (cast.alice, cast.bob, cast.victor, outsider):
        assert shown(cast, member) == ["for A", "for all"]  # warnings first
    assert shown(cast, cast.charlie) == shown(cast, cast.root) == ["for all"]
    seen = cast.client(cast.charlie).get(PATH).json()["results"]
    assert [one["text"] for one in seen] == ["for all"]
    of_a = Announcement.objects.get(text="for A")
    assert cast.client(cast.charlie).get(f"{PATH}/{of_a.pk}").status_code == 404
    assert cast.client(cast.charlie).post(f"{PATH}/{of_a.pk}/dismissal").status_code == 404
    assert cast.client(None).get(f"{PATH}/current").status_code == 401


def test_a_token_for_one_organisation_reads_what_is_for_everybody_and_nothing_of_others(cast: Cast) -> None:
    Membership.objects.create(user=cast.bob, organisation=cast.b, role=Role.MEMBER)
    for organisation in (None, cast.a, cast.b):
        publish(cast, f"for {organisation or 'all'}", organisation=organisation and str(organisation.pk))
    _, token = create_token(cast.bob, name="a", scopes=["read"], expires_in_days=1, organisation=cast.a)
    answer = cast.client(None).get(f"{PATH}/current", headers={"authorization": f"Bearer {token}"})
    assert [one["text"] for one in answer.json()["announcements"]] == ["for A", "for all"]


def test_it_begins_and_ends_by_itself_and_the_answer_says_when_that_is(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    made = publish(cast, begins_at=at(now, 1), ends_at=at(now, 3))
    assert made["state"] == "scheduled"
    bob = cast.client(cast.bob)
    for hours, texts, next_hours in ((0.0, 0, 1), (2.0, 1, 3), (4.0, 0, None)):
        monkeypatch.setattr(timezone, "now", lambda hours=hours: now + timedelta(hours=hours))
        found = bob.get(f"{PATH}/current").json()
        assert len(found["announcements"]) == texts
        next_at = found["next_change_at"]
        expected = None if next_hours is None else now + timedelta(hours=next_hours)
        assert (next_at and datetime.fromisoformat(next_at)) == expected
        assert len(bob.get(PATH).json()["results"]) == texts  # what comes is not shown before its time
    assert cast.client(cast.root).get(f"{PATH}/{made['id']}").json()["state"] == "ended"


def test_who_has_dismissed_it_does_not_see_it_again_and_others_do(cast: Cast) -> None:
    made = publish(cast)
    bob = cast.client(cast.bob)
    for _ in range(2):
        assert bob.post(f"{PATH}/{made['id']}/dismissal").status_code == 204
    assert (shown(cast, cast.bob), len(shown(cast, cast.victor))) == ([], 1)
    stays = publish(cast, "stays", is_dismissible=False)
    refused = bob.post(f"{PATH}/{stays['id']}/dismissal")
    assert (refused.status_code, refused.json()["code"]) == (409, "not_dismissible")
    assert shown(cast, cast.bob) == ["stays"]


def test_a_token_that_may_read_alone_dismisses_for_its_user(cast: Cast) -> None:
    made = publish(cast)
    _, token = create_token(cast.bob, name="own", scopes=["read"], expires_in_days=1)
    header = {"authorization": f"Bearer {token}"}
    assert cast.client(None).post(f"{PATH}/{made['id']}/dismissal", headers=header).status_code == 204
    assert shown(cast, cast.bob) == []


def test_only_administrators_publish_and_delete_and_only_they_read_who_did(cast: Cast) -> None:
    made = publish(cast)
    assert made["published_by"] == "root"
    for user in (cast.alice, cast.bob, cast.charlie):
        client = cast.client(user)
        for refused in (client.post(PATH, {"text": "mine"}), client.delete(f"{PATH}/{made['id']}")):
            assert (refused.status_code, refused.json()["code"]) == (403, "administrator_needed")
        assert client.get(f"{PATH}/current").json()["announcements"][0]["published_by"] == ""
    _, token = create_token(cast.root, name="cli", scopes=["read", "write"], expires_in_days=1)
    header = {"authorization": f"Bearer {token}"}
    assert cast.client(None).post(PATH, {"text": "mine"}, headers=header).json()["needed_scope"] == "admin"


def test_begin_and_deletion_are_in_the_audit_of_those_whom_it_concerns(cast: Cast) -> None:
    made = publish(cast, organisation=str(cast.a.pk), severity="warning")
    root = cast.client(cast.root)
    assert root.delete(f"{PATH}/{made['id']}").status_code == 204
    assert root.delete(f"{PATH}/{made['id']}").status_code == 404
    assert shown(cast, cast.bob) == []
    published, deleted = Event.objects.filter(kind__startswith="announcement.").order_by("id")
    assert (published.kind, deleted.kind) == ("announcement.published", "announcement.deleted")
    for event in (published, deleted):
        assert (event.actor, event.organisation) == (cast.root, cast.a)
        assert (event.facts["text"], event.facts["severity"]) == (made["text"], "warning")


def test_bad_input_names_the_field_and_the_remedy(cast: Cast) -> None:
    root, now = cast.client(cast.root), timezone.now()
    for body, field, remedy in (
        ({}, "text", ""),
        ({"text": "  "}, "text", ""),
        ({"text": "x" * 501}, "text", "500"),
        ({"text": "see \u202emoc.elpmaxe"}, "text", "U+202E"),
        ({"text": "\u001b[2Jgone"}, "text", "U+001B"),
        ({"text": "x", "severity": "critical"}, "severity", "information, warning"),
        ({"text": "x", "ends_at": "2020-01-01T00:00:00Z"}, "ends_at", "give a time that is to come"),
        ({"text": "x", "begins_at": at(now, 3), "ends_at": at(now, 2)}, "ends_at", "before it begins"),
        ({"text": "x", "begins_at": "soon"}, "begins_at", ""),
        ({"text": "x", "begins_at": "0001-01-01T00:00:00+14:00"}, "begins_at", ""),
        ({"text": "x", "organisation": "00000000-0000-7000-8000-000000000000"}, "organisation", "organisation"),
        ({"text": "x", "endsat": None}, "endsat", "ends_at"),
    ):
        refused = root.post(PATH, body)
        assert refused.status_code in (404, 422), body
        problem = refused.json()
        assert [error["field"] for error in problem["errors"]] == [field], problem
        assert remedy in problem["errors"][0]["message"] + problem.get("remedy", "")
    assert Announcement.objects.count() == 0


def test_markup_is_text_like_any_other(cast: Cast) -> None:
    text = '<a href="https://evil.example">status page</a>\n[status](https://evil.example)'
    publish(cast, text)
    assert shown(cast, cast.bob) == [text]


def test_few_can_be_there_at_once_and_ended_ones_are_kept_in_bounds(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    monkeypatch.setattr(actions, "MOST_ENDED", 2)
    for number in range(actions.MOST_UNENDED):
        publish(cast, f"number {number}", ends_at=at(now, 1))
    refused = cast.client(cast.root).post(PATH, {"text": "one more"})
    assert (refused.status_code, refused.json()["code"]) == (409, "too_many_announcements")
    assert "Delete one" in refused.json()["remedy"]
    Announcement.objects.update(begins_at=now - timedelta(hours=2), ends_at=now - timedelta(hours=1))
    publish(cast, "one more")
    texts = [one["text"] for one in cast.client(cast.root).get(PATH).json()["results"]]
    assert texts == ["one more", "number 9", "number 8"]


def test_texts_are_in_chinese_for_chinese_readers(cast: Cast) -> None:
    chinese = {"accept-language": "zh"}
    made = publish(cast, is_dismissible=False)
    refused = cast.client(cast.bob).post(f"{PATH}/{made['id']}/dismissal", headers=chinese)
    assert refused.json()["detail"] == "此公告不能关闭。"


@pytest.mark.django_db(transaction=True)
def test_streams_of_all_report_it_at_once(cast: Cast) -> None:
    viewer = Viewer(cast, cast.charlie)

    def publish_and_delete() -> None:
        made = publish(cast)
        cast.client(cast.root).delete(f"{PATH}/{made['id']}")
        connections.close_all()  # of a thread that ends

    async def kinds_while_publishing() -> list[str]:
        def is_over(frames: list[Frame]) -> bool:
            return frames[-1][0] == "changed" and frames[-1][1]["kinds"] == ["announcement"]

        reading = asyncio.create_task(viewer.frames("/api/v1/stream", until=is_over))
        while not reading.done():
            await asyncio.to_thread(publish_and_delete)
            await asyncio.wait([reading], timeout=0.2)
        return [kind for event, data, _ in await reading if event == "changed" for kind in data["kinds"]]

    assert "announcement" in asyncio.run(kinds_while_publishing())
