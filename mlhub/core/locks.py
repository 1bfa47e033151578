# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL advisory locks by name: held by a transaction, or by a connection for as long as a piece of work takes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


def lock_until_commit(name: str) -> None:
    """Waits for the lock and keeps it until the present transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [lock_key(name)])


@contextmanager
def work_lock(name: str) -> Iterator[bool]:
    """Yields whether the lock was free; never waits. A worker that dies frees it with its connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [lock_key(name)])
        row = cursor.fetchone()
    is_mine = bool(row and row[0])
    try:
        yield is_mine
    finally:
        if is_mine:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [lock_key(name)])


@contextmanager
def work_slot(name: str, *, n_slots: int) -> Iterator[bool]:
    """Yields whether one of so many places was free; it is taken until the context ends, or the worker dies."""
    for number in range(n_slots):
        with work_lock(f"{name}:{number}") as is_mine:
            if is_mine:
                yield True
                return
    yield False


def lock_key(name: str) -> int:
    """The number of the lock: a signed 64-bit number, as PostgreSQL wants it."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)
