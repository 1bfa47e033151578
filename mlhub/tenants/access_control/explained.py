# SPDX-License-Identifier: Apache-2.0
"""Why can, or can't, a person do this here: each action of a place, the role that it needs, and who gives that role."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mlhub.tenants.access_control.assignments import (
    Assignment,
    TenantNode,
    above,
    allows,
    described,
    granting,
    made_by,
    role_assignments,
)
from mlhub.tenants.models import Organisation, Team, User
from mlhub.tenants.roles import Role


class TenantAction(StrEnum):
    READ = "read"  # jobs, data and models
    SUBMIT = "submit"  # jobs; change and delete one's own
    UPLOAD = "upload"  # data and models; change and delete one's own
    CREATE_PROJECTS = "create_projects"
    CHANGE_OTHERS = "change_others"  # jobs, data and models of others
    CHANGE_OWN_PROJECT = "change_own_project"  # name, and deletion while it is empty, by who made it
    CHANGE_SETTINGS = "change_settings"  # name, archive, retention, deletion
    REQUEST_QUOTA = "request_quota"  # for the place
    LIMIT_USERS = "limit_users"  # within the quota
    ASSIGN_ROLES = "assign_roles"
    INVITE = "invite"  # and remove people
    MANAGE_TEAMS = "manage_teams"
    SHARE_QUOTA = "share_quota"  # among what is below
    CHANGE_QUOTA = "change_quota"  # its own
    SEE_ORIGINS = "see_origins"  # from where things were done, in the audit
    CREATE_ORGANISATIONS = "create_organisations"
    DRAIN_NODES = "drain_nodes"


OF_PROJECT = {
    TenantAction.READ: Role.VIEWER,
    TenantAction.SUBMIT: Role.SUBMITTER,
    TenantAction.UPLOAD: Role.MEMBER,
    TenantAction.REQUEST_QUOTA: Role.SUBMITTER,
    TenantAction.CHANGE_OTHERS: Role.ADMIN,
    TenantAction.CHANGE_OWN_PROJECT: Role.ADMIN,
    TenantAction.CHANGE_SETTINGS: Role.ADMIN,
    TenantAction.LIMIT_USERS: Role.ADMIN,
    TenantAction.ASSIGN_ROLES: Role.ADMIN,
}
OF_TEAM = {
    TenantAction.READ: Role.VIEWER,
    TenantAction.SUBMIT: Role.SUBMITTER,
    TenantAction.UPLOAD: Role.MEMBER,
    TenantAction.REQUEST_QUOTA: Role.SUBMITTER,
    TenantAction.CREATE_PROJECTS: Role.MEMBER,
    TenantAction.CHANGE_OTHERS: Role.ADMIN,
    TenantAction.CHANGE_SETTINGS: Role.ADMIN,
    TenantAction.SHARE_QUOTA: Role.ADMIN,
    TenantAction.LIMIT_USERS: Role.ADMIN,
    TenantAction.ASSIGN_ROLES: Role.ADMIN,
}
OF_ORGANISATION = {
    TenantAction.READ: Role.VIEWER,
    TenantAction.SEE_ORIGINS: Role.AUDITOR,
    TenantAction.SUBMIT: Role.SUBMITTER,
    TenantAction.UPLOAD: Role.MEMBER,
    TenantAction.REQUEST_QUOTA: Role.SUBMITTER,
    TenantAction.CREATE_PROJECTS: Role.MEMBER,
    TenantAction.CHANGE_OTHERS: Role.ADMIN,
    TenantAction.INVITE: Role.ADMIN,
    TenantAction.MANAGE_TEAMS: Role.ADMIN,
    TenantAction.ASSIGN_ROLES: Role.ADMIN,
    TenantAction.SHARE_QUOTA: Role.ADMIN,
    TenantAction.LIMIT_USERS: Role.ADMIN,
    TenantAction.CHANGE_SETTINGS: Role.OWNER,
}
OF_ADMINISTRATORS = (TenantAction.CHANGE_QUOTA, TenantAction.CREATE_ORGANISATIONS, TenantAction.DRAIN_NODES)


@dataclass(frozen=True)
class ActionAnswer:
    """needed_role: in what `place` names; None = administrators of the platform only. remedy: "" if it is allowed."""

    action: TenantAction
    is_allowed: bool
    needed_role: Role | None
    place: str
    remedy: str


@dataclass(frozen=True)
class Permissions:
    """assignments: the roles that count, the greatest first; none of a person without any."""

    assignments: list[Assignment]
    answers: list[ActionAnswer]


def permissions_of(user: User, place: TenantNode) -> Permissions:
    """What the person may do in the place and why. A handful of queries, and two for each place with a remedy."""
    held = role_assignments(user, place)
    if isinstance(place, Organisation):
        needed, within = OF_ORGANISATION, held
    else:
        needed, within = (OF_TEAM if isinstance(place, Team) else OF_PROJECT), role_assignments(user, above(place))
    if made_by(place, user):
        needed = {**needed, TenantAction.CHANGE_OWN_PROJECT: Role.MEMBER}
    answers = _answers(user, place, needed, held)
    if isinstance(place, Organisation):
        answers += [_of_administrators(action, user, place) for action in OF_ADMINISTRATORS]
    else:
        answers += _answers(user, above(place), {TenantAction.CHANGE_QUOTA: Role.ADMIN}, within)
    return Permissions(held, answers)


def _answers(
    user: User, place: TenantNode, needed: dict[TenantAction, Role], held: list[Assignment]
) -> list[ActionAnswer]:
    remedies: dict[Role, str] = {}
    found = []
    for action, role in needed.items():
        is_allowed = allows(held, role)
        if not is_allowed and role not in remedies:
            remedies[role] = granting(place, role, asked_by=user)
        found.append(ActionAnswer(action, is_allowed, role, described(place), "" if is_allowed else remedies[role]))
    return found


def _of_administrators(action: TenantAction, user: User, place: Organisation) -> ActionAnswer:
    remedy = "Ask an administrator of the platform."
    if action is TenantAction.CHANGE_QUOTA:
        remedy = "Request it on the page Quotas, which administrators of the platform answer."
    return ActionAnswer(action, user.is_staff, None, place.name, "" if user.is_staff else remedy)
