# SPDX-License-Identifier: Apache-2.0
"""Which roles a person has in a place, and from where: the membership of the organisation, and bindings in teams and
projects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

from mlhub.tenants.models import Membership, Organisation, Project, RoleBinding, Team, User
from mlhub.tenants.reach import teams_above, teams_below
from mlhub.tenants.roles import Role, greatest

TenantNode = Organisation | Team | Project
# Of a member: the organisation's role, and with each binding, or once without one, what it gives where. By hand, since
# every request asks, and Django takes longer to write it than PostgreSQL to answer it.
ROLES = """
SELECT m.role, b.id, b.role, b.team_id, b.project_id
FROM tenants_membership m LEFT JOIN tenants_rolebinding b ON b.membership_id = m.id
WHERE m.user_id = %s AND m.organisation_id = %s
"""
MOST_NAMED = 3  # people whom a remedy names


@dataclass(frozen=True)
class Assignment:
    """role: in the place of that id. place: "organisation", "team", "project", or "platform" for its administrators.

    binding_id: of the role binding; None for the membership of the organisation.
    """

    role: Role
    place: str
    place_id: UUID | None
    binding_id: UUID | None = None


def role_assignments(user: User, place: TenantNode) -> list[Assignment]:
    """All that count in the place, the greatest first; none for strangers. One query, or two.

    None also with a token for another organisation. Raises nothing.
    """
    organisation_id = place.pk if isinstance(place, Organisation) else place.organisation_id
    if user.acting_token is not None and user.acting_token.organisation_id != organisation_id:
        return []
    if user.is_staff:
        return [Assignment(Role.OWNER, "platform", None)]
    with connection.cursor() as cursor:
        cursor.execute(ROLES, [user.pk, organisation_id])
        rows = cursor.fetchall()
    found = [Assignment(Role(rows[0][0]), "organisation", organisation_id)] if rows else []
    is_bound_to_team = any(team_id is not None for *_, team_id, _ in rows)
    teams = [] if isinstance(place, Organisation) or not is_bound_to_team else teams_above(place)
    for _, binding_id, role, team_id, project_id in rows:
        if team_id is not None and team_id in teams:
            found.append(Assignment(Role(role), "team", team_id, binding_id))
        elif project_id is not None and project_id == place.pk:
            found.append(Assignment(Role(role), "project", project_id, binding_id))
    return sorted(found, key=lambda one: -one.role.rank)


def administered_by(user: User, organisation: Organisation) -> set[UUID]:
    """Ids of the organisation, teams and projects in which the person was made an admin; what is below is not named."""
    whole = role_assignments(user, organisation)
    rows = RoleBinding.objects.filter(membership__user=user, membership__organisation=organisation, role=Role.ADMIN)
    found = {project or team for team, project in rows.values_list("team", "project")} if whole else set()
    return found | ({organisation.pk} if allows(whole, Role.ADMIN) else set())


def project_roles(user: User) -> dict[UUID, Role]:
    """The greatest role that bindings give in each project that they reach; at most three queries."""
    rows = RoleBinding.objects.filter(membership__user=user)
    if user.acting_token is not None:
        rows = rows.filter(membership__organisation=user.acting_token.organisation_id)
    held: defaultdict[UUID, list[Role]] = defaultdict(list)
    in_teams: defaultdict[UUID, list[Role]] = defaultdict(list)
    for role, team_id, project_id in rows.values_list("role", "team", "project"):
        (in_teams[team_id] if project_id is None else held[project_id]).append(Role(role))
    if in_teams:
        reached = list(Project.objects.filter(team__in=teams_below(rows.exclude(team=None).values("team"))))
        lines = Team.objects.lines_of({project.team_id for project in reached if project.team_id is not None})
        for project in reached:
            line = lines[project.team_id] if project.team_id is not None else ()
            held[project.pk] += [role for team in line for role in in_teams.get(team, [])]
    return {project: found for project, roles in held.items() if (found := greatest(roles)) is not None}


def allows(found: Iterable[Assignment], needed: Role) -> bool:
    """Whether one of the roles covers `needed`."""
    return any(one.role.covers(needed) for one in found)


def made_by(place: TenantNode, user: User) -> bool:
    """Whether the place is a project that the person made."""
    return isinstance(place, Project) and place.created_by_id is not None and place.created_by_id == user.pk


def bindings_in(place: Team | Project) -> Q:
    """Selects bindings that count in the place."""
    return Q(team__in=teams_above(place)) | Q(project=place.pk)


def above(owner: Team | Project) -> Organisation | Team:
    """Who divides a quota of which this is a part: the project's team, the team's parent, or the organisation."""
    team = owner.team if isinstance(owner, Project) else owner.parent
    return team or owner.organisation


def described(place: TenantNode) -> str:
    """In a sentence, such as: the project vision of A."""
    if isinstance(place, Organisation):
        return place.name
    return f"the {type(place).__name__.lower()} {place.name} of {place.organisation.name}"


def holders(place: TenantNode, needed: Role) -> QuerySet[Membership]:
    """Memberships of active people whose role in the place, or in what is above, covers `needed`."""
    roles = [role for role in Role if role.covers(needed)]
    counts = Q(role__in=roles)
    if isinstance(place, Organisation):
        organisation_id = place.pk
    else:
        organisation_id = place.organisation_id
        counts |= Q(pk__in=RoleBinding.objects.filter(bindings_in(place), role__in=roles).values("membership"))
    return Membership.objects.filter(counts, organisation=organisation_id, user__is_active=True)


def granting(place: TenantNode, needed: Role, *, asked_by: User) -> str:
    """The remedy: whom to ask for that role there, an admin of the place or of the organisation, with names of a few.

    Names are those that asked_by may know: an outsider of the organisation does not learn its people.
    """
    giving = Role.OWNER if needed is Role.OWNER else Role.ADMIN
    words = f"an {giving} of {place.name}"
    found = holders(place, giving)
    if not isinstance(place, Organisation):
        words += f" or of {place.organisation.name}"
        bound = RoleBinding.objects.filter(bindings_in(place)).values("membership")
        found = found.filter(Q(pk__in=Membership.objects.visible_to(asked_by).values("pk")) | Q(pk__in=bound))
    names = found.exclude(user=asked_by).order_by("user__username").values_list("user__username", flat=True)
    named = ", ".join(names[:MOST_NAMED])
    return f"Ask {words}{f' ({named})' if named else ''} for the role {needed} in {described(place)}."
