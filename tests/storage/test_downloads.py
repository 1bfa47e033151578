# SPDX-License-Identifier: Apache-2.0
"""Tests of downloads whose reader's rights end on the way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test import AsyncRequestFactory, RequestFactory

from mlhub.events import sse
from mlhub.events.access import AccessEndedError
from mlhub.storage import downloads
from mlhub.tenants import actions
from mlhub.tenants.models import Membership, User
from mlhub.tenants.roles import Role
from tests.cast import make_cast

pytestmark = pytest.mark.django_db(transaction=True)
CONTENT = b"0123456789"


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "CHUNK_BYTES", 1)
    monkeypatch.setattr(sse, "ACCESS_S", 0.0)


def response_to(user: User | None, *, factory: Any) -> Any:
    headers = {}
    if user is not None:
        _, token = actions.create_token(user, name="ci", scopes=["read"], expires_in_days=1)
        headers["Authorization"] = f"Bearer {token}"
    request = factory.get("/", headers=headers)
    request.user = AnonymousUser()
    return downloads.bytes_response(request, CONTENT, etag="e", filename="f", content_type="text/plain")


async def in_another_thread(change: Any) -> None:
    def run() -> None:
        try:
            change()
        finally:
            connection.close()

    await asyncio.to_thread(run)


def test_a_download_breaks_off_when_its_reader_is_removed() -> None:
    cast = make_cast()
    member = Membership.objects.get(user=cast.bob)
    response = response_to(cast.bob, factory=AsyncRequestFactory())

    async def read() -> bytes:
        found = b""
        pieces = response.streaming_content
        for _ in range(3):
            found += await anext(pieces)
        await in_another_thread(lambda: actions.remove_member(member, actor=cast.root))
        with pytest.raises(AccessEndedError):
            await anext(pieces)
        return found

    assert asyncio.run(read()) == CONTENT[:3]


def test_a_download_without_asgi_breaks_off_too() -> None:
    cast = make_cast()
    pieces = iter(response_to(cast.bob, factory=RequestFactory()).streaming_content)
    assert next(pieces) == CONTENT[:1]
    User.objects.filter(pk=cast.bob.pk).update(is_active=False)
    with pytest.raises(AccessEndedError):
        next(pieces)


@pytest.mark.parametrize("is_user", [True, False])
def test_a_download_goes_on_while_nothing_changes(is_user: bool) -> None:
    cast = make_cast()
    response = response_to(cast.bob if is_user else None, factory=RequestFactory())
    assert b"".join(response.streaming_content) == CONTENT


def test_a_download_goes_on_when_its_reader_gets_further_rights() -> None:
    cast = make_cast()
    pieces = iter(response_to(cast.bob, factory=RequestFactory()).streaming_content)
    assert next(pieces) == CONTENT[:1]
    Membership.objects.create(user=cast.bob, organisation=cast.b, role=Role.VIEWER)
    assert next(pieces) == CONTENT[1:2]
    Membership.objects.filter(user=cast.bob, organisation=cast.a).update(role=Role.OUTSIDER)
    with pytest.raises(AccessEndedError):
        next(pieces)
