# SPDX-License-Identifier: Apache-2.0
"""The highest priority that a member may give a job; owners and admins, who answer for the organisation, give any."""

from __future__ import annotations

from mlhub.core.errors import InvalidInputError
from mlhub.tenants.models import Organisation, Project, QuotaRules, Team, User
from mlhub.tenants.permissions import role_of
from mlhub.tenants.roles import Role

USUAL_CEILING = 50


def check_priority(project: Project, priority: int, *, actor: User, is_resumed: bool = False) -> None:
    """Raises InvalidInputError for a priority above the member's ceiling, which names whose ceiling it is.

    is_resumed: the job has the priority already; it was paused, and the ceiling or the person's role changed meanwhile.
    """
    ceiling, owner = ceiling_of(project)
    if priority <= ceiling:
        return
    role = role_of(actor, project.organisation)
    if role is None or not role.covers(Role.ADMIN):
        raise InvalidInputError(
            f"The priority {priority} is above {ceiling}, the highest that members of {owner} may give.",
            field="priority",
            remedy=f"{'Clone the job with' if is_resumed else 'Give'} at most {ceiling}, or ask an admin of "
            f"{project.organisation.name} to {'resume' if is_resumed else 'submit'} the job.",
            limit=ceiling,
        )


def ceiling_of(project: Project) -> tuple[int, str]:
    """The lowest max_priority of the project, the teams above it and its organisation, with the name of its owner."""
    owners: list[Organisation | Team | Project] = [
        project.organisation,
        *reversed(Team.objects.line_of(project.team)),
        project,
    ]
    ceilings = []
    for owner in owners:
        quota: QuotaRules | None = getattr(owner, "quota", None)
        if quota is not None and quota.max_priority is not None:
            ceilings.append((quota.max_priority, owner.name))
    return min(ceilings, default=(USUAL_CEILING, project.organisation.name))
