# SPDX-License-Identifier: Apache-2.0
"""Invitations by link: the person who has the link joins with an account, or makes one; a link works once.

Only the SHA-256 of the link's secret is stored.
"""

from __future__ import annotations

import secrets

from django.conf import settings
from django.contrib import auth
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from mlhub.core.errors import ConflictError, NotAllowedError
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions.membership import invitations
from mlhub.tenants.actions.membership.members import needed_role
from mlhub.tenants.actions.sign_in.accounts import create_account
from mlhub.tenants.actions.sign_in.password_sign_in import passwords_are_off
from mlhub.tenants.mail import Mail, send_mail_on_commit
from mlhub.tenants.models import Invitation, Organisation, User
from mlhub.tenants.roles import Role
from mlhub.tenants.sign_in.authentication import hash_token

BACKEND = "django.contrib.auth.backends.ModelBackend"
TEXT = """{sender} invites you to {organisation} on MLHub, as {role}.

Accept or ignore it here, until {until:%Y-%m-%d %H:%M} UTC; the link works once:
{link}
"""


def invite_by_link(organisation: Organisation, *, role: Role, email: str, actor: User) -> tuple[Invitation, str, Mail]:
    """The invitation, its link, which cannot be shown again, and the mail to the address when there is one.

    Raises NotAllowedError for an actor whose role does not cover the one that is offered.
    """
    require_role(actor, organisation, needed_role(role))
    secret = secrets.token_urlsafe(32)
    link = f"{settings.PUBLIC_URL}/join#{secret}"
    with transaction.atomic():
        invitation: Invitation = Invitation.objects.create(
            organisation=organisation,
            role=role,
            email=email,
            link_hash=hash_token(secret),
            invited_by=actor,
            expires_at=timezone.now() + invitations.LIFETIME,
        )
        invitations.record_invitation("invitation.created", invitation, actor)
        mail = Mail()
        if email:
            text = TEXT.format(
                sender=actor.username, organisation=organisation.name, role=role, until=invitation.expires_at, link=link
            )
            mail = send_mail_on_commit(email, subject=f"Invitation to {organisation.name} on MLHub", text=text)
    return invitation, link, mail


def read_link(secret: str) -> Invitation:
    """What the link offers. Raises NotAllowedError for a link that was used, withdrawn, or has expired."""
    found: Invitation | None = _waiting(secret).select_related("organisation", "invited_by").first()
    if found is None:
        raise NotAllowedError(
            "This invitation was used, was withdrawn, or has expired.",
            code="link_void",
            remedy="Ask the person who sent it for a new one.",
        )
    return found


def accept_link(request: HttpRequest, *, secret: str, user: User | None, username: str, password: str) -> User:
    """Joins with the account of the session; without one makes the account and signs it in.

    Raises NotAllowedError for a void link, ConflictError when the account's name is taken or when the person who sent
    the invitation may not invite any more, InvalidInputError for a weak password. Where passwords are off, people sign
    in before they join.
    """
    if user is None and settings.PASSWORD_USERS is not None:
        raise passwords_are_off()
    with transaction.atomic():
        invitation = read_link(secret)
        Organisation.objects.select_for_update().get(pk=invitation.organisation_id)  # before the lock of events
        joining = user or create_account(username, password=password, email=invitation.email, actor=None)
        if user is None:
            _require_no_invitation_of(joining.username)
        invitations.accept(invitation, _waiting(secret), actor=joining)
        if user is None:
            auth.login(request, joining, backend=BACKEND)
    return joining


def _require_no_invitation_of(username: str) -> None:
    """A name to which another organisation offers something is not free: who takes it could accept that offer."""
    if Invitation.objects.waiting().filter(username=username).exists():
        raise ConflictError(
            f"There is already a user {username}.", code="name_taken", field="username", remedy="Choose another name."
        )


def _waiting(secret: str) -> invitations.InvitationQuerySet:
    rows: invitations.InvitationQuerySet = Invitation.objects.waiting().filter(link_hash=hash_token(secret))
    return rows
