# SPDX-License-Identifier: Apache-2.0
"""Making accounts and setting passwords: every way to do either passes here, so that each is checked and audited."""

from __future__ import annotations

from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.tenants.audit import record
from mlhub.tenants.models import User

SERVICE_SUFFIX = ".service"  # of the names of service accounts, so that none passes for a person


def create_account(
    username: str, *, password: str | None, email: str = "", is_staff: bool = False, actor: User | None
) -> User:
    """A new account. password: None makes one that cannot sign in until a password is set by a link.

    actor: None for an account that its own user makes. Raises InvalidInputError for a name or a password that the
    rules refuse, and ConflictError when the name is taken.
    """
    user = User(username=username, email=email, is_staff=is_staff, is_superuser=is_staff)
    _require_valid_name(username)
    if password is None:
        user.set_unusable_password()
    else:
        put_password(user, password)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError as error:
        raise ConflictError(
            f"There is already a user {username}.", code="name_taken", field="username", remedy="Choose another name."
        ) from error
    facts = {"username": username, "user_id": user.pk, "is_staff": is_staff}
    record("user.created", organisation=None, subject_kind="user", subject_id=user.pk, actor=actor or user, **facts)
    return user


def put_password(user: User, password: str, *, field: str = "password") -> None:
    """Sets it on the object; the caller saves. Raises InvalidInputError naming what the validators refuse."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidInputError(
            " ".join(error.messages),
            code="weak_password",
            field=field,
            remedy="Choose a longer one that does not resemble the user name and is not a common word.",
        ) from error
    user.set_password(password)


def _require_valid_name(username: str) -> None:
    if username.endswith(SERVICE_SUFFIX):
        raise InvalidInputError(
            f"Names that end with {SERVICE_SUFFIX} are those of service accounts.",
            field="username",
            remedy="Choose another name.",
        )
    try:
        UnicodeUsernameValidator()(username)
    except ValidationError as error:
        raise InvalidInputError(
            f"{username} cannot be a user name.",
            field="username",
            remedy="Use letters, digits and the characters @ . + - _ only.",
        ) from error
