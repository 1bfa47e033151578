# SPDX-License-Identifier: Apache-2.0
"""References of container images that jobs bring, and which of them are allowed."""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_REFERENCE = 512
EXAMPLE = "registry.example.org/team/train:1.4"

# as the distribution specification has it: [host[:port]/]name[/name...][:tag][@digest]
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(?::[0-9]{1,5})?"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?:{_HOST}/)?{_PART}(?:/{_PART})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?"
    r"(?:@sha256:[0-9a-f]{64}|@sha512:[0-9a-f]{128})?",
    re.ASCII,
)


def is_reference(text: str) -> bool:
    return len(text) <= MAX_REFERENCE and _REFERENCE.fullmatch(text) is not None


def allowed_images(text: str) -> tuple[str, ...]:
    """The entries of a setting that allows images, which commas separate."""
    return tuple(entry.strip() for entry in text.split(",") if entry.strip())


def is_allowed_image(reference: str, allowed: Sequence[str]) -> bool:
    """allowed: whole references, and beginnings that end in / or *."""
    return any(
        reference.startswith(entry.removesuffix("*")) if entry.endswith(("/", "*")) else reference == entry
        for entry in allowed
    )


def wrong_entry(allowed: Sequence[str]) -> str | None:
    """The first entry that allows no image at all, since it is neither a reference nor the beginning of one."""
    for entry in allowed:
        is_prefix = entry.endswith(("/", "*"))
        beginning = entry.removesuffix("*")
        if not (_is_beginning(beginning) if is_prefix else is_reference(entry)):
            return entry
    return None


def _is_beginning(text: str) -> bool:
    """Whether some letters after it make it a reference, or it is empty and allows every image."""
    return text == "" or any(is_reference(text + more) for more in ("", "a", "a/a"))
