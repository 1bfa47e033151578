# SPDX-License-Identifier: Apache-2.0
"""Roles within an organisation, each containing the one below it."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    OWNER = "owner"  # everything, members' roles and deletion included
    ADMIN = "admin"  # members, tokens of others, all members' jobs
    MEMBER = "member"  # uploads, submits, changes own jobs
    VIEWER = "viewer"  # reads

    def covers(self, other: Role) -> bool:
        """Whether this role may do what the other may."""
        order = [Role.VIEWER, Role.MEMBER, Role.ADMIN, Role.OWNER]
        return order.index(self) >= order.index(other)
