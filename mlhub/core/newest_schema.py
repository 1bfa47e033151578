# SPDX-License-Identifier: Apache-2.0
"""The tables of an empty database from one script, in a twentieth of the time that a hundred migrations take.

`schema.sql` is written by PostgreSQL's own tool from a database that the migrations made (deploy/local/tables.py), so
it is what they lead to. It also records which migrations it stands for: those that came later run after it.
"""

from __future__ import annotations

from pathlib import Path

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper

FILE = Path(__file__).with_name("schema.sql")
SCHEMA = "public"  # which the script's names are qualified by


def is_empty(connection: BaseDatabaseWrapper) -> bool:
    """Whether there is no table yet, and new ones would be made where the script makes them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        return cursor.fetchone() == (SCHEMA,) and not connection.introspection.table_names(cursor)


def load(connection: BaseDatabaseWrapper) -> None:
    """Makes the tables in one transaction. Raises ProgrammingError where another process has just done so."""
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute(FILE.read_text())
