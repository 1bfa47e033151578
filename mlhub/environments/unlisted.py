# SPDX-License-Identifier: Apache-2.0
"""Environments that no version of code requires any more: no one deletes them by themselves, and they keep no
organisation."""

from __future__ import annotations

from typing import Any

from django.db.models import Model, QuerySet

from mlhub.environments.actions import OWNER_KIND
from mlhub.environments.models import PythonEnvironment
from mlhub.storage import actions as storage
from mlhub.tenants.parts import UNLISTED, UnlistedRows


def connect() -> None:
    """Called once, when the apps are ready."""
    UNLISTED[PythonEnvironment] = UnlistedRows(_unused, _remove)


def _unused(organisation: Model) -> QuerySet[Any]:
    return PythonEnvironment.objects.filter(organisation=organisation.pk, versions=None)


def _remove(organisation: Model) -> None:
    """Also those that are being built: a build whose row is gone keeps nothing."""
    for pk in list(_unused(organisation).values_list("pk", flat=True)):
        storage.release(owner_kind=OWNER_KIND, owner_id=pk)
    _unused(organisation).delete()
