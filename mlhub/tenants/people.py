# SPDX-License-Identifier: Apache-2.0
"""Which people a typed text finds."""

from __future__ import annotations

from django.db.models import Q, Value
from django.db.models.functions import Concat

from mlhub.tenants.models import User


def people_named(text: str, *, path: str = "", sees_addresses: bool) -> Q:
    """Accounts whose user name or full name contains the text, or whose e-mail address does.

    path: from the rows that are filtered to the account, such as "user__". sees_addresses: whether the caller may know
    e-mail addresses; who may not could find them out by asking.
    """
    found = Q(**{f"{path}username__icontains": text})
    full_names = User.objects.alias(full_name=Concat("first_name", Value(" "), "last_name"))
    found |= Q(**{f"{path}pk__in": full_names.filter(full_name__icontains=text).values("pk")})
    if sees_addresses:
        found |= Q(**{f"{path}email__icontains": text})
    return found
