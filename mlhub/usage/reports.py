# SPDX-License-Identifier: Apache-2.0
"""Reports: GPU-hours between two times, by organisation, project, person, GPU type, job, outcome or day.

The database adds up: 100,000 entries cost the web process no more than their groups. An entry that lies partly outside
of a window, or in several days, counts in proportion to its time there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import connection
from psycopg2 import sql

from mlhub.usage.models import UsageEntry
from mlhub.usage.prices import price_of

DAY = timedelta(days=1)


class Dimension(StrEnum):
    ORGANISATION = "organisation"
    TEAM = "team"
    PROJECT = "project"
    USER = "user"
    GPU_TYPE = "gpu_type"
    JOB = "job"
    OUTCOME = "outcome"
    DAY = "day"


@dataclass
class UsageRow:
    """GPU-hours of one group. key: an id, or the value itself; name: as it was at last. cost: None without a price."""

    key: str
    name: str
    gpu_hours: float = 0.0
    startup_gpu_hours: float = 0.0
    lost_gpu_hours: float = 0.0
    measured_gpu_hours: float = 0.0
    measured_busy_gpu_hours: float = 0.0
    cost: float | None = None
    n_jobs: int = 0

    @property
    def useful_gpu_hours(self) -> float:
        """What is neither start-up nor lost."""
        return max(0.0, self.gpu_hours - self.startup_gpu_hours - self.lost_gpu_hours)

    @property
    def busy_gpu_hours(self) -> float | None:
        """Of those that were measured; None where nothing was."""
        return self.measured_busy_gpu_hours if self.measured_gpu_hours > 0 else None

    @property
    def idle_gpu_hours(self) -> float | None:
        """The measured ones that were not busy."""
        return None if (busy := self.busy_gpu_hours) is None else max(0.0, self.measured_gpu_hours - busy)

    def charge(self, gpu_hours: float, price: float | None) -> None:
        if price is not None:
            self.cost = (self.cost or 0.0) + gpu_hours * price


@dataclass(frozen=True)
class UsageReport:
    rows: list[UsageRow]
    total: UsageRow


@dataclass(frozen=True)
class UsageScope:
    """Whose entries are asked for: of these organisations (None = of all), and of these projects of others.

    named_teams: which teams may be named, or asked for, among entries of those projects.
    """

    organisations: Sequence[UUID] | None
    projects: Sequence[UUID] = ()
    named_teams: Sequence[UUID] = ()


@dataclass(frozen=True)
class Window:
    since: datetime
    until: datetime

    def days(self) -> list[str]:
        """The days of UTC that it touches."""
        first = self.since.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        n = -(-(self.until - first) // DAY)
        return [(first + i * DAY).date().isoformat() for i in range(n)]


IS_WHOLE = "(%(organisations)s::uuid[] IS NULL OR organisation_id = ANY(%(organisations)s::uuid[]))"
NAMES_TEAM = f"({IS_WHOLE} OR team_id = ANY(%(named_teams)s::uuid[]))"
# key and name of each group; those of what has no id or no value are ""
GROUPS = {
    Dimension.ORGANISATION: ("organisation_id::text", "organisation"),
    Dimension.TEAM: (
        f"CASE WHEN {NAMES_TEAM} THEN coalesce(team_id::text, '') ELSE '' END",
        f"CASE WHEN {NAMES_TEAM} THEN coalesce(nullif(team, ''), 'none') ELSE 'none' END",
    ),
    Dimension.PROJECT: ("project_id::text", "project"),
    Dimension.USER: ("user_id::text", '"user"'),
    Dimension.GPU_TYPE: ("gpu_type", "coalesce(nullif(gpu_type, ''), 'unknown')"),
    Dimension.JOB: ("job_id::text", "job"),
    Dimension.OUTCOME: ("outcome", "coalesce(nullif(outcome, ''), 'running')"),
    Dimension.DAY: ("to_char(day, 'YYYY-MM-DD')", "to_char(day, 'YYYY-MM-DD')"),
}
COLUMNS = {
    "allocation_id": "int8",
    "organisation_id": "uuid", "organisation": "text", "team_id": "uuid", "team": "text", "teams_above": "uuid[]",
    "project_id": "uuid", "project": "text", "user_id": "uuid", "user": "text", "gpu_type": "text", "job_id": "uuid",
    "job": "text", "outcome": "text", "began_at": "timestamptz", "ended_at": "timestamptz", "gpu_s": "float8",
    "startup_gpu_s": "float8", "lost_gpu_s": "float8", "measured_gpu_s": "float8", "busy_gpu_s": "float8",
}  # fmt: skip
# each entry as a whole, or once a day; share: of its time, that within the window and the day
WHOLE = sql.SQL("SELECT e.*, %(since)s::timestamptz AS begins, %(until)s::timestamptz AS ends FROM entry e")
DAILY = sql.SQL(
    """
    SELECT e.*, day, greatest(day AT TIME ZONE 'UTC', %(since)s) AS begins,
           least((day + interval '1 day') AT TIME ZONE 'UTC', %(until)s) AS ends
    FROM entry e, generate_series(
        date_trunc('day', greatest(began_at, %(since)s) AT TIME ZONE 'UTC'),
        least(ended_at, %(until)s) AT TIME ZONE 'UTC', interval '1 day'
    ) AS day
    """
)
REPORT = sql.SQL(
    """
    WITH entry AS (
        SELECT {columns} FROM usage_usageentry
        WHERE began_at < %(until)s AND ended_at > %(since)s
          AND ({is_whole} OR project_id = ANY(%(projects)s::uuid[]))
          AND (%(project)s::uuid IS NULL OR project_id = %(project)s::uuid)
        UNION ALL SELECT {columns} FROM jsonb_to_recordset(%(running)s::jsonb) AS running({types})
        WHERE NOT EXISTS (SELECT 1 FROM usage_usageentry u WHERE u.allocation_id = running.allocation_id)
    ), part AS ({parts}), counted AS (
        SELECT *, {key} AS key, {name} AS name,
               extract(epoch FROM least(ended_at, ends) - greatest(began_at, begins))
               / extract(epoch FROM ended_at - began_at) / 3600 AS hours
        FROM part WHERE ended_at > began_at AND least(ended_at, ends) > greatest(began_at, begins)
          AND (%(team)s::uuid IS NULL OR (
              ({is_whole} OR %(team)s::uuid = ANY(%(named_teams)s::uuid[]))
              AND (team_id = %(team)s::uuid OR %(team)s::uuid = ANY(teams_above))
          ))
    )
    SELECT key, gpu_type, (array_agg(name ORDER BY ended_at DESC))[1], count(DISTINCT job_id),
           coalesce(sum(gpu_s * hours), 0), coalesce(sum(startup_gpu_s * hours), 0),
           coalesce(sum(lost_gpu_s * hours), 0), coalesce(sum(measured_gpu_s * hours), 0),
           coalesce(sum(busy_gpu_s * hours), 0)
    FROM counted GROUP BY GROUPING SETS ((key, gpu_type), (key), ())
    """
)


def report(
    *,
    by: Dimension,
    window: Window,
    scope: UsageScope,
    project: UUID | None,
    running: Iterable[UsageEntry],
    prices: Mapping[str, float],
    team: UUID | None = None,
) -> UsageReport:
    """Returns the groups, most GPU-hours first; days in their order, without gaps. Days are those of UTC.

    A group by team has what ran in the team's own projects, so that the groups add up to the total.
    project: only its entries. team: only entries of it and of the teams that were below it then.
    running: entries that are not stored yet, of what is asked for.
    """
    rows: dict[str, UsageRow] = {}
    if by is Dimension.DAY:
        rows = {day: UsageRow(day, day) for day in window.days()}
    total = UsageRow("", "Total")
    hours_by_type: list[tuple[str, str, float]] = []
    for key, gpu_type, name, n_jobs, *hours in _sums(by, window, scope, (project, team), running):
        if gpu_type is not None:
            hours_by_type.append((key, gpu_type, hours[0]))
            continue
        row = total if key is None else rows.setdefault(key, UsageRow(key, name))
        row.gpu_hours, row.startup_gpu_hours, row.lost_gpu_hours = hours[:3]
        row.measured_gpu_hours, row.measured_busy_gpu_hours = hours[3:]
        row.name, row.n_jobs = ("Total" if key is None else name), n_jobs
    for key, gpu_type, gpu_hours in hours_by_type:
        for row in (rows[key], total):
            row.charge(gpu_hours, price_of(gpu_type, prices))
    found = list(rows.values())
    if by is not Dimension.DAY:
        found.sort(key=lambda row: (-row.gpu_hours, row.name))
    return UsageReport(found, total)


def _sums(
    by: Dimension,
    window: Window,
    scope: UsageScope,
    within: tuple[UUID | None, UUID | None],
    running: Iterable[UsageEntry],
) -> list[tuple[Any, ...]]:
    """(key, GPU type, name, jobs, GPU-hours, of them start-up, lost, measured, busy).

    By key and type, by key (type None), and all.
    """
    key, name = GROUPS[by]
    project, team = (None if pk is None else str(pk) for pk in within)
    query = REPORT.format(
        columns=sql.SQL(", ").join(map(sql.Identifier, COLUMNS)),
        types=sql.SQL(", ").join(sql.Identifier(c) + sql.SQL(" " + kind) for c, kind in COLUMNS.items()),
        parts=DAILY if by is Dimension.DAY else WHOLE,
        key=sql.SQL(key),
        name=sql.SQL(name),
        is_whole=sql.SQL(IS_WHOLE),
    )
    parameters = {
        "since": window.since,
        "until": window.until,
        "organisations": None if scope.organisations is None else [str(pk) for pk in scope.organisations],
        "projects": [str(pk) for pk in scope.projects],
        "named_teams": [str(pk) for pk in scope.named_teams],
        "project": project,
        "team": team,
        "running": json.dumps([{c: getattr(entry, c) for c in COLUMNS} for entry in running], default=str),
    }
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return list(cursor.fetchall())
