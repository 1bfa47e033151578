# SPDX-License-Identifier: Apache-2.0
"""Accounts made at the first sign-in by single sign-on: without a password, under a name that is free."""

from __future__ import annotations

import re
from itertools import chain, count

from mlhub.core.locks import lock_until_commit
from mlhub.tenants.actions.sign_in.accounts import SERVICE_SUFFIX, create_account
from mlhub.tenants.models import Invitation, User
from mlhub.tenants.single_sign_on.provider import ProviderIdentity

MAX_NAME = 140  # characters, so that a number fits behind


def create_provided_account(identity: ProviderIdentity) -> User:
    """In a transaction. The address is stored only when the provider verified it."""
    lock_until_commit("names of provided accounts")
    return create_account(_free_name(identity), password=None, email=identity.email, actor=None)


def _free_name(identity: ProviderIdentity) -> str:
    """What the provider calls the person, with a number where that name is taken.

    A name to which an organisation offers something is not free: who chose it at the provider could accept the offer.
    """
    wanted = identity.username or identity.email.partition("@")[0] or identity.subject
    name = re.sub(r"[^\w.@+-]", "-", wanted)[:MAX_NAME]
    while name.endswith(SERVICE_SUFFIX):
        name = name.removesuffix(SERVICE_SUFFIX)
    name = name or "user"
    return next(each for each in chain([name], (f"{name}-{n}" for n in count(2))) if not _is_taken(each))


def _is_taken(name: str) -> bool:
    is_offered = Invitation.objects.waiting().filter(username=name).exists()
    return is_offered or User.objects.filter(username__iexact=name).exists()
