# SPDX-License-Identifier: Apache-2.0
"""Fields of several serializers, and the query parameter `fields` of lists: only the named members of each row."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from mlhub.core.api.strict import shown, unknown_name
from mlhub.core.errors import InvalidQueryError
from mlhub.core.languages.catalogue import in_readers_language

FIELDS = OpenApiParameter(
    "fields",
    str,
    description="Only these members of each row, separated by commas, such as id,name,state; all when absent.",
)


def named_fields(text: str | None) -> frozenset[str]:
    """What the parameter names; nothing where it is absent, which means all."""
    return frozenset(name.strip() for name in (text or "").split(",")) - {""}


def only_fields(serializer: Any, names: frozenset[str]) -> Any:
    """The serializer of a row without the fields that are not named, if any is. Raises InvalidQueryError."""
    if not names:
        return serializer
    fields = serializer.fields
    for name in sorted(names - set(fields)):
        raise InvalidQueryError(
            unknown_name("field", name, list(fields)), field="fields", remedy=f"Leave {shown(name)} out."
        )
    for name in set(fields) - names:
        fields.pop(name)
    return serializer


class TranslatedField(serializers.CharField):
    """What the platform says of something, stored in English: in the language of the request."""

    def to_representation(self, value: Any) -> str:
        return in_readers_language(super().to_representation(value))


class CalendarTimeField(serializers.DateTimeField):
    """A point in time between the years 1971 and 9998, from which periods can be counted in both directions."""

    def to_internal_value(self, value: Any) -> Any:
        found = super().to_internal_value(value)
        if not 1970 < found.year < 9999:
            raise serializers.ValidationError("Give a year from 1971 to 9998.")
        return found
