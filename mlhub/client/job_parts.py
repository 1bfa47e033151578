# SPDX-License-Identifier: Apache-2.0
"""A job's curves and log as programs read them: answers are bounded, so that these go through their pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

PAGE_POINTS = 1600


class ApiReader(Protocol):
    """What reads the API, such as mlhub.client.api.Api."""

    def get(self, path: str, **query: Any) -> Any: ...


def points(api: ApiReader, job_id: str, key: str) -> Iterator[dict[str, Any]]:
    """All points of a metric that count, by step. Raises Refused, httpx.TransportError."""
    first_step: int | None = 0
    while first_step is not None:
        query = {"key": key, "exact": "true", "max_points": PAGE_POINTS, "first_step": first_step}
        page = api.get(f"/jobs/{job_id}/metrics", **query)
        for series in page["series"]:
            yield from series["points"]
        first_step = page["next_step"]


def names(api: ApiReader, job_id: str) -> Iterator[dict[str, Any]]:
    """The metrics by name, each with its newest step and value. Raises Refused, httpx.TransportError."""
    after: dict[str, str] = {}
    while True:
        page = api.get(f"/jobs/{job_id}/metrics/names", **after)
        yield from page["names"]
        if page["next"] is None:
            return
        after = {"after": page["next"]}


def lines(api: ApiReader, job_id: str, **query: Any) -> Iterator[dict[str, Any]]:
    """The whole log, oldest line first. query: role and index of pods. Raises Refused, httpx.TransportError."""
    after, is_end = 0, False
    while not is_end:
        page = api.get(f"/jobs/{job_id}/logs", after=after, limit=10_000, **query)
        yield from page["lines"]
        after, is_end = page["lines"][-1]["seq"] if page["lines"] else after, page["is_end"]
