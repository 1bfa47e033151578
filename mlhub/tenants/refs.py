# SPDX-License-Identifier: Apache-2.0
"""What people write for an object, in lists: `?ref=` finds it by name, by id, or by a part of the id."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from uuid import UUID

import django_filters
from django.db.models import CharField, Q
from django.db.models.functions import Cast

from mlhub.tenants.named import MAX_LENGTH

if TYPE_CHECKING:
    from django.db.models import QuerySet

PART = re.compile(r"[0-9a-f-]{4,36}")


class RefFilter(django_filters.CharFilter):
    """Only the rows that are meant. It stands last in a FilterSet, so that it looks among what the others leave."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            help_text="Only what this means: those of exactly this name; where there are none, the one of this id, or "
            "those whose id begins or ends with it, with four characters at least.",
            **options,
        )

    def filter(self, qs: QuerySet[Any], value: str) -> QuerySet[Any]:
        if not value:
            return qs
        if len(value) > MAX_LENGTH:
            return qs.none()
        called = qs.filter(name=value)
        if called.exists():
            return called
        part = value.lower()
        if not PART.fullmatch(part):
            return qs.none()
        try:
            return qs.filter(pk=UUID(part))
        except ValueError:
            text = qs.alias(id_text=Cast("pk", CharField()))
            return text.filter(Q(id_text__startswith=part) | Q(id_text__endswith=part))
