# SPDX-License-Identifier: Apache-2.0
"""Rows that others still refer to are not deleted, and the refusal says by how many they are used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.models import ProtectedError

from mlhub.core.errors import ConflictError


@contextmanager
def refuses_while_used(what: str, *, by_one: str, by_several: str, remedy: str, fact: str) -> Iterator[None]:
    """Turns the database's ProtectedError into a ConflictError "in_use".

    what: the row's name in the sentence; by_one, by_several: its users, "job" and "jobs"; fact: the name under which
    the problem counts them.
    """
    try:
        yield
    except ProtectedError as error:
        n = len(error.protected_objects)
        subject = f"{by_one} uses" if n == 1 else f"{by_several} use"
        facts: dict[str, Any] = {fact: n}
        raise ConflictError(f"{n} {subject} {what}.", code="in_use", remedy=remedy, **facts) from error
