# SPDX-License-Identifier: Apache-2.0
"""Signing in as the person whom the provider vouches for: the account is found by (issuer, subject) alone.

An account is linked by its signed-in owner, or, where the settings say so, by a verified e-mail address; otherwise a
new one is made, if the settings allow it.
"""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib import auth
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from mlhub.core.errors import DomainError, NotAllowedError
from mlhub.core.locks import lock_until_commit
from mlhub.tenants.actions.membership.group_memberships import apply_roles, locked_organisations, roles_of_groups
from mlhub.tenants.actions.sign_in.identities import account_of_address, add_identity, label_of, take_over
from mlhub.tenants.actions.sign_in.provided_accounts import create_provided_account
from mlhub.tenants.actions.sign_in.second_factor import require_second_factor
from mlhub.tenants.audit import record
from mlhub.tenants.models import ExternalIdentity, SignInMethod, User
from mlhub.tenants.passkeys.ceremonies import Assertion
from mlhub.tenants.roles import Role
from mlhub.tenants.sign_in.authentication import METHOD
from mlhub.tenants.sign_in.sign_ins import MAX_NAME
from mlhub.tenants.single_sign_on.options import SingleSignOn
from mlhub.tenants.single_sign_on.provider import ProviderIdentity

BACKEND = "django.contrib.auth.backends.ModelBackend"


def enter(
    request: HttpRequest,
    options: SingleSignOn,
    identity: ProviderIdentity,
    *,
    code: str = "",
    passkey: Assertion | None = None,
) -> User:
    """Starts a session, after the person's memberships were made to fit their groups.

    code, passkey: MLHub's second factor, where the provider does not replace it; raises what require_second_factor
    raises.
    Raises NotAllowedError for a deactivated account, and where there is none and none may be made. Refusals are in the
    audit.
    """
    known = _known(identity)
    if known is not None and known.user.is_active and not options.replaces_second_factor:
        # in no transaction: a wrong code counts although the request fails
        require_second_factor(request, known.user, code, passkey)
    try:
        with transaction.atomic():
            user = _account(options, identity)
            setattr(request, METHOD, str(SignInMethod.SINGLE_SIGN_ON))
            auth.login(request, user, backend=BACKEND)
            request.session.set_expiry(timezone.now() + timedelta(hours=options.session_hours))
    except DomainError as error:
        record_refusal(identity, error)
        raise
    return user


def record_refusal(identity: ProviderIdentity, error: DomainError) -> None:
    """Of a person who has proved to be themselves, and may not come in all the same."""
    known = _known(identity)
    record(
        "session.refused",
        organisation=None,
        subject_kind="user",
        subject_id=known.user_id if known else None,
        actor=None,
        username=identity.username[:MAX_NAME],
        method=str(SignInMethod.SINGLE_SIGN_ON),
        reason=error.code,
        issuer=identity.issuer,
        subject=identity.subject,
    )


def _known(identity: ProviderIdentity) -> ExternalIdentity | None:
    rows = ExternalIdentity.objects.select_related("user")
    return rows.filter(issuer=identity.issuer, subject=identity.subject).first()


def _account(options: SingleSignOn, identity: ProviderIdentity) -> User:
    """The account with its memberships; in a transaction. Two sign-ins of one new person wait for each other."""
    lock_until_commit(f"identity {identity.issuer} {identity.subject}")
    roles = roles_of_groups(identity.groups, options.roles)
    known = _known(identity)
    user = known.user if known else account_of_address(options, identity)
    organisations = locked_organisations(user, roles)  # before the lock of events
    if user is None:
        _require_new_allowed(options, roles)
        user = create_provided_account(identity)
        add_identity(user, identity)
    else:
        _require_active(user)
        if known is None:
            take_over(user, identity)
    user.identities.filter(issuer=identity.issuer).update(last_sign_in_at=timezone.now(), label=label_of(identity))
    apply_roles(user, roles, organisations)
    return user


def _require_active(user: User) -> None:
    if not user.is_active:
        raise NotAllowedError(
            f"Your account {user.username} is deactivated.",
            code="account_inactive",
            remedy="Ask an administrator of the platform to reactivate it.",
        )


def _require_new_allowed(options: SingleSignOn, roles: dict[str, Role]) -> None:
    if options.new_users == "all" or (options.new_users == "mapped" and roles):
        return
    own = (
        "" if settings.PASSWORD_USERS is not None else " With an account here, sign in and link it on the page Account."
    )
    raise NotAllowedError(
        f"{options.name} knows you, and there is no account for you here.",
        code="no_account",
        remedy=f"Ask an administrator for an account, or for a group that has one.{own}",
    )
