# SPDX-License-Identifier: Apache-2.0
"""Links to set a password, by mail, for people who have forgotten theirs.

The request looks no account up and sends nothing: it is the same, in answer and in time, for every name. A worker finds
the accounts and writes to the address that is stored, never to one that was typed.
"""

from __future__ import annotations

import hashlib

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest

from mlhub.core.dispatch import send
from mlhub.core.errors import ConflictError, UnavailableError
from mlhub.core.rate_limits.buckets import Charge
from mlhub.core.rate_limits.limiter import rate_limiter
from mlhub.core.rate_limits.requests import network_of
from mlhub.core.web.addresses import client_address
from mlhub.tenants.actions.sign_in.password_sign_in import may_use_password
from mlhub.tenants.actions.sign_in.passwords import make_link
from mlhub.tenants.audit import record
from mlhub.tenants.mail import send_mail_on_commit
from mlhub.tenants.models import User

BUDGET = "password_links"
TASK = "mlhub.tenants.tasks.send_password_links"
MOST_ACCOUNTS = 5  # of one address
RETRY_AFTER_S = 30
TEXT = """Somebody, probably you, has forgotten the password of {username} on MLHub.

Set a new one here, until {until:%Y-%m-%d %H:%M} UTC; the link works once, and until the account signs in:
{link}

If it was not you, ignore this message: the password stays as it is.
"""


def ask_for_links(request: HttpRequest, account: str) -> None:
    """Accounts of that name or address that sign in with a password get a link by mail. No answer says which.

    Raises RateLimitedError after too many of one name or one address of the network, ConflictError where no mail server
    is configured, UnavailableError when no worker can be reached.
    """
    if not settings.HAS_MAIL_SERVER:
        raise ConflictError(
            "This platform sends no e-mail.",
            code="no_mail_server",
            remedy="Ask an administrator of the platform: Reset password, on the page Users, makes a link.",
        )
    _charge(request, account)
    with transaction.atomic():
        _record("user.password_link_asked", None, username=account)
    if not send(TASK, account):
        raise UnavailableError(
            "The message cannot be sent now.", remedy="Try again in a minute.", retry_after_s=RETRY_AFTER_S
        )


def send_links(account: str) -> int:
    """Writes to the accounts of that name or address; returns to how many."""
    found = User.objects.filter(Q(username=account) | Q(email__iexact=account), is_active=True, service_of=None)
    users = [user for user in found.exclude(email="").order_by("date_joined") if _has_or_may_have_password(user)]
    for user in users[:MOST_ACCOUNTS]:
        with transaction.atomic():
            link, until = make_link(user)
            _record("user.password_link_sent", user, username=user.username, user_id=user.pk)
            text = TEXT.format(username=user.username, until=until, link=link)
            send_mail_on_commit(user.email, subject="Your password on MLHub", text=text)
    return len(users[:MOST_ACCOUNTS])


def _has_or_may_have_password(user: User) -> bool:
    """Not who signs in by single sign-on alone: a mailbox is no proof for the provider."""
    return may_use_password(user) and (user.has_usable_password() or not user.identities.exists())


def _charge(request: HttpRequest, account: str) -> None:
    """To where the request comes from and to what was typed, whether there is such an account or not."""
    name = hashlib.sha256(account.casefold().encode()).hexdigest()[:32]
    subjects = {"address": network_of(client_address(request)), "name": name}
    limits = settings.RATE_LIMITS.get(BUDGET, ())
    verdict = rate_limiter().charge([Charge(limit, subjects[limit.subject]) for limit in limits])
    if verdict.refused is not None:
        raise verdict.error()


def _record(kind: str, user: User | None, **facts: object) -> None:
    """Without an actor: who asks is not known."""
    subject_id = user.pk if user else None
    record(kind, organisation=None, subject_kind="user", subject_id=subject_id, actor=None, **facts)
