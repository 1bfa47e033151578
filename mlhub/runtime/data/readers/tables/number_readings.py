# SPDX-License-Identifier: Apache-2.0
"""What people see of the number format of a column: how one of its values is read in each, and what was decided."""

from __future__ import annotations

import re
from typing import Any

from mlhub.runtime.data.readers.tables.profiles import ColumnProfile
from mlhub.wire.number_formats import NUMBER_FORMATS, number_of

# a share, a currency, or a loss in brackets; three letters that a mark joins to more, as in ORD-100000, are a code's
UNIT = re.compile(r"[%\u2030\u20ac$\u00a3\u00a5()]|(?<!\w)(?<!\w[-./:#])[A-Z]{3}(?!\w|[-./:#]\w)")


def readings_of(text: str) -> dict[str, Any]:
    """The text with the number that it is in each format, None where it is none."""
    return {"text": text, **{name: number_of(text, name) for name in NUMBER_FORMATS}}


def example_of(profile: ColumnProfile) -> dict[str, Any] | None:
    """The readings of a value for which the format matters; None where no value of the column has any."""
    is_of_words = profile.evidence is not None or profile.number_format is not None
    if profile.date_formats or not (is_of_words or profile.is_fraction):
        return None
    first = profile.evidence.example if profile.evidence is not None else ""
    for text in filter(None, (first, *profile.examples)):
        readings = readings_of(text)
        comma = readings["comma"]
        is_needed = profile.number_format is not None or text == first
        if (comma is not None and comma != readings["point"]) or (is_needed and {comma, readings["point"]} != {None}):
            return readings
    return None


def format_sentences(profile: ColumnProfile) -> list[str]:
    """How the numbers of the column are read, where that is not as every program writes them."""
    if profile.number_format is not None and profile.n_numeric:
        readings = example_of(profile) or {}
        example, other = readings.get("text"), "comma" if profile.number_format == "point" else "point"
        value = readings.get(profile.number_format)
        shown = f"Read with a decimal {profile.number_format}."
        if value is not None:
            shown = f"Read with a decimal {profile.number_format}: {example} is {value:.15g}."
        doubt = [f"It could be a decimal {other}."] if profile.is_format_assumed else []
        return [shown, *doubt, *_contrary(profile)]
    if profile.is_format_open:
        return ["How its numbers are read has to be chosen."]
    return _contrary(profile) or _with_unit(profile)


def _contrary(profile: ColumnProfile) -> list[str]:
    contrary = profile.evidence.contrary if profile.evidence is not None else ()
    if not contrary:
        return []
    return [
        f"Numbers come in two formats, such as {contrary[0]} and {contrary[1]}: "
        "as numbers of one, those of the other are missing."
    ]


def _with_unit(profile: ColumnProfile) -> list[str]:
    """A sign is part of the value: 12 % is not 12, and amounts of two currencies cannot be compared."""
    example = profile.evidence.example if profile.evidence is not None else ""
    if not UNIT.search(example):
        return []
    bare = UNIT.sub("", example).strip()
    if all(number_of(bare, name) is None for name in NUMBER_FORMATS):
        return []
    return [f"{example} is a number with a sign or a unit, which is taken as a word."]
