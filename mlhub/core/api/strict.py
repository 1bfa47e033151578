# SPDX-License-Identifier: Apache-2.0
"""Serializers of request bodies and queries: they refuse what they do not know, and name the nearest known field."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

MAX_SHOWN_NAME = 100  # of an unknown name, in an error message
MOST_SHOWN_CHOICES = 30
LIMITS = {"max_value": "most", "min_value": "least", "max_length": "most", "min_length": "least"}  # by code of an error


class StrictSerializer(serializers.Serializer[Any]):
    """The base of every serializer that reads a request. Raises ValidationError (422) naming each unknown field.

    Nested serializers are strict when they derive from this class too; tests/core/test_strictness.py sees to it.
    """

    def to_internal_value(self, data: Any) -> Any:
        known = [name for name, field in self.fields.items() if not field.read_only]
        unknown: dict[str, Any] = {}
        if isinstance(data, Mapping):
            given = [str(name) for name in data if name not in known]
            unknown = {shown(name): [unknown_name("field", name, known)] for name in given}
        try:
            found = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if not isinstance(error.detail, dict):
                raise
            named = {name: in_words(self.fields.get(name), one) for name, one in error.detail.items()}
            raise serializers.ValidationError({**unknown, **named}) from error
        if unknown:
            raise serializers.ValidationError(unknown)
        return found


class FiniteFloatField(serializers.FloatField):
    """A number that JSON can express: "nan" and "inf", which Python's float() takes, are refused."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool):
            self.fail("invalid")
        try:
            found = super().to_internal_value(data)
        except OverflowError:
            self.fail("invalid")
        if not math.isfinite(found):
            self.fail("invalid")
        return found


class NameOrIdField(serializers.CharField):
    """What names an object: a UUID becomes one, anything else is a name (NamedQuerySet.get_named finds both)."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=100, **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str | UUID):
            self.fail("invalid")
        return str(super().to_internal_value(str(data)))

    def run_validation(self, data: Any = serializers.empty) -> Any:
        found = super().run_validation(data)  # the validators are of text
        try:
            return UUID(found) if isinstance(found, str) else found
        except ValueError:
            return found


def in_words(field: Any, errors: Any) -> Any:
    """The errors of a field, where a wrong choice names those that there are, and a limit is written for people."""
    if isinstance(errors, dict) and isinstance(field, serializers.ListField | serializers.DictField):
        return {key: in_words(field.child, one) for key, one in errors.items()}
    if not isinstance(errors, list):
        return errors
    return [_worded(field, error) for error in errors]


def _worded(field: Any, error: Any) -> Any:
    code = getattr(error, "code", "")
    if code == "invalid_choice" and isinstance(field, serializers.ChoiceField):
        known = [str(choice) for choice in field.choices if choice != ""]
        return (
            error if len(known) > MOST_SHOWN_CHOICES else ErrorDetail(f"{error} Give one of: {', '.join(known)}.", code)
        )
    limit = getattr(field, code, None) if code in LIMITS else None
    if limit is None or callable(limit):
        return error
    unit = "" if code.endswith("value") else " entries" if hasattr(field, "child") else " characters"
    unit = unit.replace("ies", "y").removesuffix("s") if limit == 1 else unit
    return ErrorDetail(f"Give at {LIMITS[code]} {grouped(limit)}{unit}.", code)


def grouped(number: float) -> str:
    """A number as people read it: 1,000,000,000 for 1e9, and 0.1."""
    return f"{int(number):,}" if number == int(number) else f"{number:,}"


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """The message for an unknown field or query parameter."""
    names = sorted(known)
    if near := get_close_matches(name[:MAX_SHOWN_NAME], names, n=1):
        return f"Unknown {kind} `{shown(name)}`; did you mean `{near[0]}`?"
    listed = ", ".join(names)
    return f"Unknown {kind} `{shown(name)}`; " + (f"known: {listed}." if names else "there are none here.")


def shown(name: str) -> str:
    """A name from a request, printable and of bounded length."""
    printable = "".join(c if c.isprintable() else "�" for c in name[: MAX_SHOWN_NAME + 1])
    return printable if len(printable) <= MAX_SHOWN_NAME else printable[:MAX_SHOWN_NAME] + "…"
