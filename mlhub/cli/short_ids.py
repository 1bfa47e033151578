# SPDX-License-Identifier: Apache-2.0
"""Ids as tables show them. They begin with the time, so that what is made within a minute shares its beginning: tables
show the end, which is random. Commands take either."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

SHOWN = 8  # of 12 characters behind the last hyphen
_PART = re.compile(r"[0-9a-f-]{4,36}")


def short_id(row: Mapping[str, Any]) -> str:
    """The end of the row's id."""
    return str(row["id"])[-SHOWN:]


def may_be_part(text: str) -> bool:
    """Whether the text is long enough for a part of an id, and has characters of ids alone."""
    return _PART.fullmatch(text.lower()) is not None


def is_part(text: str, pk: str) -> bool:
    """Whether the id ends or begins with this text."""
    return may_be_part(text) and (pk.endswith(text.lower()) or pk.startswith(text.lower()))
