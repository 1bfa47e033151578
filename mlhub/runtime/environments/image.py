# SPDX-License-Identifier: Apache-2.0
"""Reads which container image uploaded code brings: `image` in the table [tool.mlhub] of its pyproject.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from mlhub.runtime.errors import BadInputError
from mlhub.wire.images import EXAMPLE, MAX_REFERENCE

FILE = "pyproject.toml"
MAX_BYTES = 4 * 2**20
SETTINGS = ("image",)  # of the table
REMEDY = f'Write image = "{EXAMPLE}" there, or leave the table out.'


def declared_image(code: Path, *, folder: str = "") -> str:
    """Returns the reference that the unpacked code names; "" where it names none.

    folder: of the entry; it is searched first, then the top. Whether the image may be used is not asked here.
    Raises BadInputError.
    """
    for place in dict.fromkeys((folder, "")):
        path = code / place / FILE
        if path.is_file() and (table := _table(path)):
            return _image(table)
    return ""


def _table(path: Path) -> dict[str, Any]:
    """The table of MLHub. A file without it is another tool's affair, also where it cannot be read."""
    raw = path.read_bytes() if path.stat().st_size <= MAX_BYTES else b""
    if b"mlhub" not in raw:
        return {}
    try:
        tool = tomllib.loads(raw.decode("utf-8-sig")).get("tool")
    except ValueError as error:  # no UTF-8, or no TOML
        raise _refusal(f"{FILE} is not valid TOML: {error}.", "Correct it.") from error
    table = tool.get("mlhub", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise _refusal(f"In {FILE}, tool.mlhub is no table.", REMEDY)
    return table


def _image(table: dict[str, Any]) -> str:
    for name in table:
        if name not in SETTINGS:
            raise _refusal(f"In {FILE}, the table [tool.mlhub] has {name[:100]!r}, which is no setting.", REMEDY)
    image = table["image"]
    if not isinstance(image, str) or not 0 < len(image) <= MAX_REFERENCE:
        raise _refusal(f"In {FILE}, the image {str(image)[:200]!r} is no reference of a container image.", REMEDY)
    return image


def _refusal(message: str, remedy: str) -> BadInputError:
    return BadInputError(message, field="image", remedy=remedy, code="invalid_image")
