# SPDX-License-Identifier: Apache-2.0
"""Writes to limits of users within an organisation, a team or a project; versioned and audited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions.limits.quotas import Owner, checked_types
from mlhub.tenants.audit import record
from mlhub.tenants.models import Membership, Organisation, User, UserQuota
from mlhub.tenants.quota_terms.budgets import checked_budgets
from mlhub.tenants.roles import Role

COUNTS = ("max_gpus", "max_cpus", "max_memory_bytes", "max_running_jobs", "max_waiting_jobs", "max_storage_bytes")
LIMITS = (*COUNTS, "gpus_by_type", "budgets")


def limit_user(
    owner: Owner, user: User | None, *, version: int | None = None, actor: User, **changes: Any
) -> UserQuota:
    """Changes what one user may have of the owner; user: None = what each may have who has no limits of their own.

    What is left out stays as it is; the first limits of a person begin as those of every user. version: the one that
    the caller saw, 0 = there were none. For its admins. Raises NotAllowedError, InvalidInputError, and
    ConflictError when another admin changed them since.
    """
    organisation = _organisation_of(owner)
    require_role(actor, owner, Role.ADMIN)
    changes = _checked(owner, changes)
    if user is not None and not Membership.objects.filter(organisation=organisation, user=user).exists():
        raise InvalidInputError(
            f"{user.username} is no member of {organisation.name}.",
            field="username",
            remedy="Name a member; the page Members lists them.",
        )
    with transaction.atomic():
        Organisation.objects.select_for_update().get(pk=organisation.pk)
        row = UserQuota.objects.of(owner).filter(user=user).first()
        is_new = row is None
        row = row or _begun(owner, organisation, user)
        present = 0 if is_new else row.version
        if version is not None and version != present:
            raise _stale(row, present, version, {field: getattr(row, field) for field in changes}, changes)
        before = {field: getattr(row, field) for field in changes}
        if before == changes and not is_new:
            return row
        for field, value in changes.items():
            setattr(row, field, value)
        row.version = present + 1
        row.save()
        _record("user_quota.changed", row, actor, before=before, after=changes, version=row.version)
    return row


def supposed_user_quota(owner: Owner, user: User | None, *, actor: User, **changes: Any) -> UserQuota:
    """The limits as limit_user() would store them, never saved. For the owner's admins, as it is."""
    require_role(actor, owner, Role.ADMIN)
    found = _checked(owner, changes)
    row = UserQuota.objects.of(owner).filter(user=user).first() or _begun(owner, _organisation_of(owner), user)
    for field, value in found.items():
        setattr(row, field, value)
    return row


def remove_user_quota(row: UserQuota, *, version: int | None = None, actor: User) -> None:
    """Removes a person's own limits, so that those of every user hold again; or those of every user.

    Raises NotAllowedError, and ConflictError when another admin changed or removed them since.
    """
    require_role(actor, row.owner, Role.ADMIN)
    with transaction.atomic():
        Organisation.objects.select_for_update().get(pk=row.organisation_id)
        found = UserQuota.objects.filter(pk=row.pk).select_related("organisation", "team", "project", "user").first()
        if found is None or (version is not None and version != found.version):
            now = {field: getattr(found, field) for field in LIMITS} if found is not None else {}
            raise _stale(row, found.version if found is not None else 0, version or row.version, now, {})
        before = {field: getattr(found, field) for field in LIMITS}
        UserQuota.objects.filter(pk=row.pk).delete()
        _record("user_quota.removed", found, actor, before=before, after={})


def _begun(owner: Owner, organisation: Organisation, user: User | None) -> UserQuota:
    usual = UserQuota.objects.of(owner).filter(user=None).first()
    row = UserQuota(
        organisation=organisation,
        user=user,
        **({} if isinstance(owner, Organisation) else {type(owner).__name__.lower(): owner}),
    )
    for field in LIMITS if usual is not None else ():
        setattr(row, field, getattr(usual, field))
    return row


def _checked(owner: Owner, changes: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(changes)
    for field in found:
        if field not in LIMITS:
            raise InvalidInputError(f"There is no {field} here.", field=field, remedy=f"One of {', '.join(LIMITS)}.")
    for field in COUNTS:
        value = found.get(field)
        if value is not None and value < 0:
            raise InvalidInputError(f"{field} is {value}.", field=field, remedy="Give 0 or more, or null for no limit.")
    if found.get("max_storage_bytes") is not None and not isinstance(owner, Organisation):
        raise InvalidInputError(
            "Storage is counted for a whole organisation.",
            field="max_storage_bytes",
            remedy="Limit it in the organisation.",
        )
    if "budgets" in found:
        found["budgets"] = checked_budgets(found["budgets"])
    if "gpus_by_type" in found:
        found["gpus_by_type"] = checked_types(found["gpus_by_type"])
    return found


def _stale(
    row: UserQuota, present_version: int, seen: int, present: Mapping[str, Any], yours: Mapping[str, Any]
) -> ConflictError:
    return ConflictError(
        f"Another admin changed these limits meanwhile: you saw version {seen}, it is at {present_version}.",
        code="stale_version",
        field="version",
        remedy="Compare `present` with `yours`, and send your change with the present version, or leave it.",
        version=present_version,
        changed_at=row.updated_at,
        present=present,
        yours=yours,
    )


def _organisation_of(owner: Owner) -> Organisation:
    return owner if isinstance(owner, Organisation) else owner.organisation


def _record(kind: str, row: UserQuota, actor: User, **facts: Any) -> None:
    record(
        kind,
        organisation=row.organisation,
        subject_kind="quota",
        subject_id=row.owner.pk,
        actor=actor,
        owner=row.owner.name,
        owner_kind=type(row.owner).__name__.lower(),
        user=row.user.username if row.user else None,
        **facts,
    )
