# SPDX-License-Identifier: Apache-2.0
"""Proving who one is: signing in and out with a session, making and revoking API tokens."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import timedelta

from django.contrib import auth
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from mlhub.core.errors import InvalidInputError
from mlhub.tenants.actions.sign_in.lock import refuse_if_locked
from mlhub.tenants.actions.sign_in.password_sign_in import is_password_name, may_use_password, passwords_are_off
from mlhub.tenants.actions.sign_in.second_factor import require_second_factor
from mlhub.tenants.audit import record
from mlhub.tenants.models import ApiToken, Organisation, Project, User
from mlhub.tenants.passkeys.ceremonies import Assertion
from mlhub.tenants.sign_in.authentication import TOKEN_PREFIX, hash_token

SCOPES = ("read", "submit", "write", "admin")


def sign_in(
    request: HttpRequest, *, username: str, password: str, code: str = "", passkey: Assertion | None = None
) -> User | None:
    """Starts a session. None when name and password do not belong together.

    code, passkey: the second factor, where there is one. Raises TooManyAttemptsError while this name is locked for this
    address after repeated failures, NotAllowedError where passwords are off, and what require_second_factor raises.
    """
    if not is_password_name(username):
        raise passwords_are_off()
    user = check_credentials(request, username=username, password=password)
    if user is None:
        return None
    if not may_use_password(user):
        raise passwords_are_off()
    require_second_factor(request, user, code, passkey)
    auth.login(request, user)
    return user


def check_credentials(request: HttpRequest, *, username: str, password: str) -> User | None:
    """The account of this name and password; failures count towards the lock. Raises TooManyAttemptsError."""
    user: User | None = auth.authenticate(request, username=username, password=password)
    refuse_if_locked(request)
    return user


def sign_out(request: HttpRequest) -> None:
    auth.logout(request)


def create_token(
    user: User,
    *,
    name: str,
    scopes: Sequence[str],
    expires_in_days: int | None,
    organisation: Organisation | None = None,
    project: Project | None = None,
    actor: User | None = None,
) -> tuple[ApiToken, str]:
    """The row and the secret, which is not stored and cannot be shown again.

    actor: who makes it; None = its user. expires_in_days: None = until revoked. organisation, project: what alone the
    token reaches; None = no limit.
    Raises InvalidInputError for "admin" asked by who is no administrator or with a limit, and for a limit to an
    organisation of which the user is no member.
    """
    organisation = project.organisation if project is not None else organisation
    if organisation is not None:
        _require_possible_limit(user, organisation, scopes)
    if "admin" in scopes and not user.is_staff:
        raise InvalidInputError(
            "The scope admin is for administrators of the platform.",
            field="scopes",
            remedy='Ask for "read" and "write" only.',
        )
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    expires_at = None if expires_in_days is None else timezone.now() + timedelta(days=expires_in_days)
    with transaction.atomic():
        row = ApiToken.objects.create(
            user=user,
            name=name,
            prefix=token[:12],
            token_hash=hash_token(token, is_limited=organisation is not None),
            scopes=[scope for scope in SCOPES if scope in scopes],
            expires_at=expires_at,
            organisation=organisation,
            project=project,
        )
        _record("token.created", row, actor or user)
    return row, token


def revoke_token(token: ApiToken, *, actor: User) -> None:
    """From now on the token opens nothing. Revoking twice is revoking once."""
    with transaction.atomic():
        if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
            _record("token.revoked", token, actor)


def _require_possible_limit(user: User, organisation: Organisation, scopes: Sequence[str]) -> None:
    if "admin" in scopes:
        raise InvalidInputError(
            "A token with the scope admin reaches the whole platform.",
            field="scopes",
            remedy="Leave the scope admin out, or the limit.",
        )
    if not user.memberships.filter(organisation=organisation).exists():
        raise InvalidInputError(
            f"You are no member of {organisation.name}: such a token would reach nothing.",
            field="organisation",
            remedy="Name an organisation that you are a member of, or a project of one.",
        )


def _record(kind: str, token: ApiToken, actor: User) -> None:
    """Events of a person's tokens belong to no organisation; those of a service account's belong to its own."""
    record(
        kind,
        organisation=token.user.service_of,
        subject_kind="api_token",
        subject_id=token.id,
        actor=actor,
        name=token.name,
        scopes=token.scopes,
        limit=str(token.project or token.organisation or ""),
        username=token.user.username,
        user_id=token.user_id,
    )
