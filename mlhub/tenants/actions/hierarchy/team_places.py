# SPDX-License-Identifier: Apache-2.0
"""Where in its organisation's tree a team may stand."""

from __future__ import annotations

from mlhub.core.errors import InvalidInputError
from mlhub.tenants.models import Organisation, Team
from mlhub.tenants.team_tree import MOST_LEVELS, TeamTree


def require_place(organisation: Organisation, *, team: Team | None, parent: Team | None) -> None:
    """Raises InvalidInputError, which names `parent`, where the team cannot be below that parent.

    team: None = a new one. parent: None = directly below the organisation. The caller holds the organisation's lock:
    two moves at once could each be right, and together make a cycle.
    """
    tree = TeamTree(dict(organisation.teams.values_list("id", "parent_id")))
    levels = 1 if team is None else tree.levels_below(team.pk)
    if parent is not None:
        if parent.organisation_id != organisation.pk:
            raise InvalidInputError(
                f"The team {parent.name} is not of {organisation.name}.",
                field="parent",
                remedy=f"Name a team of {organisation.name}, or none.",
            )
        line = tree.line(parent.pk)
        if not line:
            raise InvalidInputError(
                f"The team {parent.name} was deleted meanwhile.", field="parent", remedy="Name another one, or none."
            )
        if team is not None and team.pk in line:
            place = "itself" if parent.pk == team.pk else f"{parent.name}, which is below it"
            raise InvalidInputError(
                f"{team.name} cannot be moved below {place}.",
                field="parent",
                remedy=f"Name a team that is not below {team.name}, or none.",
            )
        levels += len(line)
    if levels > MOST_LEVELS:
        raise InvalidInputError(
            f"Teams would be {levels} levels deep, and may be {MOST_LEVELS}.",
            field="parent",
            remedy="Name a team that is higher up, or none.",
        )
