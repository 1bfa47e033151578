# SPDX-License-Identifier: Apache-2.0
"""What apps above add to the verbs of organisations and projects: unlisted rows, reasons to stay closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, QuerySet

from mlhub.tenants.models import Organisation


@dataclass(frozen=True)
class UnlistedRows:
    """Rows of an organisation or a project that no one can see and delete by themselves: they go with their owner.

    of: those of the owner that are in no list; of an organisation, also those of its projects. remove: deletes the
    owner's, and releases the bytes that they hold.
    """

    of: Callable[[Model], QuerySet[Any]]
    remove: Callable[[Model], None]


UNLISTED: dict[type[Model], UnlistedRows] = {}  # by table
# rows of things that are counted themselves, such as what keeps the bytes of a dataset
PARTS_OF_CONTENTS: set[type[Model]] = set()
# each raises a ConflictError for an organisation or a project that may not be opened again
OPENING_CHECKS: list[Callable[[Model], None]] = []


def of_projects(owner: Model) -> dict[str, Any]:
    """A filter for rows of that project, or of the projects of that organisation."""
    return {"project__organisation" if isinstance(owner, Organisation) else "project": owner.pk}
