# SPDX-License-Identifier: Apache-2.0
"""The second factor of an account: time-based one-time passwords (TOTP, RFC 6238), and recovery codes.

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

from mlhub.core.encryption import cipher
from mlhub.core.errors import ConflictError, InvalidInputError, NotAllowedError
from mlhub.tenants.actions.lock import refuse_if_locked, refuse_while_locked
from mlhub.tenants.actions.sessions import end_sessions
from mlhub.tenants.audit import record
from mlhub.tenants.models import SecondFactor, User

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
    """A new secret, which counts once a code of it was confirmed. The caller has checked the password.

    Raises ConflictError when a second factor is set up.
    """
    secret = pyotp.random_base32()
    with transaction.atomic():
        if _confirmed(user, for_update=True) is not None:
            raise ConflictError(
                "A second factor is set up already.", code="second_factor_exists", remedy="Remove it first."
            )
        encrypted = cipher(PURPOSE).encrypt(secret.encode()).decode()
        values = {"encrypted_secret": encrypted, "last_step": 0, "recovery_hashes": [], "confirmed_at": None}
        SecondFactor.objects.update_or_create(user=user, defaults=values)
    address = pyotp.TOTP(secret).provisioning_uri(name=user.username, issuer_name="MLHub")
    return Enrolment(secret, address, _qr_svg(address))


def confirm_enrolment(request: HttpRequest, user: User, *, code: str) -> list[str]:
    """The recovery codes, which are not stored and cannot be shown again; other sessions of the account end.

    Raises InvalidInputError for a wrong code, ConflictError when no enrolment was begun or it was finished.
    """
    codes = [_new_recovery_code() for _ in range(N_RECOVERY_CODES)]
    with transaction.atomic():
        factor = SecondFactor.objects.select_for_update().filter(user=user, confirmed_at=None).first()
        if factor is None:
            raise ConflictError("No second factor waits for its code.", code="not_begun", remedy="Begin again.")
        if not _accept_step(factor, _digits(code)):
            raise _wrong_code()
        factor.confirmed_at = timezone.now()
        factor.recovery_hashes = [_hash(each) for each in codes]
        factor.save(update_fields=["confirmed_at", "recovery_hashes"])
        end_sessions(user, actor=user, keep=request.session.session_key)
        _record("user.second_factor_added", user, user)
    return codes


def require_code(request: HttpRequest, user: User, code: str) -> None:
    """Returns for accounts without a second factor, and once the code is accepted, which then counts no more.

    Raises NotAllowedError when a code is needed and none was given, InvalidInputError for a wrong or used one, and
    TooManyAttemptsError: wrong codes count as failed attempts to sign in do.
    """
    if not has_second_factor(user):
        return
    if not code.strip():
        raise NotAllowedError(
            "This account has a second factor.",
            code="second_factor_needed",
            field="code",
            remedy="Give the code that your authenticator app shows, or a recovery code.",
        )
    credentials = {"username": user.username}
    refuse_while_locked(AxesProxyHandler.is_allowed(request, credentials))
    if not _accept(user, code):
        user_login_failed.send(sender=__name__, credentials=credentials, request=request)
        refuse_if_locked(request)
        raise _wrong_code()


def remove_second_factor(user: User, *, actor: User) -> None:
    """The caller has checked password and code, or is an administrator of the platform. Twice is once."""
    with transaction.atomic():
        n_deleted, _ = SecondFactor.objects.filter(user=user).delete()
        if n_deleted:
            _record("user.second_factor_removed", user, actor)


def has_second_factor(user: User) -> bool:
    return _confirmed(user) is not None


def n_recovery_codes(user: User) -> int:
    """How many are left."""
    factor = _confirmed(user)
    return 0 if factor is None else len(factor.recovery_hashes)


def _confirmed(user: User, *, for_update: bool = False) -> SecondFactor | None:
    rows = SecondFactor.objects.select_for_update() if for_update else SecondFactor.objects.all()
    return rows.filter(user=user).exclude(confirmed_at=None).first()


def _accept(user: User, code: str) -> bool:
    """Whether the code is right; it is used up. The row is held, so that of two uses at once one is refused."""
    with transaction.atomic():
        factor = _confirmed(user, for_update=True)
        if factor is None:
            return False
        digits = _digits(code)
        if digits.isdecimal() and len(digits) == N_DIGITS:
            return _accept_step(factor, digits)
        if _hash(code) not in factor.recovery_hashes:
            return False
        factor.recovery_hashes = [each for each in factor.recovery_hashes if each != _hash(code)]
        factor.save(update_fields=["recovery_hashes"])
        _record("user.recovery_code_used", user, user)
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


def _record(kind: str, user: User, actor: User) -> None:
    facts = {"username": user.username, "user_id": user.pk}
    record(kind, organisation=None, subject_kind="user", subject_id=user.pk, actor=actor, **facts)
