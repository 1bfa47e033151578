# SPDX-License-Identifier: Apache-2.0
"""Which account an identity belongs to: linking it, by its owner or by a verified address, and unlinking it."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from mlhub.core.errors import ConflictError
from mlhub.core.locks import lock_until_commit
from mlhub.tenants.actions.membership.group_memberships import take_away
from mlhub.tenants.actions.sign_in.passkey_proofs import has_way_in_by_passkey
from mlhub.tenants.actions.sign_in.password_sign_in import has_password
from mlhub.tenants.actions.sign_in.second_factor import has_second_factor
from mlhub.tenants.actions.sign_in.sessions import end_sessions
from mlhub.tenants.audit import record
from mlhub.tenants.models import ApiToken, ExternalIdentity, Organisation, User
from mlhub.tenants.single_sign_on.options import SingleSignOn
from mlhub.tenants.single_sign_on.provider import ProviderIdentity


def link_identity(user: User, identity: ProviderIdentity) -> None:
    """For the signed-in owner, who has given the password (and a code). Raises ConflictError. Twice is once."""
    with transaction.atomic():
        lock_until_commit(f"identity {identity.issuer} {identity.subject}")
        held = ExternalIdentity.objects.filter(issuer=identity.issuer, subject=identity.subject).first()
        if held is not None and held.user_id == user.pk:
            return
        if held is not None:
            raise ConflictError(
                "This identity belongs to another account of MLHub.",
                code="identity_taken",
                remedy="Sign in with it, or ask an administrator of the platform.",
            )
        if user.identities.filter(issuer=identity.issuer).exists():
            raise ConflictError(
                "Another identity of this provider is linked to your account.",
                code="identity_exists",
                remedy="Unlink it on the page Account first.",
            )
        add_identity(user, identity, by="its owner")


def unlink_identity(identity: ExternalIdentity, *, keep_session: str | None) -> None:
    """Ends the account's other sessions, and takes away what its groups gave: nothing would update that any more.

    Raises ConflictError for an account that could not be entered afterwards.
    """
    user = identity.user
    if not has_password(user) and not has_way_in_by_passkey(user):
        raise ConflictError(
            "Without this identity you could not sign in any more.",
            code="only_way_in",
            remedy="Ask an administrator for a link that sets a password, if passwords are allowed here.",
        )
    with transaction.atomic():
        given = user.memberships.filter(from_groups=True).select_related("organisation")
        list(Organisation.objects.filter(pk__in=given.values("organisation")).select_for_update().order_by("pk"))
        n_deleted, _ = ExternalIdentity.objects.filter(pk=identity.pk).delete()
        if n_deleted:
            take_away(given.order_by("pk"))
            end_sessions(user, actor=user, keep=keep_session)
            _record("user.identity_unlinked", user, issuer=identity.issuer, subject=identity.subject)


def account_of_address(options: SingleSignOn, identity: ProviderIdentity) -> User | None:
    """The one account of the verified address that may be linked by it; its row is held.

    Never an administrator's, and none with a second factor: an address is less than what these must prove.
    """
    if not options.links_by_email or not identity.email:
        return None
    rows = User.objects.filter(email__iexact=identity.email, service_of=None).select_for_update().order_by("pk")
    # PostgreSQL takes letters such as the Turkish dotless i for others when it ignores case
    found = [user for user in rows if user.email.casefold() == identity.email.casefold()]
    if len(found) != 1 or found[0].is_staff or has_second_factor(found[0]):
        return None
    return None if found[0].identities.filter(issuer=identity.issuer).exists() else found[0]


def take_over(user: User, identity: ProviderIdentity) -> None:
    """Links by the address. Who used the account before need not own that address: their ways in end."""
    user.set_unusable_password()
    user.save(update_fields=["password"])
    ApiToken.objects.filter(user=user, revoked_at=None).update(revoked_at=timezone.now())
    end_sessions(user, actor=user)
    add_identity(user, identity, by="verified e-mail address")


def add_identity(user: User, identity: ProviderIdentity, **facts: str) -> None:
    ExternalIdentity.objects.create(
        user=user, issuer=identity.issuer, subject=identity.subject, label=label_of(identity)
    )
    _record("user.identity_linked", user, issuer=identity.issuer, subject=identity.subject, **facts)


def label_of(identity: ProviderIdentity) -> str:
    """What people recognise the identity by."""
    return (identity.email or identity.username)[:254]


def _record(kind: str, user: User, **facts: str) -> None:
    facts_of_all = {"username": user.username, "user_id": user.pk, **facts}
    record(kind, organisation=None, subject_kind="user", subject_id=user.pk, actor=user, **facts_of_all)
