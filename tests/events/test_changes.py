# SPDX-License-Identifier: Apache-2.0
"""Changes without an event: the organisation's streams report their kind, those of others do not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mlhub.events.changes import ChangeKind, report_change
from mlhub.tenants.models import Organisation, User
from tests.cast import make_cast
from tests.metrics.test_stream import Frame, Viewer

pytestmark = pytest.mark.django_db(transaction=True)
ALL = [kind.value for kind in ChangeKind]


async def frames_while_reporting(viewer: Viewer, *changes: tuple[ChangeKind, Organisation | None]) -> list[list[str]]:
    """The kinds of each frame up to the first one that names something, but not everything, while these are reported
    again and again in this order: a stream that has just begun may not listen yet."""

    def is_over(frames: list[Frame]) -> bool:
        return frames[-1][0] == "changed" and frames[-1][1]["kinds"] != ALL

    reading = asyncio.create_task(viewer.frames("/api/v1/stream", until=is_over))
    while not reading.done():
        for kind, organisation in changes:
            await asyncio.to_thread(report_change, kind, organisation_id=organisation and organisation.pk)
        await asyncio.wait([reading], timeout=0.2)
    return [data["kinds"] for event, data, _ in await reading if event == "changed"]


def test_a_change_is_reported_to_the_streams_of_its_organisation_only() -> None:
    cast = make_cast()
    changes = ((ChangeKind.BUILD, cast.b), (ChangeKind.RUN, cast.a))
    assert asyncio.run(frames_while_reporting(Viewer(cast, cast.bob), *changes))[-1] == ["run"]
    assert asyncio.run(frames_while_reporting(Viewer(cast, cast.charlie), *changes))[-1] == ["build"]


def test_a_change_of_the_platform_is_reported_to_everybody() -> None:
    cast = make_cast()
    for user in (cast.bob, cast.charlie, cast.root):
        assert asyncio.run(frames_while_reporting(Viewer(cast, user), (ChangeKind.ROUND, None)))[-1] == ["round"]


def test_who_sees_all_organisations_hears_of_all() -> None:
    cast = make_cast()
    found = asyncio.run(frames_while_reporting(Viewer(cast, cast.root), (ChangeKind.RUN, cast.b)))
    assert found[-1] == ["run"]


def test_without_redis_every_kind_may_have_changed(settings: Any) -> None:
    cast = make_cast()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    def kinds(user: User) -> list[str]:
        frames = asyncio.run(Viewer(cast, user).frames("/api/v1/stream", until=bool))
        found: list[str] = frames[0][1]["kinds"]
        return found

    assert kinds(cast.bob) == ALL
