# SPDX-License-Identifier: Apache-2.0
"""No table is written with an index that finds nothing which another one of the table does not."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db import connection

# Of a b-tree without a condition: whether it only looks for rows, and its columns in order with how they are compared
INDEXES = """
SELECT t.relname, i.relname, NOT x.indisunique,
    ARRAY(SELECT pg_get_indexdef(x.indexrelid, place, false) || ' ' || o.opcname
          FROM generate_series(1, x.indnkeyatts) AS place JOIN pg_opclass o ON o.oid = x.indclass[place - 1])
FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
JOIN pg_am m ON m.oid = i.relam
WHERE m.amname = 'btree' AND x.indpred IS NULL AND t.relname = ANY(%s) ORDER BY 1, 2
"""


def tables() -> list[str]:
    return [
        model._meta.db_table
        for model in apps.get_models()
        if model.__module__.startswith("mlhub.") and model._meta.managed
    ]


@pytest.mark.django_db
def test_no_index_is_the_beginning_of_another() -> None:
    with connection.cursor() as cursor:
        cursor.execute(INDEXES, [tables()])
        found = cursor.fetchall()
    assert len({table for table, *_ in found}) == len(tables())
    repeated = [
        f"{table}: {name} {columns} begins {other}"
        for table, name, only_finds, columns in found
        for its, other, _, others in found
        if only_finds and its == table and other != name and others[: len(columns)] == columns
    ]
    assert not repeated, "db_index=False, or drop it:\n" + "\n".join(repeated)
