# SPDX-License-Identifier: Apache-2.0
"""How the numbers of a CSV's column are written. Standard library only: exports of models carry a copy of this module.

A format is named after its decimal mark. Between groups of three digits there may be a space, an apostrophe, or the
mark that is not the decimal one: 1.234,56 and 1 234,56 have a decimal comma, 1,234.56 and 1'234.56 a decimal point. A
column without a format is read without groups, as CSV readers do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

NUMBER_FORMATS = ("point", "comma")
MARKS = {"point": ".", "comma": ","}
OTHER_MARKS = {"point": ",", "comma": "."}
SPACES, APOSTROPHES, MINUS = " \u00a0\u2009\u202f", "'\u2019", "\u2212"  # with those that typesetting uses
EXAMPLES = {"point": "1,234.56", "comma": "1.234,56"}


def _pattern(number_format: str) -> str:
    """Of whole words, for Python's re with ASCII digits and for RE2 alike. The groups of a number have one mark."""
    mark, other = re.escape(MARKS[number_format]), re.escape(OTHER_MARKS[number_format])
    grouped = "|".join(rf"(?:{group}\d{{3}})+" for group in (other, f"[{SPACES}]", f"[{APOSTROPHES}]"))
    whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:{grouped}))"
    return rf"^[+{MINUS}-]?(?:{whole}(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?$"


PATTERNS: Mapping[str, str] = {name: _pattern(name) for name in NUMBER_FORMATS}
GROUP_MARKS: Mapping[str, str] = {name: f"[{OTHER_MARKS[name]}{SPACES}{APOSTROPHES}]" for name in NUMBER_FORMATS}
COMPILED = {name: re.compile(pattern, re.ASCII) for name, pattern in PATTERNS.items()}


def number_of(text: str, number_format: str) -> float | None:
    """The number that the text is in this format; None if it is none."""
    plain = text.strip()
    if not COMPILED[number_format].match(plain):
        return None
    plain = re.sub(GROUP_MARKS[number_format], "", plain)
    return float(plain.replace(MARKS[number_format], ".").replace(MINUS, "-"))


def is_number_otherwise(text: str, number_format: str) -> bool:
    """Whether the text is no number in this format, and is one in another."""
    if number_of(text, number_format) is not None:
        return False
    return any(number_of(text, other) is not None for other in NUMBER_FORMATS)
