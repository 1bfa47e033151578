# SPDX-License-Identifier: Apache-2.0
"""Lists of the API, read page by page while they are gone through."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Generic, TypeVar

import httpx

from mlhub.client.asynchronous.transport import AsyncTransport
from mlhub.client.records import ApiRecord, ApiRows

T = TypeVar("T", bound=ApiRecord)
PAGE_SIZE = 100


class AsyncPages(Generic[T]):
    """The rows of a list. Each pass reads them anew; a page is fetched when its first row is needed."""

    def __init__(
        self,
        transport: AsyncTransport,
        record: type[T],
        path: str,
        *,
        size: int = PAGE_SIZE,
        query: Mapping[str, Any] | None = None,
    ) -> None:
        self._transport, self._record, self._path = transport, record, path
        self._query = {**(query or {}), "limit": size}

    async def __aiter__(self) -> AsyncIterator[T]:
        query: dict[str, Any] = self._query
        while True:
            page = await self._transport.content("GET", self._path, query=query)
            for row in page["results"]:
                yield self._record(row)
            if not page.get("next"):
                return
            query = {**self._query, "cursor": httpx.URL(page["next"]).params["cursor"]}

    async def first(self, n: int = 1) -> ApiRows[T]:
        """At most n rows, of as few pages as that takes. Raises Refused, Unreachable, ValueError."""
        if n < 1:
            raise ValueError("n: give at least 1.")
        found: ApiRows[T] = ApiRows()
        async for row in self:
            found.append(row)
            if len(found) == n:
                break
        return found

    async def all(self) -> ApiRows[T]:
        """Every row. Raises Refused, Unreachable."""
        found: ApiRows[T] = ApiRows()
        async for row in self:
            found.append(row)
        return found

    def __repr__(self) -> str:
        return f"<rows of {self._path}: go through them, or call .first(20) or .all()>"
