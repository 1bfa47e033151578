# SPDX-License-Identifier: Apache-2.0
"""Where in a job's log its errors and the lines that a search finds are: counts by sections of equal length.

The sections divide the seqs between the first and the last line. Errors come from their index; only a search looks at
every line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from mlhub.metrics.logs.log_reads import LogFilter, bounded

ENDS = """
SELECT min(l.first), max(l.last) FROM jobs_attempt a CROSS JOIN LATERAL (
    SELECT (SELECT seq FROM metrics_logline WHERE attempt_id = a.id ORDER BY seq LIMIT 1) AS first,
           (SELECT seq FROM metrics_logline WHERE attempt_id = a.id ORDER BY seq DESC LIMIT 1) AS last) AS l
WHERE a.job_id = %s
"""


@dataclass(frozen=True)
class LogOverview:
    """first_seq, last_seq: of the whole log, None: it is empty. errors, found: lines in each section, found: of the
    search, None without one. n_errors, n_found: their sums."""

    first_seq: int | None
    last_seq: int | None
    errors: list[int]
    found: list[int] | None

    @property
    def n_errors(self) -> int:
        return sum(self.errors)

    @property
    def n_found(self) -> int | None:
        return None if self.found is None else sum(self.found)


def log_overview(job_id: UUID, wanted: LogFilter, *, n_sections: int) -> LogOverview:
    """Counts errors of the pods and attempt that the filter names, and, of them, what its search finds.

    Raises InvalidInputError for a search that is no regular expression, or that takes too long.
    """
    with connection.cursor() as cursor:
        cursor.execute(ENDS, [job_id])
        first, last = cursor.fetchone()
    if first is None:
        return LogOverview(None, None, [0] * n_sections, [0] * n_sections if wanted.search else None)
    of_pods = LogFilter(role=wanted.role, index=wanted.index, attempt=wanted.attempt, errors=True)
    errors = _counts(job_id, of_pods, first=first, last=last, n_sections=n_sections)
    found = _counts(job_id, wanted, first=first, last=last, n_sections=n_sections) if wanted.search else None
    return LogOverview(first, last, errors, found)


def _counts(job_id: UUID, wanted: LogFilter, *, first: int, last: int, n_sections: int) -> list[int]:
    conditions, values = wanted.conditions()
    statement = f"""
    SELECT (l.seq - %s) * %s / %s AS section, count(*)
    FROM jobs_attempt a JOIN metrics_logline l ON l.attempt_id = a.id
    WHERE a.job_id = %s AND l.seq BETWEEN %s AND %s{conditions} GROUP BY section
    """  # noqa: S608 - conditions are literals of LogFilter
    parameters: list[Any] = [first, n_sections, last - first + 1, job_id, first, last, *values]
    counts = [0] * n_sections
    with bounded(wanted), connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        for section, n in cursor.fetchall():
            counts[section] = n
    return counts
