# SPDX-License-Identifier: Apache-2.0
"""Reads of a job's log: pages in both directions from any line or time, and search in bounded time.

Lines are found by their seq within each attempt, so that points and other rows of the job make no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import DataError, OperationalError, connection, transaction

from mlhub.core.errors import InvalidInputError
from mlhub.metrics.log_errors import IS_ERROR

MAX_SEQ = 2**63 - 1
MAX_ANSWER_BYTES = 150_000  # of the text of one answer, with LINE_BYTES for what else is said of each line
LINE_BYTES = 180
SEARCH_MS = 5000
INVALID_REGEX, CANCELLED = "2201B", "57014"  # of PostgreSQL
NAMES = ("seq", "at", "attempt_number", "role", "index", "number", "text", "n_dropped", "is_error")


@dataclass(frozen=True)
class LogFilter:
    """Which lines are meant: of pods of a role or index, of an attempt, that contain a text or match a regex, that hold
    an error."""

    role: str | None = None
    index: int | None = None
    attempt: int | None = None
    search: str = ""
    is_regex: bool = False
    errors: bool = False

    @property
    def looks_at_texts(self) -> bool:
        """Whether the answer may take long."""
        return bool(self.search) or self.errors

    def conditions(self) -> tuple[str, list[Any]]:
        """In SQL, on an attempt `a` and its line `l`."""
        wanted = [
            ("l.role = %s", self.role),
            ("l.index = %s", self.index),
            ("a.number = %s", self.attempt),
            ("l.text ~* %s" if self.is_regex else "position(lower(%s) IN lower(l.text)) > 0", self.search or None),
        ]
        kept = [(condition, value) for condition, value in wanted if value is not None]
        terms = [condition for condition, _ in kept] + ([IS_ERROR] if self.errors else [])
        return "".join(f" AND {term}" for term in terms), [value for _, value in kept]


@dataclass(frozen=True)
class LogPage:
    """Lines, oldest first. is_end: there are no more in the direction asked for."""

    lines: list[dict[str, Any]]
    is_end: bool


def lines_from(job_id: UUID, wanted: LogFilter, *, after: int, limit: int) -> LogPage:
    """The first lines with a greater seq."""
    return _page(job_id, wanted, after=after, before=MAX_SEQ, limit=limit, order="ASC")


def lines_before(job_id: UUID, wanted: LogFilter, *, before: int, limit: int) -> LogPage:
    """The last lines with a lesser seq."""
    page = _page(job_id, wanted, after=-1, before=before, limit=limit, order="DESC")
    return LogPage(page.lines[::-1], page.is_end)


def seq_at(job_id: UUID, at: datetime) -> int:
    """The seq of the first line that was stored then or later; MAX_SEQ when there is none."""
    statement = (
        "SELECT min(l.seq) FROM jobs_attempt a JOIN metrics_logline l ON l.attempt_id = a.id"
        " WHERE a.job_id = %s AND l.at >= %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [job_id, at])
        found: int | None = cursor.fetchone()[0]
    return MAX_SEQ if found is None else found


def count_lines(job_id: UUID, wanted: LogFilter) -> int:
    conditions, values = wanted.conditions()
    statement = f"""
    SELECT count(*) FROM jobs_attempt a JOIN metrics_logline l ON l.attempt_id = a.id WHERE a.job_id = %s{conditions}
    """  # noqa: S608 - conditions are literals of LogFilter
    with bounded(wanted), connection.cursor() as cursor:
        cursor.execute(statement, [job_id, *values])
        return int(cursor.fetchone()[0])


def _page(job_id: UUID, wanted: LogFilter, *, after: int, before: int, limit: int, order: str) -> LogPage:
    conditions, values = wanted.conditions()
    statement = f"""
    SELECT l.seq, l.at, a.number, l.role, l.index, l.number, l.text, l.n_dropped, {IS_ERROR}
    FROM jobs_attempt a CROSS JOIN LATERAL (
        SELECT * FROM metrics_logline l WHERE l.attempt_id = a.id AND l.seq > %s AND l.seq < %s{conditions}
        ORDER BY l.seq {order} LIMIT %s) AS l
    WHERE a.job_id = %s ORDER BY l.seq {order} LIMIT %s
    """  # noqa: S608 - conditions are literals of LogFilter
    with bounded(wanted), connection.cursor() as cursor:
        cursor.execute(statement, [after, before, *values, limit + 1, job_id, limit + 1])
        rows = cursor.fetchall()
    kept = _within_answer(rows[:limit])
    return LogPage([dict(zip(NAMES, row, strict=True)) for row in kept], is_end=len(kept) == len(rows))


def _within_answer(rows: list[Any]) -> list[Any]:
    """The first of them whose text fits into one answer; at least one."""
    n_bytes = 0
    for place, row in enumerate(rows):
        n_bytes += LINE_BYTES + len(row[NAMES.index("text")].encode())
        if n_bytes > MAX_ANSWER_BYTES and place:
            return rows[:place]
    return rows


@contextmanager
def bounded(wanted: LogFilter) -> Iterator[None]:
    """Ends a search that takes too long. Raises InvalidInputError for that, and for what is no regular expression."""
    if not wanted.looks_at_texts:
        yield
        return
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            (usual,) = cursor.fetchone()
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(SEARCH_MS)])
            yield
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [usual])
    except (DataError, OperationalError) as error:
        code = getattr(error.__cause__, "pgcode", "")
        if code == INVALID_REGEX:
            raise InvalidInputError(
                "The search is no regular expression.",
                code="invalid_regex",
                field="search",
                remedy="Escape special characters by \\, or search for it as text.",
            ) from error
        if code == CANCELLED:
            raise InvalidInputError(
                f"The search took longer than {SEARCH_MS // 1000} s and was ended.",
                code="search_too_slow",
                field="search",
                remedy="Search for a simpler text, or in the lines of one pod or attempt.",
            ) from error
        raise
