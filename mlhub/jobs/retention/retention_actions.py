# SPDX-License-Identifier: Apache-2.0
"""Writes to a project's rules of retention: versioned, audited, within the bounds of organisation and installation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from mlhub.core.dispatch import send_on_commit
from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.events.actions import append
from mlhub.jobs.models import ProjectRetention
from mlhub.jobs.retention.retention_bounds import Bound, BoundSide, RuleOwner
from mlhub.jobs.retention.retention_rules import KINDS, MOST_DAYS, installation_rule, organisation_rules
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import Organisation, Project, User
from mlhub.tenants.roles import Role

REMOVAL = ("mlhub.retention.tasks.remove_expired", "mlhub.jobs.tasks.collect_checkpoints")


def set_retention(
    project: Project, days: Mapping[str, float | None], *, version: int | None = None, actor: User
) -> ProjectRetention:
    """Changes how many days are kept, by kind: 0 = for good, None = by default. For admins.

    What is due by it is removed from then on. version: the one that the caller saw, 0 = there were no rules. Raises
    NotAllowedError, InvalidInputError, and ConflictError with both versions when another admin changed them since.
    """
    require_role(actor, project, Role.ADMIN)
    with transaction.atomic():
        Organisation.objects.select_for_update().get(pk=project.organisation_id)  # its bounds stay as they are checked
        Project.objects.select_for_update().get(pk=project.pk)
        check_days(days, project.organisation)
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
        begin_removal()
    return row


def begin_removal() -> None:
    """In a transaction: what is due is looked for at its end, and not only by the next periodic run."""
    for task in REMOVAL:
        send_on_commit(task)


def check_days(days: Mapping[str, Any], organisation: Organisation) -> None:
    """Raises InvalidInputError that names the kind for days that are none, or out of the bounds."""
    rules = organisation_rules(organisation)
    for kind, value in days.items():
        require_kind(kind)
        if value is None:
            continue
        if not 0 <= value <= MOST_DAYS:
            raise InvalidInputError(
                f"{kind} is {value}.",
                field=kind,
                remedy=f"Give days up to {MOST_DAYS:,.0f}; 0 for good, null as usual.",
            )
        bounds = (*(rules[kind].bounds if kind in rules else ()), *installation_rule(kind).bounds)
        for bound in bounds:
            if bound.is_passed_by(value or None):
                raise out_of_bound(bound, value, field=kind, kind=kind, organisation=organisation)


def require_kind(kind: str) -> None:
    """Raises InvalidInputError for a kind that is none."""
    if kind not in KINDS:
        raise InvalidInputError(f"There is no {kind} to keep.", field=kind, remedy=f"One of {', '.join(KINDS)}.")


def out_of_bound(bound: Bound, days: float, *, field: str, kind: str, organisation: Organisation) -> InvalidInputError:
    """Returns the refusal of days that are out of the bound: whose it is, and who can change it. days: 0 = for good."""
    is_least = bound.side is BoundSide.AT_LEAST
    kept = "for good" if days == 0 else f"for {days:g} days"
    by, who = f"the organisation {organisation.name}", "an owner or admin of it"
    what = f"its bound on the page Retention of {organisation.name}"
    if bound.owner is RuleOwner.INSTALLATION:
        by, who = "this installation", "a platform administrator"
        what = "MLHUB_RETENTION_LEAST_DAYS" if is_least else "MLHUB_RETENTION_MOST_DAYS"
    return InvalidInputError(
        f"{kind} would be kept {kept}, and {by} keeps at {'least' if is_least else 'most'} {bound.days:g} days.",
        field=field,
        remedy=f"Give {'more' if is_least else 'fewer'}, or ask {who} to {'lower' if is_least else 'raise'} {what}.",
        bound={"owner": bound.owner, "side": bound.side, "days": bound.days},
    )
