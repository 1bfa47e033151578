"""Cursor pages: stable under inserts, and as cheap on the last page as on the first."""

from __future__ import annotations

from rest_framework.pagination import CursorPagination


class NewestFirst(CursorPagination):
    """Newest first by id (UUIDv7 or serial, both ordered by time). ?limit= up to 200, ?cursor= from `next`."""

    ordering = "-id"
    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 200
