# SPDX-License-Identifier: Apache-2.0
"""Rows of models by SQL that is written once.

Django writes a query's SQL anew for every request. For a join of four tables that takes a hundred times as long as
reading its row, so the few queries of requests that come many a second are written by hand, and made objects of here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, models

M = TypeVar("M", bound=models.Model)


class ModelColumns(Generic[M]):
    """All columns of a model's table, which the SQL calls by the alias."""

    def __init__(self, model: type[M], alias: str) -> None:
        fields = model._meta.concrete_fields
        self._model, self._names = model, [field.attname for field in fields]
        self._converted = [(place, field) for place, field in enumerate(fields) if hasattr(field, "from_db_value")]
        self.sql = ", ".join(f'{alias}."{field.column}"' for field in fields)

    def __len__(self) -> int:
        return len(self._names)

    def read(self, values: Sequence[Any]) -> M:
        """The object of a row's values, in the order of the columns."""
        row = list(values)
        for place, field in self._converted:
            row[place] = field.from_db_value(row[place], None, connection)
        return self._model.from_db(DEFAULT_DB_ALIAS, self._names, row)


def read_first(sql: str, parameters: Sequence[Any], columns: Sequence[ModelColumns[Any]]) -> list[Any] | None:
    """The objects in the first row, one for each of the tables that it joins; None without a row."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        row = cursor.fetchone()
    if row is None:
        return None
    found, start = [], 0
    for each in columns:
        found.append(each.read(row[start : start + len(each)]))
        start += len(each)
    return found
