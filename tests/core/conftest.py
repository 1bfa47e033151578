# SPDX-License-Identifier: Apache-2.0
"""The people and the databases of these tests."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from tests.cast import Cast, make_cast


@pytest.fixture
def cast(db) -> Cast:
    return make_cast()


@pytest.fixture
def empty_database(servers: Any, transactional_db: None) -> Iterator[str]:
    """The URL of a database without a table, on the tests' own server."""
    name = f"schema_{secrets.token_hex(4)}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    yield f"{servers.database_url.rpartition('/')[0]}/{name}"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")
