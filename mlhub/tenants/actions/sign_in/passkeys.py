# SPDX-License-Identifier: Apache-2.0
"""Passkeys of an account: added, renamed and removed by its owner, who signs in with them.

Where there was no second factor, the first passkey is one, and comes with recovery codes.
"""

from __future__ import annotations

from typing import Any

from django.contrib import auth
from django.db import transaction
from django.http import HttpRequest

from mlhub.core.errors import ConflictError
from mlhub.core.locks import lock_until_commit
from mlhub.tenants.actions.sign_in.passkey_proofs import accept_passkey
from mlhub.tenants.actions.sign_in.password_sign_in import has_password
from mlhub.tenants.actions.sign_in.second_factor import (
    drop_useless_codes,
    has_second_factor,
    remove_app,
    renew_recovery_codes,
)
from mlhub.tenants.actions.sign_in.security_notices import notify_owner
from mlhub.tenants.actions.sign_in.sessions import end_sessions
from mlhub.tenants.audit import record
from mlhub.tenants.models import Passkey, SignInMethod, User
from mlhub.tenants.passkeys.ceremonies import Assertion, encoded_id, finish_creation
from mlhub.tenants.sign_in.authentication import METHOD

MAX_PASSKEYS = 20  # of an account
BACKEND = "django.contrib.auth.backends.ModelBackend"


def require_room(user: User) -> None:
    """Raises ConflictError for an account with as many passkeys as there may be."""
    if user.passkeys.count() >= MAX_PASSKEYS:
        raise ConflictError(
            f"Your account has {MAX_PASSKEYS} passkeys, the most that there may be.",
            code="too_many_passkeys",
            remedy="Remove one that you do not use.",
            limit=MAX_PASSKEYS,
        )


def add_passkey(
    request: HttpRequest, user: User, *, name: str, attestation: str, client_data: str
) -> tuple[Passkey, list[str]]:
    """The passkey that the browser made, and recovery codes if it is the account's first second factor; then other
    sessions end. The caller made sure that it is the owner when this was begun.

    Raises InvalidInputError for an answer to something else, ConflictError for one passkey too many or twice.
    """
    credential, made = finish_creation(request, user, attestation=attestation, client_data=client_data)
    with transaction.atomic():
        lock_until_commit(f"passkeys {user.pk}")
        require_room(user)
        is_first_factor = not has_second_factor(user)
        passkey, is_new = Passkey.objects.get_or_create(
            credential_id=encoded_id(credential),
            defaults={
                "user": user,
                "name": name,
                "credential": bytes(credential),
                "counter": made.counter,
                "is_synced": made.is_backed_up(),
            },
        )
        if not is_new:
            raise ConflictError(
                "This passkey was added already.", code="passkey_exists", remedy="Sign in with it, or make another one."
            )
        _record("user.passkey_added", passkey, user)
        codes = renew_recovery_codes(user) if is_first_factor else []
        if is_first_factor:
            end_sessions(user, actor=user, keep=request.session.session_key)
    return passkey, codes


def rename_passkey(passkey: Passkey, *, name: str) -> Passkey:
    """By its owner."""
    before = passkey.name
    if name != before:
        with transaction.atomic():
            passkey.name = name
            passkey.save(update_fields=["name"])
            _record("user.passkey_renamed", passkey, passkey.user, before=before)
    return passkey


def remove_passkey(passkey: Passkey, *, keep_session: str | None) -> None:
    """It opens nothing from now on, and the account's other sessions end: they may be of another person who had it.

    The caller made sure that it is the owner. Raises ConflictError for an account that could not be entered afterwards.
    """
    user = passkey.user
    with transaction.atomic():
        lock_until_commit(f"passkeys {user.pk}")
        others = user.passkeys.exclude(pk=passkey.pk)
        if not (others.exists() or has_password(user) or user.identities.exists()):
            raise ConflictError(
                "Without this passkey you could not sign in any more.",
                code="only_way_in",
                remedy="Add another passkey first.",
            )
        _remove([passkey], user, actor=user)
        drop_useless_codes(user)
        end_sessions(user, actor=user, keep=keep_session)


def reset_second_factor(user: User, *, actor: User) -> None:
    """Removes app, passkeys and recovery codes of who has lost them, by an administrator of the platform."""
    with transaction.atomic():
        lock_until_commit(f"passkeys {user.pk}")
        _remove(list(user.passkeys.all()), user, actor=actor)
        remove_app(user, actor=actor)


def sign_in_by_passkey(request: HttpRequest, assertion: Assertion) -> User:
    """Starts a session; a passkey is both factors. Raises what accept_passkey raises."""
    user = accept_passkey(request, assertion)
    setattr(request, METHOD, str(SignInMethod.PASSKEY))
    auth.login(request, user, backend=BACKEND)
    return user


def _remove(passkeys: list[Passkey], user: User, *, actor: User) -> None:
    for passkey in passkeys:
        _record("user.passkey_removed", passkey, actor)
    user.passkeys.filter(pk__in=[passkey.pk for passkey in passkeys]).delete()


def _record(kind: str, passkey: Passkey, actor: User, **facts: Any) -> None:
    user = passkey.user
    facts = {"username": user.username, "user_id": user.pk, "name": passkey.name, **facts}
    record(kind, organisation=None, subject_kind="user", subject_id=user.pk, actor=actor, **facts)
    notify_owner(kind, user, actor=actor, name=passkey.name)
