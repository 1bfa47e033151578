# SPDX-License-Identifier: Apache-2.0
"""Cursor pages of a list that people sort: by a value and, where values are the same, by the newest row."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db.models import Field, Q
from rest_framework.utils.urls import replace_query_param

from mlhub.core.errors import InvalidQueryError
from mlhub.core.paging.pagination import NewestFirst

if TYPE_CHECKING:
    from rest_framework.request import Request

MAX_CURSOR = 4000  # of a name of 500 letters that take four bytes each, some more than half


class SortKey(NamedTuple):
    """What rows are sorted by. expression: never NULL. field: of the type that the expression has.

    is_unique: no two rows of the list have the same, so that their ids do not count.
    """

    expression: Any
    field: Field[Any, Any]
    is_unique: bool = False


class Position(NamedTuple):
    """Where a page begins: behind the row of this value and id, or, is_backward, before it. pk: None where the order is
    unique."""

    value: Any
    pk: Any
    is_backward: bool


class SortedPage(NewestFirst):
    """?sort=name or ?sort=-name, of the view's `sort_keys`; without it newest first. Cursors are of one order only."""

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        keys: Mapping[str, SortKey] = view.sort_keys
        name = request.query_params.get("sort") or "-created"
        if name == "-created":
            self.links: dict[str, str | None] | None = None
            return super().paginate_queryset(queryset, request, view)
        if name.removeprefix("-") not in keys:
            raise InvalidQueryError(
                f"The list cannot be sorted by {name[:100]!r}.",
                field="sort",
                remedy=f"Give one of {', '.join(_names(keys))}.",
            )
        self.base_url = request.build_absolute_uri()
        return self._page(queryset, keys[name.removeprefix("-")], request, is_falling=name.startswith("-"))

    def _page(self, queryset: Any, key: SortKey, request: Request, *, is_falling: bool) -> list[Any]:
        position = _decoded(request.query_params.get("cursor"), key, queryset.model._meta.pk)
        self._goes_back = position is not None and position.is_backward
        goes_down = is_falling != self._goes_back
        rows = queryset.alias(sort_value=key.expression).annotate(sorted_by=key.expression)
        if position is not None:
            side = "lt" if goes_down else "gt"
            beyond = Q(**{f"sort_value__{side}": position.value})
            if not key.is_unique:
                beyond |= Q(sort_value=position.value, **{f"pk__{side}": position.pk})
            rows = rows.filter(beyond)
        limit = self.get_page_size(request)
        sign = "-" if goes_down else ""
        order = [f"{sign}sort_value"] if key.is_unique else [f"{sign}sort_value", f"{sign}pk"]
        found = list(rows.order_by(*order)[: limit + 1])
        has_more, found = len(found) > limit, found[:limit]
        if self._goes_back:
            found.reverse()
        self._rows, self._is_unique = found, key.is_unique
        self.links = {
            "next": self._link(found[-1:], has_more or self._goes_back, is_backward=False),
            "previous": self._link(found[:1], has_more if self._goes_back else position is not None, is_backward=True),
        }
        return found

    def is_backward(self) -> bool:
        return super().is_backward() if self.links is None else self._goes_back

    def keep(self, n: int, *, is_backward: bool) -> None:
        if self.links is None:
            super().keep(n, is_backward=is_backward)
        elif is_backward:
            self.links["previous"] = self._link(self._rows[-n:], True, is_backward=True)
        else:
            self.links["next"] = self._link(self._rows[n - 1 :], True, is_backward=False)

    def _link(self, rows: list[Any], is_there: bool, *, is_backward: bool) -> str | None:
        if not rows or not is_there:
            return None
        pk = None if self._is_unique else str(rows[0].pk)
        cursor = _encoded(rows[0].sorted_by, pk, is_backward=is_backward)
        return str(replace_query_param(str(self.base_url), "cursor", cursor))

    def get_next_link(self) -> str | None:
        return super().get_next_link() if self.links is None else self.links["next"]

    def get_previous_link(self) -> str | None:
        return super().get_previous_link() if self.links is None else self.links["previous"]

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        sort = {
            "name": "sort",
            "in": "query",
            "required": False,
            "description": "What the rows are sorted by, with a minus the greatest first; -created when absent.",
            "schema": {"type": "string", "enum": _names(view.sort_keys)},
        }
        return [*super().get_schema_operation_parameters(view), sort]


class ByKey(SortedPage):
    """Of a list that has one order: the smallest of the view's `sort_key` first."""

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        self.base_url = request.build_absolute_uri()
        return self._page(queryset, view.sort_key, request, is_falling=False)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        cursor, *rest = NewestFirst.get_schema_operation_parameters(self, view)
        return [{**cursor, "schema": {"type": "string", "maxLength": MAX_CURSOR}}, *rest]


def _names(keys: Mapping[str, SortKey]) -> list[str]:
    return [f"{sign}{name}" for name in keys for sign in ("", "-")]


def _encoded(value: Any, pk: str | None, *, is_backward: bool) -> str:
    """pk: None in an order in which ids do not count."""
    value = value.isoformat() if isinstance(value, datetime) else value
    text = json.dumps([value, pk, is_backward], ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode()


def _decoded(text: str | None, key: SortKey, pk: Field[Any, Any]) -> Position | None:
    """Raises InvalidQueryError for what _encoded did not make, or made of another order."""
    if not text:
        return None
    try:
        value, row, is_backward = json.loads(base64.urlsafe_b64decode(text.encode()))
        if isinstance(value, str):
            value.encode()  # a surrogate without its other half is no text
            if "\x00" in value:
                raise ValueError("NUL")
        value = key.field.to_python(value)
        if isinstance(value, datetime):
            value = value.astimezone(UTC)
        row = row if key.is_unique else pk.to_python(row)
        if value is None or (row is None) != key.is_unique or not isinstance(is_backward, bool):
            raise ValueError("Not a position.")
        return Position(value, row, is_backward)
    except (ValueError, TypeError, OverflowError, RecursionError, ValidationError) as error:
        raise InvalidQueryError(
            "The cursor is not one of this list.", field="cursor", remedy="Take it from `next` or `previous`."
        ) from error
