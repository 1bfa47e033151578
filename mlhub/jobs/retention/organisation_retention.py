# SPDX-License-Identifier: Apache-2.0
"""Writes to an organisation's bounds and defaults of retention, which hold for all its projects; versioned, audited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.events.actions import append
from mlhub.jobs.models import OrganisationRetention
from mlhub.jobs.retention.retention_actions import begin_removal, out_of_bound, require_kind
from mlhub.jobs.retention.retention_bounds import BoundSide, OrganisationRule
from mlhub.jobs.retention.retention_rules import MOST_DAYS, installation_rule
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import Organisation, User
from mlhub.tenants.roles import Role

FIELDS = ("least_days", "most_days", "default_days")
Changes = Mapping[str, Mapping[str, float | None]]  # by kind and field; None = says nothing


def set_organisation_retention(
    organisation: Organisation, changes: Changes, *, version: int | None = None, actor: User
) -> OrganisationRetention:
    """Changes bounds and defaults, by kind and field; what is left out stays. For admins of the organisation.

    Projects' rules stay as they are, and hold within the bounds. version: the one that the caller saw, 0 = there was
    nothing. Raises NotAllowedError, InvalidInputError, and ConflictError when another admin changed them since.
    """
    require_role(actor, organisation, Role.ADMIN)
    with transaction.atomic():
        Organisation.objects.select_for_update().get(pk=organisation.pk)
        row = OrganisationRetention.objects.filter(organisation=organisation).first()
        present = row.version if row is not None else 0
        held: dict[str, Any] = row.rules if row is not None else {}
        before = {kind: {field: held.get(kind, {}).get(field) for field in given} for kind, given in changes.items()}
        if version is not None and version != present:
            raise ConflictError(
                f"Another admin changed these bounds meanwhile: you saw version {version}, they are at {present}.",
                code="stale_version",
                field="version",
                remedy="Compare `present` with `yours`, and send your change with the present version, or leave it.",
                version=present,
                present=_flat(before),
                yours=_flat(changes),
            )
        rules = merged(held, changes, organisation)
        row = row or OrganisationRetention(organisation=organisation)
        if rules == held:
            return row
        row.rules, row.version = rules, present + 1
        row.save()
        append(
            "organisation.retention_changed",
            organisation=organisation,
            subject_kind="organisation",
            subject_id=organisation.pk,
            actor=actor,
            name=organisation.name,
            before=_flat(before),
            after=_flat(changes),
            version=row.version,
        )
        begin_removal()
    return row


def merged(held: Mapping[str, Any], changes: Changes, organisation: Organisation) -> dict[str, Any]:
    """Returns the rules as they would be. Raises InvalidInputError that names what makes no sense."""
    rules = {kind: dict(stored) for kind, stored in held.items()}
    for kind, given in changes.items():
        require_kind(kind)
        for field, value in given.items():
            _check_value(kind, field, value)
        both = {**rules.get(kind, {}), **given}
        # a bound of 0 days is none; a default of 0 is for good
        rules[kind] = {
            field: float(value)
            for field, value in both.items()
            if value is not None and (value or field == "default_days")
        }
        _check_together(kind, OrganisationRule.read(rules[kind]), given, organisation)
    return {kind: stored for kind, stored in rules.items() if stored}


def _check_value(kind: str, field: str, value: float | None) -> None:
    if field not in FIELDS:
        raise InvalidInputError(
            f"There is no {field} of {kind}.", field=f"{kind}.{field}", remedy=f"One of {', '.join(FIELDS)}."
        )
    if value is not None and not 0 <= value <= MOST_DAYS:
        raise InvalidInputError(
            f"{field} of {kind} is {value}.",
            field=f"{kind}.{field}",
            remedy=f"Give days up to {MOST_DAYS:,.0f}; null for none.",
        )


def _check_together(
    kind: str, rule: OrganisationRule, given: Mapping[str, float | None], organisation: Organisation
) -> None:
    if rule.least_days and rule.most_days and rule.least_days > rule.most_days:
        field = "least_days" if "least_days" in given else "most_days"
        raise InvalidInputError(
            f"{kind} would be kept at least {rule.least_days:g} days and at most {rule.most_days:g}.",
            field=f"{kind}.{field}",
            remedy="Give a least_days that is no more than most_days.",
        )
    installation = installation_rule(kind).bounds
    not_above = tuple(bound for bound in installation if bound.side is BoundSide.AT_MOST)
    not_below = tuple(bound for bound in installation if bound.side is BoundSide.AT_LEAST)
    for field, value, bounds in (
        ("least_days", rule.least_days, not_above),
        ("most_days", rule.most_days, not_below),
        ("default_days", rule.default_days, (*rule.bounds, *installation)),
    ):
        passed = None if value is None else next((one for one in bounds if one.is_passed_by(value or None)), None)
        if passed is not None:
            raise out_of_bound(passed, value or 0.0, field=f"{kind}.{field}", kind=kind, organisation=organisation)


def _flat(rules: Changes) -> dict[str, float | None]:
    return {f"{kind}.{field}": value for kind, given in rules.items() for field, value in given.items()}
