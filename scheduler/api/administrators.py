# SPDX-License-Identifier: Apache-2.0
"""Whose admins can raise a limit, as a reason names them. Roles hold below where they are given, so the nearest tenant
that can and the one at the top are named: a team's own admins, and those of its organisation."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.api.snapshot import TenantSnapshot

PLATFORM = "the platform"


def admins_above(line: Sequence[TenantSnapshot]) -> str:
    """Returns whose admins can raise a limit of line[0], which its parents share out. line: a tenant and its parents,
    the nearest first.
    """
    return admins_within(line[1:])


def admins_within(line: Sequence[TenantSnapshot]) -> str:
    """Returns whose admins can raise what line[0] itself shares out, such as limits of single users."""
    if not line:
        return PLATFORM
    nearest, top = (tenant.name or tenant.id for tenant in (line[0], line[-1]))
    return nearest if len(line) == 1 else f"{nearest} or of {top}"
