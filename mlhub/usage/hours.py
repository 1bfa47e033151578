# SPDX-License-Identifier: Apache-2.0
"""GPU-hours used since a time, by owner and GPU type: what budgets are compared with, several times a minute.

The database adds up the ledger; what runs is added from one query. Both count the same integral as the reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import connection

from mlhub.clusters.models import Node
from mlhub.jobs.models import Allocation
from mlhub.tenants.models import Team
from mlhub.usage.holdings import holdings_on
from mlhub.usage.integral import GpuHolding, gpu_seconds

HOUR_S = 3600.0
ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)
LEDGER = """
SELECT team_id, teams_above, project_id, user_id, gpu_type, sum(
    gpu_s * extract(epoch FROM ended_at - greatest(began_at, %(since)s)) / extract(epoch FROM ended_at - began_at)
) / 3600
FROM usage_usageentry
WHERE organisation_id = %(organisation)s AND ended_at > %(since)s AND ended_at > began_at
GROUP BY team_id, teams_above, project_id, user_id, gpu_type
"""

OF_OWNER = "organisation_id = %(organisation)s AND \
(%(team)s::uuid IS NULL OR team_id = %(team)s OR %(team)s = ANY(teams_above)) AND \
(%(project)s::uuid IS NULL OR project_id = %(project)s) AND (%(gpu_type)s = '' OR gpu_type = %(gpu_type)s)"
# each entry in the sections that it touches
SECTIONS = f"""
SELECT n, sum(
    gpu_s / extract(epoch FROM ended_at - began_at) * extract(epoch FROM
        least(ended_at, %(since)s + (n + 1) * %(section)s) - greatest(began_at, %(since)s + n * %(section)s))
) / 3600
FROM usage_usageentry CROSS JOIN LATERAL generate_series(
    greatest(0, floor(extract(epoch FROM began_at - %(since)s) / %(section_s)s)::int),
    least(%(n_sections)s - 1, floor(extract(epoch FROM ended_at - %(since)s) / %(section_s)s)::int)
) AS n
WHERE {OF_OWNER} AND ended_at > %(since)s AND ended_at > began_at
GROUP BY n
"""  # noqa: S608 - OF_OWNER is a literal
FIRST = f"SELECT min(began_at) FROM usage_usageentry WHERE {OF_OWNER}"  # noqa: S608 - as above


@dataclass(frozen=True)
class HoursFilter:
    """Whose GPU-hours count, and on GPUs of which type. team, with all below it, project: None = all; gpu_type: "" =
    all.
    """

    organisation: UUID
    team: UUID | None = None
    project: UUID | None = None
    gpu_type: str = ""

    def counts(self, held: LiveHolding) -> bool:
        """Whether what a live attempt holds belongs to it."""
        return (
            held.organisation_id == self.organisation
            and (self.team in (None, held.team_id) or self.team in held.teams_above)
            and self.project in (None, held.project_id)
            and self.gpu_type in ("", held.gpu_type)
        )


@dataclass(frozen=True)
class UsedHours:
    """GPU-hours of a user's jobs in a project on one type of GPU; team_id: whose part the project was when they ran.

    teams_above: the teams that this one was a part of then, the nearest first.
    """

    organisation_id: UUID
    team_id: UUID | None
    teams_above: Sequence[UUID]
    project_id: UUID
    user_id: UUID
    gpu_type: str
    gpu_hours: float


@dataclass(frozen=True)
class LiveHolding:
    """What a live attempt holds on one node."""

    allocation_id: int
    organisation_id: UUID
    team_id: UUID | None
    teams_above: Sequence[UUID]
    project_id: UUID
    user_id: UUID
    node: str
    gpu_type: str
    own: GpuHolding
    others: tuple[GpuHolding, ...] = ()

    def since(self, since: datetime, now: datetime) -> UsedHours:
        hours = gpu_seconds(self.own, self.others, since=since, until=now) / HOUR_S
        teams = self.team_id, self.teams_above
        return UsedHours(self.organisation_id, *teams, self.project_id, self.user_id, self.gpu_type, hours)


def used_hours(
    organisation: UUID, live: Iterable[LiveHolding], *, since: datetime | None, now: datetime
) -> list[UsedHours]:
    """Returns what the organisation's jobs have used from since until now. live: from live_holdings(). None = ever."""
    begin = since or ALWAYS
    with connection.cursor() as cursor:
        cursor.execute(LEDGER, {"organisation": organisation, "since": begin})
        rows = [UsedHours(organisation, *row) for row in cursor.fetchall()]
    return rows + [held.since(begin, now) for held in live if held.organisation_id == organisation]


def hours_by_section(
    wanted: HoursFilter,
    live: Iterable[LiveHolding],
    *,
    since: datetime,
    section: timedelta,
    n_sections: int,
    now: datetime,
) -> list[float]:
    """Returns the GPU-hours of each section of that length from since on. What is after now counts as 0."""
    values = {**asdict(wanted), "since": since, "section": section, "n_sections": n_sections}
    hours = [0.0] * n_sections
    with connection.cursor() as cursor:
        cursor.execute(SECTIONS, {**values, "section_s": section.total_seconds()})
        for n, used in cursor.fetchall():
            hours[n] = float(used)
    for held in filter(wanted.counts, live):
        for n in range(n_sections):
            begin = since + n * section
            if held.own.began_at < begin + section and begin < now:
                until = min(now, begin + section)
                hours[n] += gpu_seconds(held.own, held.others, since=begin, until=until) / HOUR_S
    return hours


def first_use(wanted: HoursFilter, live: Iterable[LiveHolding]) -> datetime | None:
    """Returns when the first of these GPU-hours began; None = there are none yet."""
    with connection.cursor() as cursor:
        cursor.execute(FIRST, asdict(wanted))
        (found,) = cursor.fetchone()
    return min([held.own.began_at for held in live if wanted.counts(held)] + ([found] if found else []), default=None)


def live_holdings(organisations: Sequence[UUID], *, now: datetime) -> list[LiveHolding]:
    """Returns what live attempts of these organisations hold until now.

    Where jobs share GPUs, all others that have held some of the same ones are looked up; elsewhere none is needed.
    """
    paths = (
        "attempt__job__project__organisation",
        "attempt__job__project__team",
        "attempt__job__project",
        "attempt__job__created_by",
    )
    rows = Allocation.objects.filter(released_at=None, attempt__job__project__organisation__in=organisations)
    values = list(rows.order_by("id").values_list("id", *paths, "node", "slots", "attempt__created_at"))
    nodes = {
        name: (gpu_type, most)
        for name, gpu_type, most in Node.objects.values_list("name", "gpu_type", "max_jobs_per_gpu")
    }
    shared = {node for *_, node, _, _ in values if nodes.get(node, ("", 2))[1] > 1}
    earliest = min((began_at for *_, node, _, began_at in values if node in shared), default=now)
    others = holdings_on(shared, since=earliest, now=now)
    lines = Team.objects.lines_of({team for _, _, team, *_ in values if team is not None})
    found = []
    for pk, organisation, team, project, user, node, slots, began_at in values:
        own = GpuHolding(frozenset(slots), min(began_at, now), now)
        sharing = tuple(one for other, one in others[node] if other != pk and one.slots & own.slots)
        gpu_type = nodes.get(node, ("", 1))[0]
        above = lines.get(team, ())[1:]
        found.append(LiveHolding(pk, organisation, team, above, project, user, node, gpu_type, own, sharing))
    return found
