# SPDX-License-Identifier: Apache-2.0
# Written by `make client` from asynchronous/: do not edit.
"""Lists of the API, read page by page while they are gone through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

import httpx

from mlhub.client.records import ApiRecord, ApiRows
from mlhub.client.synchronous.transport import Transport

T = TypeVar("T", bound=ApiRecord)
PAGE_SIZE = 100


class Pages(Generic[T]):
    """The rows of a list. Each pass reads them anew; a page is fetched when its first row is needed."""

    def __init__(
        self,
        transport: Transport,
        record: type[T],
        path: str,
        *,
        size: int = PAGE_SIZE,
        query: Mapping[str, Any] | None = None,
    ) -> None:
        self._transport, self._record, self._path = transport, record, path
        self._query = {**(query or {}), "limit": size}

    def __iter__(self) -> Iterator[T]:
        query: dict[str, Any] = self._query
        while True:
            page = self._transport.content("GET", self._path, query=query)
            for row in page["results"]:
                yield self._record(row)
            if not page.get("next"):
                return
            query = {**self._query, "cursor": httpx.URL(page["next"]).params["cursor"]}

    def first(self, n: int = 1) -> ApiRows[T]:
        """At most n rows, of as few pages as that takes. Raises Refused, Unreachable, ValueError."""
        if n < 1:
            raise ValueError("n: give at least 1.")
        found: ApiRows[T] = ApiRows()
        for row in self:
            found.append(row)
            if len(found) == n:
                break
        return found

    def all(self) -> ApiRows[T]:
        """Every row. Raises Refused, Unreachable."""
        found: ApiRows[T] = ApiRows()
        for row in self:
            found.append(row)
        return found

    def __repr__(self) -> str:
        return f"<rows of {self._path}: go through them, or call .first(20) or .all()>"
