# SPDX-License-Identifier: Apache-2.0
"""Tests of streams whose reader's rights end: they say why, and close."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from rest_framework.test import APIClient

from mlhub.events import sse
from mlhub.events.access import rights_of
from mlhub.tenants import actions
from mlhub.tenants.models import Membership, User
from mlhub.tenants.roles import Role
from tests.cast import Cast
from tests.metrics.test_stream import Frame, Viewer, prepare

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=["job", "everything"])
def played(request: pytest.FixtureRequest) -> tuple[Cast, str]:
    """The cast, and the address of a stream that bob may read."""
    cast, found, _ = prepare()
    return cast, f"/api/v1/jobs/{found.id}/stream" if request.param == "job" else "/api/v1/stream"


class Program(Viewer):
    """Reads streams with a token."""

    def __init__(self, cast: Cast, token: str) -> None:
        super().__init__(cast, cast.victor)  # whose session does not count, since the token comes first
        self.token = token

    async def open(self, path: str) -> Any:
        return await self.client.get(path, headers={"Authorization": f"Bearer {self.token}"})


async def in_another_process(change: Callable[[], Any]) -> None:
    """From another thread, whose connection does not stay."""

    def run() -> None:
        try:
            change()
        finally:
            connection.close()

    await asyncio.to_thread(run)


async def last_frame(viewer: Viewer, path: str, change: Callable[[], Any]) -> Frame:
    """The last frame of a stream during which the change happens; it fails unless the server closes the stream."""
    response = await viewer.open(path)
    assert response.status_code == 200, response.content
    stream = response.streaming_content
    frames = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sse, "HEARTBEAT_S", 600.0)
        patch.setattr(sse, "ACCESS_S", 600.0)  # so it is by the wake-up: the periodic check would come too late
        first = await anext(stream)
        assert first.startswith(b"id: ")
        assert first.endswith(sse.HEARTBEAT)
        await in_another_process(change)
        async with asyncio.timeout(120):
            async for chunk in stream:
                frames.append(chunk)
    event, data = frames[-1].decode().strip().splitlines()
    return event, data, None


def ends_with(viewer: Viewer, path: str, change: Callable[[], Any], code: str) -> None:
    event, data, _ = asyncio.run(last_frame(viewer, path, change))
    assert event == "event: end"
    assert f'"code": "{code}"' in data


def of(user: User) -> Membership:
    found: Membership = Membership.objects.get(user=user)
    return found


def test_a_removed_member_is_disconnected(played: tuple[Cast, str]) -> None:
    cast, path = played

    def remove() -> None:
        actions.remove_member(of(cast.bob), actor=cast.root)

    ends_with(Viewer(cast, cast.bob), path, remove, "access_changed")


def test_a_changed_role_ends_streams_that_began_with_the_old_one(played: tuple[Cast, str]) -> None:
    cast, path = played

    def demote() -> None:
        actions.change_role(of(cast.bob), role=Role.VIEWER, actor=cast.root)

    ends_with(Viewer(cast, cast.bob), path, demote, "access_changed")


def test_a_stream_of_who_sees_a_project_by_a_role_in_its_team_ends_with_that_role(played: tuple[Cast, str]) -> None:
    cast, path = played
    team = actions.create_team(cast.a, name="core", actor=cast.root)
    actions.move(cast.project_a, team=team, actor=cast.root)
    actions.change_role(of(cast.bob), role=Role.OUTSIDER, actor=cast.root)
    bound = actions.bind_role(team, username="bob", role=Role.MEMBER, actor=cast.root)

    def withdraw() -> None:
        actions.withdraw_binding(bound, actor=cast.root)

    ends_with(Viewer(cast, cast.bob), path, withdraw, "access_changed")


def test_a_project_that_leaves_the_team_changes_the_rights_of_who_has_a_role_in_the_team() -> None:
    cast, _, _ = prepare()
    team = actions.create_team(cast.a, name="core", actor=cast.root)
    actions.move(cast.project_a, team=team, actor=cast.root)
    actions.bind_role(team, username="bob", role=Role.MEMBER, actor=cast.root)
    before = rights_of(cast.bob)
    actions.move(cast.project_a, team=None, actor=cast.root)
    assert rights_of(cast.bob) != before


def test_signing_out_ends_the_streams_of_the_session(played: tuple[Cast, str]) -> None:
    cast, path = played
    viewer = Viewer(cast, cast.bob)
    browser = APIClient()
    browser.cookies = viewer.client.cookies

    def sign_out() -> None:
        assert browser.post("/api/v1/auth/logout").status_code == 204

    ends_with(viewer, path, sign_out, "signed_out")


def test_a_revoked_token_ends_its_streams(played: tuple[Cast, str]) -> None:
    cast, path = played
    row, token = actions.create_token(cast.bob, name="ci", scopes=["read"], expires_in_days=1)
    ends_with(Program(cast, token), path, lambda: actions.revoke_token(row, actor=cast.bob), "token_ended")


@pytest.mark.parametrize("change", ["session", "account", "staff"])
def test_what_changes_without_a_wake_up_is_noticed_by_the_periodic_check(
    played: tuple[Cast, str], change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast, path = played
    user = cast.root if change == "staff" else cast.bob

    viewer = Viewer(cast, user)

    async def play() -> Frame:
        response = await viewer.open(path)
        monkeypatch.setattr(sse, "HEARTBEAT_S", 0.2)
        monkeypatch.setattr(sse, "ACCESS_S", 0.2)
        changes: dict[str, Callable[[], Any]] = {
            "session": lambda: Session.objects.all().delete(),
            "account": lambda: User.objects.filter(pk=user.pk).update(is_active=False),
            "staff": lambda: User.objects.filter(pk=user.pk).update(is_staff=False),
        }
        frames: list[bytes] = []
        async with asyncio.timeout(120):
            async for chunk in response.streaming_content:
                if not frames:
                    await in_another_process(changes[change])
                frames.append(chunk)
        event, data = frames[-1].decode().strip().splitlines()
        return event, data, None

    event, data, _ = asyncio.run(play())
    assert event == "event: end"
    assert ('"code": "access_changed"' if change == "staff" else '"code": "signed_out"') in data


def test_the_stream_of_another_user_goes_on(played: tuple[Cast, str]) -> None:
    cast, path = played

    viewer = Viewer(cast, cast.victor)

    async def play() -> list[bytes]:
        response = await viewer.open(path)
        stream = response.streaming_content
        frames = [await anext(stream)]
        await in_another_process(lambda: actions.remove_member(of(cast.bob), actor=cast.root))
        try:
            async with asyncio.timeout(1.5):
                async for chunk in stream:
                    frames.append(chunk)
        except TimeoutError:
            pass
        return frames

    assert not any(frame.startswith(b"event: end") for frame in asyncio.run(play()))
