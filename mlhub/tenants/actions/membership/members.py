# SPDX-License-Identifier: Apache-2.0
"""Writes to memberships. An organisation that has an owner keeps one; only owners make owners or unmake them."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from mlhub.core.errors import ConflictError, InvalidInputError, NotAllowedError
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions.membership.role_bindings import SERVICE_ROLES, withdraw_all
from mlhub.tenants.audit import record
from mlhub.tenants.models import Membership, Organisation, User
from mlhub.tenants.roles import Role


def add_member(organisation: Organisation, *, username: str, role: Role, actor: User) -> Membership:
    """Without asking: for platform administrators, who know all users; others send invitations.

    Raises InvalidInputError for an unknown user, ConflictError for one who is a member already, NotAllowedError.
    """
    if not actor.is_staff:
        require_role(actor, organisation, needed_role(role))
        raise NotAllowedError(
            "Only administrators of the platform add members without asking them.",
            code="invitation_needed",
            remedy="Invite the person instead: POST /organisations/{id}/invitations.",
        )
    user = User.objects.filter(username=username, is_active=True, service_of=None).first()
    if user is None:
        raise InvalidInputError(
            f"There is no user {username}.",
            field="username",
            remedy="Check the spelling, or ask an administrator of the platform to create the account.",
        )
    try:
        with transaction.atomic():
            membership = Membership.objects.create(organisation=organisation, user=user, role=role)
            _record("membership.created", membership, actor, role=role)
    except IntegrityError as error:
        raise ConflictError(
            f"{username} belongs to {organisation.name} already.",
            code="already_member",
            field="username",
            remedy="Change the role of the membership instead.",
        ) from error
    return membership


def change_role(membership: Membership, *, role: Role, actor: User) -> Membership:
    """Raises NotAllowedError when the actor is below either role, ConflictError when no owner would remain."""
    require_role(actor, membership.organisation, needed_role(role, Role(membership.role)))
    if membership.user.service_of_id is not None and role not in SERVICE_ROLES:
        raise InvalidInputError(
            "A service account is a member, a submitter, a viewer or an outsider.",
            field="role",
            remedy="Give it the role member, and let a person do what needs a higher one.",
        )
    with transaction.atomic():
        membership = _locked(membership)
        before = membership.role
        if before == role:
            return membership
        if role is not Role.OWNER:
            _require_another_owner(membership)
        membership.role = role
        membership.save(update_fields=["role"])
        _record("membership.changed", membership, actor, before=before, role=role)
    return membership


def remove_member(membership: Membership, *, actor: User) -> None:
    """Members may leave; an admin removes others, an owner removes owners. Raises ConflictError for the last owner."""
    if membership.user_id != actor.id:
        require_role(actor, membership.organisation, needed_role(Role(membership.role)))
    if membership.user.service_of_id is not None:
        raise ConflictError(
            f"{membership.user.username} is a service account of {membership.organisation.name}.",
            code="service_account",
            remedy="Deactivate or delete the service account instead.",
        )
    with transaction.atomic():
        membership = _locked(membership)
        _require_another_owner(membership)
        withdraw_all(membership, actor=actor)
        Membership.objects.filter(pk=membership.pk).delete()
        _record("membership.removed", membership, actor, role=membership.role)


def needed_role(*roles: Role) -> Role:
    """Returns the role that one needs to give or to take these: only owners make owners."""
    return Role.OWNER if Role.OWNER in roles else Role.ADMIN


def _locked(membership: Membership) -> Membership:
    """The row as it is now; the organisation's row is held, so that two owners cannot leave at once."""
    Organisation.objects.select_for_update().get(pk=membership.organisation_id)
    fresh: Membership | None = (
        Membership.objects.select_related("organisation", "user").filter(pk=membership.pk).first()
    )
    if fresh is None:
        raise ConflictError("This membership was removed meanwhile.", code="removed")
    return fresh


def _require_another_owner(membership: Membership) -> None:
    if membership.role != Role.OWNER:
        return
    others = Membership.objects.filter(organisation=membership.organisation_id, role=Role.OWNER)
    if not others.exclude(pk=membership.pk).exists():
        raise ConflictError(
            f"{membership.user.username} is the last owner of {membership.organisation.name}.",
            code="last_owner",
            remedy="Make another member an owner first.",
        )


def _record(kind: str, membership: Membership, actor: User, **facts: object) -> None:
    record(
        kind,
        organisation=membership.organisation,
        subject_kind="membership",
        subject_id=membership.id,
        actor=actor,
        username=membership.user.username,
        user_id=membership.user_id,
        **{name: str(value) for name, value in facts.items()},
    )
