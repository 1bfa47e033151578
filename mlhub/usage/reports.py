# SPDX-License-Identifier: Apache-2.0
"""Reports: GPU-hours between two times, by organisation, project, person, GPU type, job, outcome or day.

An entry that lies partly outside of a window, or in several days, counts in proportion to its time there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from mlhub.usage.models import UsageEntry
from mlhub.usage.prices import price_of

HOUR_S = 3600.0
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
    cost: float | None = None
    jobs: set[str] = field(default_factory=set)

    @property
    def n_jobs(self) -> int:
        return len(self.jobs)

    @property
    def useful_gpu_hours(self) -> float:
        """What is neither start-up nor lost."""
        return max(0.0, self.gpu_hours - self.startup_gpu_hours - self.lost_gpu_hours)

    def add(self, entry: UsageEntry, share: float, price: float | None) -> None:
        gpu_hours = entry.gpu_s * share / HOUR_S
        self.gpu_hours += gpu_hours
        self.startup_gpu_hours += entry.startup_gpu_s * share / HOUR_S
        self.lost_gpu_hours += entry.lost_gpu_s * share / HOUR_S
        if price is not None:
            self.cost = (self.cost or 0.0) + gpu_hours * price
        self.jobs.add(str(entry.job_id))


@dataclass(frozen=True)
class UsageReport:
    rows: list[UsageRow]
    total: UsageRow


def report(
    entries: Iterable[UsageEntry],
    *,
    by: Dimension,
    since: datetime,
    until: datetime,
    prices: Mapping[str, float],
) -> UsageReport:
    """Returns the groups, most GPU-hours first; days in their order, without gaps. Days are those of UTC.

    entries: in the order of their ends, so that the name that an object had at last is its row's.
    """
    rows: dict[str, UsageRow] = {}
    if by is Dimension.DAY:
        rows = {day: UsageRow(day, day) for day in _days(since, until)}
    total = UsageRow("", "Total")
    for entry in entries:
        price = price_of(entry.gpu_type, prices)
        for key, name, share in _parts(entry, by, since, until):
            row = rows.setdefault(key, UsageRow(key, name))
            row.name = name
            row.add(entry, share, price)
            total.add(entry, share, price)
    found = list(rows.values())
    if by is not Dimension.DAY:
        found.sort(key=lambda row: (-row.gpu_hours, row.name))
    return UsageReport(found, total)


def _parts(entry: UsageEntry, by: Dimension, since: datetime, until: datetime) -> Iterator[tuple[str, str, float]]:
    """The group and share of the entry that lies in the window; by day, of each day."""
    begin, end = max(entry.began_at, since), min(entry.ended_at, until)
    whole = entry.ended_at - entry.began_at
    if begin >= end or not whole:
        return
    if by is not Dimension.DAY:
        key, name = _group(entry, by)
        yield key, name, (end - begin) / whole
        return
    marks = [begin, *(m for m in _midnights(begin, end) if begin < m < end), end]
    for left, right in pairwise(marks):
        day = left.astimezone(UTC).date().isoformat()
        yield day, day, (right - left) / whole


def _group(entry: UsageEntry, by: Dimension) -> tuple[str, str]:
    name = str(getattr(entry, by))
    if by in (Dimension.GPU_TYPE, Dimension.OUTCOME):
        return name, name or ("running" if by is Dimension.OUTCOME else "unknown")
    key = getattr(entry, f"{by}_id")
    return ("" if key is None else str(key)), name or "none"


def _days(since: datetime, until: datetime) -> list[str]:
    return [m.date().isoformat() for m in _midnights(since, until) if m < until]


def _midnights(begin: datetime, end: datetime) -> Iterator[datetime]:
    """The midnights of UTC from that of begin's day to end."""
    first = begin.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    n = (end - first) // DAY
    return (first + i * DAY for i in range(n + 1))
