# SPDX-License-Identifier: Apache-2.0
"""Invitations: a person joins an organisation only by accepting, and inviting does not show who has an account."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from mlhub.core.errors import ConflictError
from mlhub.tenants.access_control.permissions import require_role, role_of
from mlhub.tenants.actions.membership.members import needed_role
from mlhub.tenants.audit import record
from mlhub.tenants.models import Invitation, Membership, Organisation, User
from mlhub.tenants.querysets import InvitationQuerySet
from mlhub.tenants.roles import Role

LIFETIME = timedelta(days=14)


def invite(organisation: Organisation, *, username: str, role: Role, actor: User) -> Invitation:
    """Invites the person who has or will have an account of this name. An earlier invitation of the name is replaced.

    Raises NotAllowedError, and ConflictError for one who is a member, which the actor can see anyway.
    """
    require_role(actor, organisation, needed_role(role))
    if organisation.memberships.filter(user__username=username).exists():
        raise ConflictError(
            f"{username} belongs to {organisation.name} already.",
            code="already_member",
            field="username",
            remedy="Change the role of the membership instead.",
        )
    with transaction.atomic():
        Organisation.objects.select_for_update().get(pk=organisation.pk)  # two invitations of one name wait in line
        Invitation.objects.filter(organisation=organisation, username=username, answer="").update(answer="withdrawn")
        invitation: Invitation = Invitation.objects.create(
            organisation=organisation,
            username=username,
            role=role,
            invited_by=actor,
            expires_at=timezone.now() + LIFETIME,
        )
        record_invitation("invitation.created", invitation, actor)
    return invitation


def withdraw_invitation(invitation: Invitation, *, actor: User) -> None:
    """Withdrawing twice is withdrawing once. Raises NotAllowedError."""
    require_role(actor, invitation.organisation, needed_role(Role(invitation.role)))
    with transaction.atomic():
        if Invitation.objects.filter(pk=invitation.pk, answer="").update(answer="withdrawn"):
            record_invitation("invitation.withdrawn", invitation, actor)


def answer_invitation(invitation: Invitation, *, is_accepted: bool, actor: User) -> Membership | None:
    """The membership that follows from accepting; None when it is declined.

    invitation: one of Invitation.objects.to_user(actor). Raises ConflictError when it was answered or withdrawn
    meanwhile, or when the person who sent it may not invite any more.
    """
    mine = Invitation.objects.to_user(actor)
    if is_accepted:
        return accept(invitation, mine, actor=actor)
    with transaction.atomic():
        _answer(invitation, mine, "declined", actor)
    return None


def accept(invitation: Invitation, answerable: InvitationQuerySet, *, actor: User) -> Membership:
    """answerable: the invitations that the actor may answer now. Raises ConflictError as answer_invitation does."""
    with transaction.atomic():
        Organisation.objects.select_for_update().get(pk=invitation.organisation_id)
        _require_valid(invitation)
        _answer(invitation, answerable, "accepted", actor)
        return _join(invitation, actor)


def _answer(invitation: Invitation, answerable: InvitationQuerySet, answer: str, actor: User) -> None:
    if not answerable.filter(pk=invitation.pk).update(answer=answer):
        raise ConflictError("This invitation was answered or withdrawn meanwhile.", code="answered")
    record_invitation(f"invitation.{answer}", invitation, actor)


def _join(invitation: Invitation, user: User) -> Membership:
    """A membership that was made meanwhile stays as it is."""
    membership, is_new = Membership.objects.get_or_create(
        user=user, organisation=invitation.organisation, defaults={"role": invitation.role}
    )
    if is_new:
        record(
            "membership.created",
            organisation=invitation.organisation,
            subject_kind="membership",
            subject_id=membership.id,
            actor=user,
            username=user.username,
            user_id=user.pk,
            role=invitation.role,
        )
    return membership


def _require_valid(invitation: Invitation) -> None:
    sender = invitation.invited_by
    role = role_of(sender, invitation.organisation) if sender is not None and sender.is_active else None
    if role is None or not role.covers(needed_role(Role(invitation.role))):
        raise ConflictError(
            "The person who sent this invitation may not invite any more.",
            code="sender_lost_role",
            remedy=f"Ask {invitation.organisation.name} for a new one.",
        )


def record_invitation(kind: str, invitation: Invitation, actor: User) -> None:
    record(
        kind,
        organisation=invitation.organisation,
        subject_kind="invitation",
        subject_id=invitation.id,
        actor=actor,
        role=invitation.role,
        **({"username": invitation.username} if invitation.username else {"by": "link", "email": invitation.email}),
    )
