# SPDX-License-Identifier: Apache-2.0
"""The first administrator of a fresh installation, made in the browser by the person who has its one-time code.

The code is derived from the secret key, the installation and its newest account. All processes know it without
storing it, and it changes when an account is made: no code works twice.
"""

from __future__ import annotations

import base64
import hmac
import re

from django.conf import settings
from django.contrib import auth
from django.db import transaction
from django.http import HttpRequest

from mlhub.core.errors import ConflictError, InvalidInputError, NotAllowedError
from mlhub.core.installation import installation
from mlhub.core.locks import lock_until_commit
from mlhub.tenants.actions.hierarchy.organisations import create_organisation
from mlhub.tenants.actions.sign_in.accounts import create_account
from mlhub.tenants.actions.sign_in.password_sign_in import is_password_name
from mlhub.tenants.audit import record
from mlhub.tenants.models import Membership, User
from mlhub.tenants.roles import Role

CODE_BYTES = 10  # 16 characters of base 32
BACKEND = "django.contrib.auth.backends.ModelBackend"


def is_setup_needed() -> bool:
    """Whether there is no administrator of the platform."""
    return not User.objects.filter(is_staff=True).exists()


def setup_code() -> str:
    """Four groups of four letters and digits; it is right until an account is made."""
    newest = User.objects.order_by("-date_joined", "-pk").values_list("pk", flat=True).first()
    message = f"mlhub setup code {installation().uuid} {newest}"
    digest = hmac.digest(settings.SECRET_KEY.encode(), message.encode(), "sha256")
    letters = base64.b32encode(digest[:CODE_BYTES]).decode()
    return "-".join(letters[start : start + 4] for start in range(0, len(letters), 4))


def create_first_administrator(
    request: HttpRequest, *, code: str, username: str, password: str, organisation: str = ""
) -> User:
    """Creates the administrator and starts a session. organisation: one to create and own; "" for none.

    Raises ConflictError when there is an administrator already, NotAllowedError for a wrong code.
    """
    with transaction.atomic():
        lock_until_commit("setup")  # of two at once the second finds the first's account
        if not is_setup_needed():
            raise ConflictError(
                "This installation has an administrator already.",
                code="already_set_up",
                remedy="Sign in, or ask an administrator for an account.",
            )
        if not hmac.compare_digest(_letters(code), _letters(setup_code())):
            raise NotAllowedError(
                "The setup code is wrong.",
                code="wrong_setup_code",
                field="code",
                remedy="`make up` prints the code; `manage.py setup_code` prints it anew.",
            )
        if not is_password_name(username):
            raise InvalidInputError(
                f"{username} could not sign in again with a password.",
                field="username",
                remedy="Choose a name that MLHUB_PASSWORD_SIGN_IN lists.",
            )
        user = create_account(username, password=password, is_staff=True, actor=None)
        if organisation:
            _own(user, organisation)
        auth.login(request, user, backend=BACKEND)
    return user


def _letters(code: str) -> bytes:
    """The code without what only groups its letters: people type it with spaces, in small letters, or with neither."""
    return re.sub(r"[\W_]", "", code).upper().encode()


def _own(user: User, name: str) -> None:
    organisation = create_organisation(name, actor=user)
    membership = Membership.objects.create(user=user, organisation=organisation, role=Role.OWNER)
    record(
        "membership.created",
        organisation=organisation,
        subject_kind="membership",
        subject_id=membership.id,
        actor=user,
        username=user.username,
        user_id=user.pk,
        role=str(Role.OWNER),
    )
