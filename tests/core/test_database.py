# SPDX-License-Identifier: Apache-2.0
"""Connections that the web process uses again: nothing of one request is left for the next one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from mlhub.core.database.base import idle, keep_connections

LOCK = 7_000_001


@pytest.fixture(autouse=True)
def _kept(transactional_db: None) -> Iterator[None]:
    keep_connections(2)
    yield
    keep_connections(0)


def in_a_request(work: Callable[[], Any]) -> Any:
    """In a thread of its own, whose connection is closed at the end, as Django does after each request."""

    def request() -> Any:
        try:
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(request).result()


def asked(query: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchone()[0]


def session() -> int:
    return int(asked("SELECT pg_backend_pid()"))


def test_the_next_request_uses_the_connection_again():
    assert in_a_request(session) == in_a_request(session) == in_a_request(session)


def test_requests_at_the_same_time_have_connections_of_their_own():
    def inner() -> tuple[int, int]:
        return session(), in_a_request(session)

    one, other = in_a_request(inner)
    assert one != other


def test_settings_locks_and_cursors_of_a_request_are_gone_for_the_next_one():
    def leave_things_behind() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = '12345ms'")
            cursor.execute(f"SELECT pg_advisory_lock({LOCK})")
            cursor.execute("DECLARE left_open CURSOR WITH HOLD FOR SELECT 1")
            cursor.execute("LISTEN something")
        return session()

    def look() -> tuple[Any, ...]:
        return (
            session(), asked("SHOW statement_timeout"), asked("SELECT count(*) FROM pg_cursors"),
            asked(f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = {LOCK}"),
            asked("SELECT count(*) FROM pg_listening_channels()"), asked("SHOW timezone"),
        )  # fmt: skip

    left_by = in_a_request(leave_things_behind)
    assert in_a_request(look) == (left_by, "0", 0, 0, 0, "UTC")


def test_a_connection_within_a_transaction_is_closed_for_good():
    def leave_a_transaction() -> int:
        transaction.set_autocommit(False)
        return session()

    assert in_a_request(leave_a_transaction) != in_a_request(session)


def test_a_connection_that_the_server_ended_is_not_used():
    own = session()
    ended = in_a_request(session)
    assert ended != own
    asked(f"SELECT pg_terminate_backend({ended}, 10000)")
    assert in_a_request(session) != ended


def test_no_more_are_kept_than_asked_for_and_none_when_that_is_nothing():
    def nested(depth: int) -> list[int]:
        return [session(), *(in_a_request(lambda: nested(depth - 1)) if depth else [])]

    in_a_request(lambda: nested(3))
    assert sum(map(len, idle._kept.values())) == 2
    keep_connections(0)
    assert not idle._kept
    assert in_a_request(session) != in_a_request(session)


def test_a_child_process_has_none_of_them():
    in_a_request(session)
    child = os.fork()
    if not child:
        os._exit(1 if idle._kept or idle.most else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert idle._kept
