# SPDX-License-Identifier: Apache-2.0
"""The second factor of an account: time-based one-time passwords (TOTP, RFC 6238), passkeys, and recovery codes.

It is asked for wherever a session starts with a password or a link; tokens of the API do not need it. A code works
once: the time step of the last accepted one is stored, and only later steps count.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import secrets
import time
from dataclasses import dataclass

import pyotp
import segno
from axes.handlers.proxy import AxesProxyHandler
from cryptography.fernet import InvalidToken
from django.contrib.auth.signals import user_login_failed
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from mlhub.core.errors import ConflictError, InvalidInputError, NotAllowedError
from mlhub.core.security.encryption import cipher
from mlhub.tenants.actions.sign_in.lock import refuse_if_locked, refuse_while_locked
from mlhub.tenants.actions.sign_in.passkey_proofs import accept_passkey
from mlhub.tenants.actions.sign_in.security_notices import notify_owner
from mlhub.tenants.actions.sign_in.sessions import end_sessions
from mlhub.tenants.audit import record
from mlhub.tenants.models import SecondFactor, User
from mlhub.tenants.passkeys.ceremonies import Assertion
from mlhub.tenants.sign_in.authentication import BY_RECOVERY_CODE

PURPOSE = "second factor"
STEP_S, N_DIGITS = 30, 6
TOLERANCE = 1  # steps that a phone's clock may be early or late
N_RECOVERY_CODES, RECOVERY_BYTES = 10, 10  # 80 random bits each, so one fast hash is enough


@dataclass(frozen=True)
class Enrolment:
    """What an authenticator app needs: the secret, its otpauth address, and that address as a QR code in SVG."""

    secret: str
    address: str
    qr_svg: str


def begin_enrolment(user: User) -> Enrolment:
    """A new secret, which counts once a code of it was confirmed. The caller has made sure that it is the owner.

    Raises ConflictError when an authenticator app is set up. Recovery codes stay until then.
    """
    secret = pyotp.random_base32()
    with transaction.atomic():
        SecondFactor.objects.select_for_update().filter(user=user).first()
        refuse_second_app(user)
        encrypted = cipher(PURPOSE).encrypt(secret.encode()).decode()
        values = {"encrypted_secret": encrypted, "last_step": 0, "confirmed_at": None}
        SecondFactor.objects.update_or_create(user=user, defaults=values)
    address = pyotp.TOTP(secret).provisioning_uri(name=user.username, issuer_name="MLHub")
    return Enrolment(secret, address, _qr_svg(address))


def refuse_second_app(user: User) -> None:
    """Raises ConflictError when an authenticator app is set up."""
    if has_app(user):
        raise ConflictError(
            "An authenticator app is set up already.", code="second_factor_exists", remedy="Remove it first."
        )


def confirm_enrolment(request: HttpRequest, user: User, *, code: str) -> list[str]:
    """The recovery codes, which are not stored and cannot be shown again; other sessions of the account end.

    Raises InvalidInputError for a wrong code, ConflictError when no enrolment was begun or it was finished.
    """
    with transaction.atomic():
        begun = SecondFactor.objects.select_for_update().filter(user=user, confirmed_at=None)
        factor = begun.exclude(encrypted_secret="").first()
        if factor is None:
            raise ConflictError("No second factor waits for its code.", code="not_begun", remedy="Begin again.")
        if not _accept_step(factor, _digits(code)):
            raise _wrong_code()
        factor.confirmed_at = timezone.now()
        factor.save(update_fields=["confirmed_at"])
        codes = renew_recovery_codes(user)
        end_sessions(user, actor=user, keep=request.session.session_key)
        _record("user.second_factor_added", user, user)
    return codes


def renew_recovery_codes(user: User) -> list[str]:
    """In a transaction. Earlier ones count no more; these are not stored and cannot be shown again."""
    codes = [_new_recovery_code() for _ in range(N_RECOVERY_CODES)]
    SecondFactor.objects.update_or_create(user=user, defaults={"recovery_hashes": [_hash(each) for each in codes]})
    return codes


def make_new_recovery_codes(user: User) -> list[str]:
    """Ten codes in place of all earlier ones. The caller has made sure that it is the owner.

    Raises ConflictError for an account without a second factor, which has nothing that they replace.
    """
    if not has_second_factor(user):
        raise ConflictError(
            "This account has no second factor.",
            code="no_second_factor",
            remedy="Set up an authenticator app or a passkey; recovery codes come with it.",
        )
    with transaction.atomic():
        codes = renew_recovery_codes(user)
        _record("user.recovery_codes_renewed", user, user)
    return codes


def require_second_factor(request: HttpRequest, user: User, code: str, passkey: Assertion | None = None) -> None:
    """Returns for accounts without a second factor, and once code or passkey is accepted, which then counts no more.

    Raises NotAllowedError when one is needed and none was given, InvalidInputError for a wrong or used one, and
    TooManyAttemptsError: wrong codes count as failed attempts to sign in do.
    """
    has_passkey = user.passkeys.exists()
    if not has_passkey and not has_app(user):
        return
    if passkey is not None:
        accept_passkey(request, passkey, user=user)
        return
    if not code.strip():
        raise NotAllowedError(
            "This account has a second factor.",
            code="second_factor_needed",
            field="code",
            remedy="Use your passkey, or give a recovery code."
            if has_passkey and not has_app(user)
            else "Give the code that your authenticator app shows, or a recovery code.",
            has_passkey=has_passkey,
        )
    credentials = {"username": user.username}
    refuse_while_locked(AxesProxyHandler.is_allowed(request, credentials))
    if not _accept(request, user, code):
        user_login_failed.send(sender=__name__, credentials=credentials, request=request)
        refuse_if_locked(request)
        raise _wrong_code()


def remove_app(user: User, *, actor: User) -> None:
    """The caller has made sure that it is the owner, or an administrator of the platform. Twice is once.

    Recovery codes stay where there are passkeys.
    """
    with transaction.atomic():
        if SecondFactor.objects.filter(user=user).exclude(confirmed_at=None).exists():
            _record("user.second_factor_removed", user, actor)
        SecondFactor.objects.filter(user=user).update(encrypted_secret="", last_step=0, confirmed_at=None)
        drop_useless_codes(user)


def drop_useless_codes(user: User) -> None:
    """After something was removed: recovery codes without anything that they replace."""
    if not user.passkeys.exists() and not has_app(user):
        SecondFactor.objects.filter(user=user).delete()


def has_second_factor(user: User) -> bool:
    return has_app(user) or user.passkeys.exists()


def has_app(user: User) -> bool:
    """Whether an authenticator app is set up."""
    return SecondFactor.objects.filter(user=user).exclude(confirmed_at=None).exists()


def n_recovery_codes(user: User) -> int:
    """How many are left."""
    factor = SecondFactor.objects.filter(user=user).first()
    return 0 if factor is None else len(factor.recovery_hashes)


def _accept(request: HttpRequest, user: User, code: str) -> bool:
    """Whether the code is right; it is used up. The row is held, so that of two uses at once one is refused.

    A session that begins with a recovery code is marked: its owner has nothing else to remove what was lost with.
    """
    with transaction.atomic():
        factor = SecondFactor.objects.select_for_update().filter(user=user).first()
        if factor is None:
            return False
        digits = _digits(code)
        if digits.isdecimal() and len(digits) == N_DIGITS:
            return factor.confirmed_at is not None and _accept_step(factor, digits)
        if _hash(code) not in factor.recovery_hashes:
            return False
        factor.recovery_hashes = [each for each in factor.recovery_hashes if each != _hash(code)]
        factor.save(update_fields=["recovery_hashes"])
        setattr(request, BY_RECOVERY_CODE, True)
        _record("user.recovery_code_used", user, user, n_left=len(factor.recovery_hashes))
        return True


def _accept_step(factor: SecondFactor, digits: str) -> bool:
    """Stores the code's step, and the secret under the present key."""
    now = now_step()
    try:
        secret = cipher(PURPOSE).decrypt(factor.encrypted_secret.encode()).decode()
    except InvalidToken:  # the key that it was encrypted with is gone: an administrator resets the factor
        return False
    for step in range(max(now - TOLERANCE, factor.last_step + 1), now + TOLERANCE + 1):
        if hmac.compare_digest(pyotp.TOTP(secret).generate_otp(step).encode(), digits.encode()):
            factor.last_step = step
            factor.encrypted_secret = cipher(PURPOSE).encrypt(secret.encode()).decode()
            factor.save(update_fields=["last_step", "encrypted_secret"])
            return True
    return False


def now_step() -> int:
    return int(time.time()) // STEP_S


def _digits(code: str) -> str:
    return "".join(code.split())


def _new_recovery_code() -> str:
    letters = secrets.token_hex(RECOVERY_BYTES)
    return "-".join(letters[start : start + 5] for start in range(0, len(letters), 5))


def _hash(code: str) -> str:
    return hashlib.sha256(_digits(code).replace("-", "").lower().encode()).hexdigest()


def _qr_svg(address: str) -> str:
    written = io.BytesIO()
    segno.make(address, error="m").save(written, kind="svg", scale=5, border=4, light="#ffffff", xmldecl=False)
    return written.getvalue().decode()


def _wrong_code() -> InvalidInputError:
    return InvalidInputError(
        "This code is wrong, or was used already.",
        code="wrong_code",
        field="code",
        remedy="Give the code that is shown now; each works once. Check the clock of your phone.",
    )


def _record(kind: str, user: User, actor: User, **facts: int) -> None:
    of_user = {"username": user.username, "user_id": user.pk}
    record(kind, organisation=None, subject_kind="user", subject_id=user.pk, actor=actor, **of_user, **facts)
    notify_owner(kind, user, actor=actor, **facts)
