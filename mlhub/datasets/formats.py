# SPDX-License-Identifier: Apache-2.0
"""Guessing a file's format from its name, or from its first bytes. Only inspection proves that the file is sound."""

from __future__ import annotations

import json
from pathlib import Path

from mlhub.core.errors import InvalidInputError
from mlhub.wire.formats import FORMATS, TEXT_FIELDS, by_first_bytes, by_suffix

FIRST_LINE_BYTES = 2**20
ANY_KIND = "files"


def guess(filename: str, path: Path) -> str:
    """The name of a format of wire/formats.py. Raises InvalidInputError if neither name nor content shows it."""
    by_name = by_suffix(Path(filename).suffix)
    if by_name == "json_lines" and _are_texts(path):
        return "text_lines"
    if by_name is not None:
        return by_name
    with path.open("rb") as file:
        by_content = by_first_bytes(file.read(8))
    if by_content is None:
        raise InvalidInputError(
            f"Neither the name {filename} nor the first bytes show the format.",
            field="format",
            remedy=f"Give the format: {', '.join(FORMATS)}. A script reads files of any kind: {ANY_KIND}.",
        )
    return by_content


def _are_texts(path: Path) -> bool:
    """Whether the first object of JSON lines has a text, and besides at most a label and a part."""
    with path.open("rb") as file:
        line = file.readline(FIRST_LINE_BYTES)
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("text"), str) and found.keys() <= TEXT_FIELDS
