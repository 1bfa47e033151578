# SPDX-License-Identifier: Apache-2.0
"""Accepting what a passkey signed. As its device has verified the person, it stands for both factors.

Failures are in the audit and lock no one out: a signature cannot be guessed, and strangers could lock others.
"""

from __future__ import annotations

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from mlhub.core.errors import DomainError, InvalidInputError, NotAllowedError
from mlhub.tenants.actions.sign_in.password_sign_in import may_use_password
from mlhub.tenants.audit import record
from mlhub.tenants.models import Passkey, SignInMethod, User
from mlhub.tenants.passkeys.ceremonies import Assertion, finish_assertion


def accept_passkey(request: HttpRequest, assertion: Assertion, *, user: User | None = None) -> User:
    """Whose passkey it is. user: the only one whose passkeys count; None = anybody who may sign in with one.

    Raises InvalidInputError for an answer that is wrong, used or of another account, NotAllowedError for an account
    that may not enter.
    """
    passkey = Passkey.objects.select_related("user").filter(credential_id=assertion.id).first()
    try:
        if passkey is not None and user is not None and passkey.user_id != user.pk:
            passkey = None  # others' are not known to exist
        passkey, made = finish_assertion(request, assertion, passkey)
        if user is None:
            _require_may_enter(passkey.user)
        _count(passkey, made.counter, is_synced=made.is_backed_up())
    except DomainError as error:
        _record_refusal(user or (passkey.user if passkey else None), error)
        raise
    return passkey.user


def _require_may_enter(user: User) -> None:
    if not user.is_active:
        raise NotAllowedError(
            f"Your account {user.username} is deactivated.",
            code="account_inactive",
            remedy="Ask an administrator of the platform to reactivate it.",
        )
    if not may_use_passkey(user):
        name = settings.SINGLE_SIGN_ON.name if settings.SINGLE_SIGN_ON else "a password"
        raise NotAllowedError(
            f"Here people sign in with {name}, not with a passkey alone.",
            code="passkey_sign_in_off",
            remedy=f"Sign in with {name}.",
        )


def may_use_passkey(user: User) -> bool:
    """Whether a passkey alone signs in: everybody's, or those of who may use a password."""
    return settings.PASSKEY_SIGN_IN or may_use_password(user)


def has_way_in_by_passkey(user: User) -> bool:
    return may_use_passkey(user) and user.passkeys.exists()


def _count(passkey: Passkey, counter: int, *, is_synced: bool) -> None:
    """Of two signatures with one count the second is refused: the device, or a copy of it, has made it before."""
    with transaction.atomic():
        held = Passkey.objects.select_for_update().filter(pk=passkey.pk).first()
        if held is None or (max(counter, held.counter) > 0 and counter <= held.counter):
            raise InvalidInputError(
                "This passkey has signed more often than it says, so there may be a copy of it.",
                code="passkey_copied",
                field="passkey",
                remedy="Sign in another way, remove this passkey on the page Account and add another one.",
            )
        held.counter, held.is_synced, held.last_used_at = counter, is_synced, timezone.now()
        held.save(update_fields=["counter", "is_synced", "last_used_at"])


def _record_refusal(user: User | None, error: DomainError) -> None:
    """Not of answers to nothing: no passkey was shown with them."""
    if error.code == "challenge_void":
        return
    record(
        "session.refused",
        organisation=None,
        subject_kind="user",
        subject_id=user.pk if user else None,
        actor=None,
        username=user.username if user else "",
        method=str(SignInMethod.PASSKEY),
        reason=error.code,
    )
