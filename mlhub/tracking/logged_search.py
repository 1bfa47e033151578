# SPDX-License-Identifier: Apache-2.0
"""Search of logged models: what filter and order name is read of all, the rest of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mlhub.tenants.models import Project
from mlhub.tracking.access import LOGGED_PREFIX, Caller
from mlhub.tracking.filters import MAX_ORDERS, Column, RunOrder, SearchRow, column_of, in_order, read_filter
from mlhub.tracking.models import LoggedModel

ATTRIBUTES = {
    "name": "name", "model_id": "model_id", "model_type": "model_type", "status": "status",
    "source_run_id": "source_run_id", "creation_timestamp": "start_time", "creation_time": "start_time",
    "last_updated_timestamp": "updated_time", "last_updated_time": "updated_time",
}  # fmt: skip


def search_logged_models(
    caller: Caller,
    projects: Sequence[Project],
    *,
    text: str,
    orders: Sequence[tuple[str, bool]],
    offset: int,
    limit: int,
) -> tuple[list[LoggedModel], bool]:
    """The models of a page, and whether there are more. orders: (column, whether it rises).

    Raises InvalidInputError.
    """
    comparisons = read_filter(text, attributes=ATTRIBUTES)
    sorting = [RunOrder(column_of(name, attributes=ATTRIBUTES), rises) for name, rises in orders[:MAX_ORDERS]]
    rows = caller.logged_models.filter(project__in=projects)
    for one in comparisons:
        if one.column == Column("attributes", "name") and one.sign == "=":
            rows = rows.filter(name=one.value)  # what clients ask for most: only these are read
    found = [
        row
        for row in _rows(rows, {c.column for c in comparisons} | {o.column for o in sorting})
        if all(c.holds(row.get(c.column)) for c in comparisons)
    ]
    page = [row.run_id for row in in_order(found, sorting)[offset : offset + limit]]
    related = ("project__organisation", "created_by", "run")
    loaded = {str(model.pk): model for model in LoggedModel.objects.filter(pk__in=page).select_related(*related)}
    return [loaded[pk] for pk in page if pk in loaded], len(found) > offset + limit


def _rows(rows: Any, columns: Iterable[Column]) -> list[SearchRow]:
    kinds = sorted({column.kind for column in columns} & {"metrics", "params", "tags"})
    found = []
    fields = ("id", "name", "model_type", "status", "run_id", "created_at", "updated_at", *kinds)
    for pk, name, model_type, status, run_id, made, changed, *values in rows.values_list(*fields):
        row = SearchRow(
            str(pk),
            {
                "model_id": f"{LOGGED_PREFIX}{pk.hex}",
                "name": name,
                "model_type": model_type,
                "status": status.removeprefix("LOGGED_MODEL_"),
                "source_run_id": None if run_id is None else str(run_id),
                "start_time": int(made.timestamp() * 1000),
                "updated_time": int(changed.timestamp() * 1000),
            },
        )
        of_kind = dict(zip(kinds, values, strict=True))
        for column in columns:
            if column.kind in of_kind:
                value = of_kind[column.kind].get(column.key)
                row.values[column] = value["value"] if isinstance(value, dict) else value
        found.append(row)
    return found
