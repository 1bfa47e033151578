# SPDX-License-Identifier: Apache-2.0
"""Which requests come first in one web process: pages before submissions, which take turns by organisation."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext
from django.db import connection
from django.http import HttpResponse
from django.test import AsyncRequestFactory
from django.urls import get_resolver

from mlhub.core import asgi_handler
from mlhub.core.asgi_handler import OneThreadHandler, is_submission
from mlhub.core.rate_limits import flows
from mlhub.core.rate_limits.fair_seats import FairSeats
from mlhub.core.rate_limits.giving_way import YOUNG_S, GivesWay, Precedence

JOBS = "/api/v1/jobs"


def asked(verb: str, path: str, *, token: str = "") -> Any:
    made = getattr(AsyncRequestFactory(), verb)
    return made(path, headers={"Authorization": f"Bearer {token}"} if token else {})


class Views(OneThreadHandler):
    """Answers without the middleware, each submission once it may; notes who began."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.may_end: dict[str, threading.Event] = {}

    def get_response(self, request: Any) -> HttpResponse:
        name = request.headers["Authorization"].removeprefix("Bearer ")
        self.begun.append(name)
        self.may_end.setdefault(name, threading.Event()).wait(120)
        return HttpResponse(name)

    async def answer(self, verb: str, token: str) -> Any:
        """In a thread of the request's own, as Django's ASGI handler does it."""
        async with ThreadSensitiveContext():
            return await self.get_response_async(asked(verb, JOBS, token=token))

    def end(self, name: str) -> None:
        self.may_end.setdefault(name, threading.Event()).set()


@pytest.fixture
def _one_seat(monkeypatch: pytest.MonkeyPatch) -> None:
    seats = FairSeats(1, queue_length=2, total_length=4)
    monkeypatch.setattr(asgi_handler, "_submission_seats", lambda: seats)
    monkeypatch.setattr(flows, "_known", type(flows._known)())


async def until(condition: Any) -> None:
    while not condition():
        await asyncio.sleep(0.005)


@pytest.mark.usefixtures("_one_seat")
def test_organisations_take_turns_with_submissions_and_pages_pass_by():
    async def requests() -> list[str]:
        views = Views()
        for token in ("a1", "a2", "a3", "b1"):
            flows.remember_flow(asked("get", JOBS, token=token), f"organisation {token[0]}")
        tasks = []
        for token in ("a1", "a2", "a3", "b1"):
            tasks.append(asyncio.create_task(views.answer("post", token)))
            await asyncio.sleep(0)
        await until(lambda: len(views.begun) == 2)
        views.end("page")
        await asyncio.wait_for(views.answer("get", "page"), 120)
        assert views.begun == ["a1", "a2", "page"]  # the first one of all goes ahead, the second one has the seat
        for name in ("a1", "a2", "b1", "a3"):
            await until(lambda name=name: name in views.begun)
            views.end(name)
        await asyncio.gather(*tasks)
        return views.begun

    assert asyncio.run(requests()) == ["a1", "a2", "page", "b1", "a3"]


@pytest.mark.usefixtures("_one_seat")
def test_a_client_that_is_gone_leaves_the_queue_and_those_beyond_it_are_refused():
    async def requests() -> tuple[Any, list[str]]:
        views = Views()
        begun = [asyncio.create_task(views.answer("post", t)) for t in "12"]
        await until(lambda: len(views.begun) == 2)
        gone, last = (asyncio.create_task(views.answer("post", t)) for t in "34")
        await asyncio.sleep(0)
        # the real chain, which answers before it reads the database
        async with ThreadSensitiveContext():
            refused = await OneThreadHandler().get_response_async(asked("post", JOBS, token="5"))
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        for name in "124":
            views.end(name)
        await asyncio.gather(*begun, last)
        return refused, views.begun

    refused, begun = asyncio.run(requests())
    assert (refused.status_code, int(refused["Retry-After"]) > 0) == (429, True)
    assert b"too_many_at_once" in refused.content
    assert begun == ["1", "2", "4"]


def test_credentials_that_nobody_has_share_one_turn_for_each_address():
    made_up = {flows.flow_of(asked("post", JOBS, token=f"made up {i}")) for i in range(3)}
    assert len(made_up) == 1


def test_what_makes_jobs_is_a_submission():
    id_ = "01a218b0-0000-7000-8000-000000000000"
    known = [JOBS, f"{JOBS}/{id_}/clone", f"{JOBS}/{id_}/fork", "/api/v1/studies"]
    others = [f"{JOBS}/{id_}/cancel", "/api/v1/datasets", "/api/v1/none"]
    assert all(get_resolver().resolve(path) for path in known)
    assert [path for path in known + others if is_submission(asked("post", path))] == known
    assert not is_submission(asked("get", JOBS))


def test_queries_wait_for_pages_but_not_in_a_transaction_and_not_for_long(db: None):
    now, waits = [0.0], []
    precedence = Precedence(clock=lambda: now[0])

    def wait(seconds: float) -> None:
        waits.append(round(seconds, 3))
        now[0] += seconds

    precedence._changed.wait = wait  # type: ignore[method-assign, assignment]
    gives_way = GivesWay(precedence, most_s=0.2)
    inside = {"connection": type("C", (), {"in_atomic_block": True})}
    outside = {"connection": type("C", (), {"in_atomic_block": False})}
    query = (lambda *_: "rows"), "SELECT 1", (), False
    assert gives_way(*query, outside) == "rows"
    assert waits == []
    with precedence.running():
        assert gives_way(*query, inside) == "rows"
        assert waits == []
        gives_way(*query, outside)
        gives_way(*query, outside)
        assert waits == [0.2]
        now[0] += YOUNG_S
        GivesWay(precedence)(*query, outside)
        assert waits == [0.2]
    with connection.execute_wrapper(gives_way), connection.cursor() as cursor:
        cursor.execute("SELECT 7")
        assert cursor.fetchone() == (7,)
