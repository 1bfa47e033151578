# SPDX-License-Identifier: Apache-2.0
"""The tree of an organisation's teams: in SQL for filters, in memory where a whole organisation is walked.

Only Team.parent is stored; docs/decisions/team-tree.md says why no path is stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from uuid import UUID

MOST_LEVELS = 8  # of teams below each other; both queries end there, whatever the rows say

# {roots}: what goes into IN (...), with its parameters
BELOW = f"""
WITH RECURSIVE below (id, level) AS (
    SELECT id, 1 FROM tenants_team WHERE id IN ({{roots}})
    UNION ALL
    SELECT team.id, below.level + 1 FROM tenants_team team JOIN below ON team.parent_id = below.id
    WHERE below.level < {MOST_LEVELS}
) SELECT id FROM below
"""  # noqa: S608 - a literal
ABOVE = f"""
WITH RECURSIVE above (id, parent_id, level) AS (
    SELECT id, parent_id, 1 FROM tenants_team WHERE id IN ({{roots}})
    UNION ALL
    SELECT team.id, team.parent_id, above.level + 1 FROM tenants_team team JOIN above ON team.id = above.parent_id
    WHERE above.level < {MOST_LEVELS}
) SELECT id FROM above
"""  # noqa: S608 - a literal


class TeamTree:
    """Knows for each team of some organisations the team that it is a part of; None = directly below its organisation.

    A team whose parent is not among them counts as directly below its organisation.
    """

    def __init__(self, parents: Mapping[UUID, UUID | None]) -> None:
        self._parents = {team: parent if parent in parents else None for team, parent in parents.items()}
        self._children: defaultdict[UUID | None, list[UUID]] = defaultdict(list)
        for team, parent in self._parents.items():
            self._children[parent].append(team)

    def line(self, team: UUID | None) -> tuple[UUID, ...]:
        """Returns the team and those above it, the nearest first; nothing for None and for a team that is not there."""
        found: list[UUID] = []
        while team is not None and team in self._parents and team not in found:
            found.append(team)
            team = self._parents[team]
        return tuple(found)

    def below(self, team: UUID) -> tuple[UUID, ...]:
        """Returns the team and all below it, each before those below it."""
        return tuple(self._walk([team], set()))

    def in_order(self) -> tuple[UUID, ...]:
        """Returns all teams, each before those below it, and these directly after it; siblings as they were given."""
        return tuple(self._walk(self._children[None], set()))

    def levels_below(self, team: UUID) -> int:
        """Returns how many levels the team has with all below it; 1 for a team without teams below it."""
        top = len(self.line(team))
        return max(len(self.line(one)) for one in self.below(team)) - top + 1

    def _walk(self, teams: Iterable[UUID], seen: set[UUID]) -> list[UUID]:
        found: list[UUID] = []
        for team in teams:
            if team not in seen:
                seen.add(team)
                found += [team, *self._walk(self._children[team], seen)]
        return found
