# SPDX-License-Identifier: Apache-2.0
"""Writes to a project's rules of retention: versioned, audited, within the installation's bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.events.actions import append
from mlhub.jobs.models import ProjectRetention
from mlhub.jobs.retention_rules import KINDS, MOST_DAYS, bounds
from mlhub.tenants.models import Project, User
from mlhub.tenants.permissions import require_role
from mlhub.tenants.roles import Role


def set_retention(
    project: Project, days: Mapping[str, float | None], *, version: int | None = None, actor: User
) -> ProjectRetention:
    """Changes how many days are kept, by kind: 0 = for good, None = as the installation has it. For admins.

    What is due by it is removed by the next runs. version: the one that the caller saw, 0 = there were no rules. Raises
    NotAllowedError, InvalidInputError, and ConflictError with both versions when another admin changed them since.
    """
    require_role(actor, project.organisation, Role.ADMIN)
    check_days(days)
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        row = ProjectRetention.objects.filter(project=project).first()
        present = row.version if row is not None else 0
        held: dict[str, float] = row.days if row is not None else {}
        before = {kind: held.get(kind) for kind in days}
        if version is not None and version != present:
            raise ConflictError(
                f"Another admin changed these rules meanwhile: you saw version {version}, they are at {present}.",
                code="stale_version",
                field="version",
                remedy="Compare `present` with `yours`, and send your change with the present version, or leave it.",
                version=present,
                present=before,
                yours=dict(days),
            )
        row = row or ProjectRetention(project=project)
        if before == dict(days):
            return row
        row.days = {kind: value for kind, value in {**held, **days}.items() if value is not None}
        row.version = present + 1
        row.save()
        append(
            "project.retention_changed",
            organisation=project.organisation,
            subject_kind="project",
            subject_id=project.pk,
            actor=actor,
            name=project.name,
            before=before,
            after=dict(days),
            version=row.version,
        )
    return row


def check_days(days: Mapping[str, Any]) -> None:
    """Raises InvalidInputError that names the kind for days that are none, or out of the installation's bounds."""
    least, most = bounds()
    for kind, value in days.items():
        if kind not in KINDS:
            raise InvalidInputError(f"There is no {kind} to keep.", field=kind, remedy=f"One of {', '.join(KINDS)}.")
        if value is None:
            continue
        if not 0 <= value <= MOST_DAYS:
            raise InvalidInputError(
                f"{kind} is {value}.", field=kind, remedy=f"Give days up to {MOST_DAYS:g}; 0 for good, null as usual."
            )
        if 0 < value < least:
            raise InvalidInputError(
                f"{kind} would be kept for {value:g} days, and this installation keeps at least {least:g}.",
                field=kind,
                remedy="Give more, or ask a platform administrator to lower MLHUB_RETENTION_LEAST_DAYS.",
            )
        if most is not None and (value == 0 or value > most):
            kept = "for good" if value == 0 else f"for {value:g} days"
            raise InvalidInputError(
                f"{kind} would be kept {kept}, and this installation keeps at most {most:g} days.",
                field=kind,
                remedy="Give fewer, or ask a platform administrator to raise MLHUB_RETENTION_MOST_DAYS.",
            )
