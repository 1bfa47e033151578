# SPDX-License-Identifier: Apache-2.0
"""The highest priority that a member may give a job; its owner's admins give any."""

from __future__ import annotations

from mlhub.core.errors import InvalidInputError
from mlhub.tenants.access_control.permissions import role_of
from mlhub.tenants.actions.limits.quotas import Owner
from mlhub.tenants.models import Project, QuotaRules, Team, User
from mlhub.tenants.roles import Role

USUAL_CEILING = 50
MOST_PRIORITY = 100  # of any job, and its negative the least


def check_priority(project: Project, priority: int, *, actor: User, is_resumed: bool = False) -> None:
    """Raises InvalidInputError for a priority above the member's ceiling, which names whose ceiling it is.

    A ceiling does not hold for admins of its owner; that of the organisation holds for admins of a project alone.
    is_resumed: the job has the priority already; it was paused, and the ceiling or the person's role changed meanwhile.
    """
    for ceiling, owner in sorted(_ceilings(project), key=lambda one: one[0]):
        if priority <= ceiling:
            return
        role = role_of(actor, owner)
        if role is None or not role.covers(Role.ADMIN):
            raise InvalidInputError(
                f"The priority {priority} is above {ceiling}, the highest that members of {owner.name} may give.",
                field="priority",
                remedy=f"{'Clone the job with' if is_resumed else 'Give'} at most {ceiling}, or ask an admin of "
                f"{project.organisation.name} to {'resume' if is_resumed else 'submit'} the job.",
                limit=ceiling,
            )


def _ceilings(project: Project) -> list[tuple[int, Owner]]:
    """Those that are set for the project, the teams above it and the organisation, whose usual one holds otherwise."""
    owners: list[Owner] = [project.organisation, *reversed(Team.objects.line_of(project.team)), project]
    found: list[tuple[int, Owner]] = []
    for owner in owners:
        quota: QuotaRules | None = getattr(owner, "quota", None)
        if quota is not None and quota.max_priority is not None:
            found.append((quota.max_priority, owner))
    return found or [(USUAL_CEILING, project.organisation)]
