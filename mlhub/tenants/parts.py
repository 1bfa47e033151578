# SPDX-License-Identifier: Apache-2.0
"""What apps above add to the verbs of organisations and projects: unlisted rows, reasons to stay closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, QuerySet


@dataclass(frozen=True)
class UnlistedRows:
    """Rows of an organisation or a project that no one can see and delete by themselves: they go with their owner.

    of: those of the owner that are in no list. remove: deletes them, and releases the bytes that they hold.
    """

    of: Callable[[Model], QuerySet[Any]]
    remove: Callable[[Model], None]


UNLISTED: dict[type[Model], UnlistedRows] = {}  # by table
# each raises a ConflictError for an organisation or a project that may not be opened again
OPENING_CHECKS: list[Callable[[Model], None]] = []
