# SPDX-License-Identifier: Apache-2.0
"""Cursor pages: stable under inserts, and as cheap on the last page as on the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from rest_framework import exceptions
from rest_framework.pagination import CursorPagination
from rest_framework.utils.urls import replace_query_param

from mlhub.core.errors import InvalidQueryError
from mlhub.core.paging.answer_size import n_fitting

if TYPE_CHECKING:
    from django.db.models import Field
    from rest_framework.request import Request
    from rest_framework.response import Response

MAX_DIGITS = 9


class NewestFirst(CursorPagination):
    """Newest first by id (UUIDv7 or serial, both ordered by time). ?limit= up to 200, ?cursor= from `next`.

    A page of long rows has fewer than `limit`, so that an answer stays below 200 kB.
    """

    ordering = "-id"
    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 200

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        self.key: Field[Any, Any] = queryset.model._meta.pk
        return super().paginate_queryset(queryset, request, view)

    def get_page_size(self, request: Request) -> int:
        """Raises InvalidQueryError for anything but a whole number from 1 on; more than 200 count as 200."""
        text = request.query_params.get("limit")
        if text is None:
            return self.page_size
        if not (text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS and int(text)):
            raise InvalidQueryError(
                "limit is not a whole number from 1 on.",
                field="limit",
                remedy=f"Give a number from 1 to {self.max_page_size}.",
            )
        return min(int(text), self.max_page_size)

    def decode_cursor(self, request: Request) -> Any:
        """Raises InvalidQueryError for what encode_cursor did not make."""
        try:
            cursor = super().decode_cursor(request)
            if cursor is not None and cursor.position is not None:
                self.key.run_validators(self.key.to_python(cursor.position))
        except (exceptions.NotFound, ValidationError, ValueError) as error:
            raise _foreign_cursor() from error
        return cursor

    def get_paginated_response(self, data: Any) -> Response:
        """Leaves out the rows for which there is no room: those that are farthest from where the page began."""
        is_backward = self.is_backward()
        n = n_fitting(reversed(data) if is_backward else data)
        if n < len(data):
            data = data[len(data) - n :] if is_backward else data[:n]
            self.keep(n, is_backward=is_backward)
        return super().get_paginated_response(data)

    def is_backward(self) -> bool:
        """Whether the page ends where another one begins."""
        return self.cursor is not None and bool(self.cursor.reverse)

    def keep(self, n: int, *, is_backward: bool) -> None:
        """Ends the page after its first rows, or begins it with its last ones: the next one, or the one before, goes on
        from there."""
        page = self.page or []
        if is_backward:
            self.has_previous = True
            self.previous_position = self._get_position_from_instance(page[-n - 1], self.ordering)
            self.page = page[-n:]
        else:
            self.has_next = True
            self.next_position = self._get_position_from_instance(page[n], self.ordering)
            self.page = page[:n]

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        address = {"type": ["string", "null"], "format": "uri"}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {
                "next": {**address, "description": "The address of the next page; null on the last one."},
                "previous": {**address, "description": "The address of the previous page; null on the first one."},
                "results": {**schema, "description": "The rows of this page."},
            },
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:  # noqa: ARG002 (DRF's signature)
        return [
            {
                "name": "cursor",
                "in": "query",
                "required": False,
                "description": "Where the page begins: from `next` or `previous` of another page.",
                "schema": {"type": "string", "maxLength": 1000},
            },
            {
                "name": "limit",
                "in": "query",
                "required": False,
                "description": f"Rows of a page; {self.page_size} when absent, at most {self.max_page_size}.",
                "schema": {"type": "integer", "minimum": 1, "maximum": 999_999_999, "default": self.page_size},
            },
        ]


class InOrder(NewestFirst):
    """Of a list in memory, in its order: a cursor is the place at which a page begins."""

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:  # noqa: ARG002
        text = request.query_params.get("cursor") or "0"
        if not (text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS):
            raise _foreign_cursor()
        self._begin, limit = int(text), self.get_page_size(request)
        self._address, end = request.build_absolute_uri(), self._begin + limit
        self._next = end if end < len(queryset) else None
        self._previous = max(0, self._begin - limit) if self._begin else None
        return list(queryset[self._begin : end])

    def is_backward(self) -> bool:
        return False  # a page is known by where it begins

    def keep(self, n: int, *, is_backward: bool) -> None:  # noqa: ARG002 (never backward)
        self._next = self._begin + n

    def get_next_link(self) -> str | None:
        return self._link(self._next)

    def get_previous_link(self) -> str | None:
        return self._link(self._previous)

    def _link(self, begin: int | None) -> str | None:
        return None if begin is None else str(replace_query_param(self._address, "cursor", begin))


def _foreign_cursor() -> InvalidQueryError:
    return InvalidQueryError(
        "The cursor is not one of this list.", field="cursor", remedy="Take it from `next` or `previous`."
    )
