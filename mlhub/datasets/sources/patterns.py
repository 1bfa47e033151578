# SPDX-License-Identifier: Apache-2.0
"""Addresses of many files: ranges and choices in braces as WebDataset writes them, and wildcards in a file's name."""

from __future__ import annotations

import fnmatch
import re
from itertools import product
from urllib.parse import unquote, urlsplit

from mlhub.core.errors import InvalidInputError
from mlhub.datasets.sources.locations import FIELD, filename_of, scheme_of

MAX_SHARDS = 1000
MAX_NAME = 100
BRACES = re.compile(r"\{(?:(\d+)\.\.(\d+)(?:\.\.(\d+))?|([^{},]*(?:,[^{},]*)+))\}")
WILDCARD = re.compile(r"[*]|\[[^/\]]+\]")
EXAMPLE = "https://example.org/train-{000000..000099}.tar"


def is_pattern(uri: str) -> bool:
    """Whether the address may name several files."""
    return BRACES.search(uri) is not None or has_wildcard(uri)


def has_wildcard(uri: str) -> bool:
    """Whether only a listing of the place shows which files are meant."""
    return WILDCARD.search(_path(uri)) is not None


def expanded(uri: str, *, field: str = FIELD) -> list[str]:
    """The addresses that the braces stand for, in their order; wildcards stay. Raises InvalidInputError for too many.

    {000..009} keeps its zeros, {0..8..2} has a step, {a,b} names each.
    """
    literal, parts, at = list[str](), list[range | list[str]](), 0
    widths, n = list[int](), 1
    for match in BRACES.finditer(uri):
        literal.append(uri[at : match.start()])
        at = match.end()
        first, last, step, words = match.groups()
        part = words.split(",") if words is not None else _numbers(int(first), int(last), int(step or 1))
        padded = words is None and (first.startswith("0") or last.startswith("0"))
        widths.append(max(len(first), len(last)) if padded else 0)
        parts.append(part)
        n *= len(part)
        if n > MAX_SHARDS:
            raise too_many(field)
    literal.append(uri[at:])
    found = []
    for chosen in product(*parts):
        words_of = [str(one).zfill(width) for one, width in zip(chosen, widths, strict=True)]
        found.append("".join(a + b for a, b in zip(literal, [*words_of, ""], strict=True)))
    return found


def check_wildcard(uri: str) -> None:
    """Raises InvalidInputError where nothing lists the files, or the wildcard is not in the file's name."""
    if scheme_of(uri) in ("https", "http"):
        raise InvalidInputError(
            "A web server does not list its files.", field=FIELD, remedy=f"Write their numbers in braces: {EXAMPLE}."
        )
    folder, _, name = _path(uri).rpartition("/")
    if WILDCARD.search(folder) or not WILDCARD.search(name):
        raise InvalidInputError(
            "Wildcards are for the file's name, not for a folder.",
            field=FIELD,
            remedy="Give a pattern for each folder, like s3://bucket/train/*.tar.",
        )


def matching(names: list[str], pattern: str) -> list[str]:
    """The names that match the pattern's file name, in alphabetical order."""
    return sorted(fnmatch.filter(names, unquote(_path(pattern).rpartition("/")[2])))


def shard_names(uris: list[str]) -> list[str]:
    """A name for each address by which it is stored: the file's own, with its number in front where two are alike."""
    own = [filename_of(uri)[-MAX_NAME:] for uri in uris]
    return [f"{i:04d}-{name}" if own.count(name) > 1 else name for i, name in enumerate(own)]


def too_many(field: str = FIELD) -> InvalidInputError:
    return InvalidInputError(
        f"The pattern names more than {MAX_SHARDS:,} files.",
        field=field,
        remedy=f"Name at most {MAX_SHARDS:,}, or make the shards larger.",
    )


def _path(uri: str) -> str:
    try:
        return urlsplit(uri).path
    except ValueError:  # scheme_of() refuses it in words
        return ""


def _numbers(first: int, last: int, step: int) -> range:
    step = max(1, step)
    return range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
