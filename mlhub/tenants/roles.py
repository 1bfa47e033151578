# SPDX-License-Identifier: Apache-2.0
"""Roles in an organisation, a team or a project: what each may do, and which of several counts."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """The greatest first."""

    OWNER = "owner"  # everything, members' roles and deletion included
    ADMIN = "admin"  # members, tokens of others, all members' jobs
    MEMBER = "member"  # uploads, makes projects, submits, changes what is one's own
    SUBMITTER = "submitter"  # submits jobs of the data and models that are there, changes own jobs
    AUDITOR = "auditor"  # reads, also from where things were done
    VIEWER = "viewer"  # reads
    OUTSIDER = "outsider"  # of an organisation alone: only what a role in a team or a project gives

    def covers(self, other: Role) -> bool:
        """Whether this role may do what the other may. Members and submitters are no auditors, and auditors neither."""
        return other in _COVERED[self]

    @property
    def rank(self) -> int:
        """Greater for a greater role."""
        return -list(Role).index(self)


_READS = frozenset({Role.VIEWER, Role.OUTSIDER})
_COVERED: dict[Role, frozenset[Role]] = {
    Role.OWNER: frozenset(Role),
    Role.ADMIN: frozenset(Role) - {Role.OWNER},
    Role.MEMBER: _READS | {Role.MEMBER, Role.SUBMITTER},
    Role.SUBMITTER: _READS | {Role.SUBMITTER},
    Role.AUDITOR: _READS | {Role.AUDITOR},
    Role.VIEWER: _READS,
    Role.OUTSIDER: frozenset({Role.OUTSIDER}),
}

# in an organisation these see all of it
SEES_ALL = tuple(role for role in Role if role.covers(Role.VIEWER))

# that a person can hold in a team or a project; service accounts up to member, as in their organisation
BINDABLE = (Role.ADMIN, Role.MEMBER, Role.SUBMITTER, Role.VIEWER)


def greatest(roles: list[Role]) -> Role | None:
    """The one to name; None of none."""
    return max(roles, key=lambda role: role.rank, default=None)
