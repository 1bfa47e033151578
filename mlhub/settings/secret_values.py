# SPDX-License-Identifier: Apache-2.0
"""Secrets of the settings: each from the variable NAME, or from the file that NAME_FILE names (a mounted secret)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

MIN_KEY_LENGTH = 32
MIN_PACKED_BYTES = 24  # of 32 random digits 27 stay, and of the weakest other random key more
OLD_DEFAULT = "only-for-development-and-tests"  # of earlier versions: everybody knows it
REMEDY = "Make one with: python -c 'import secrets; print(secrets.token_urlsafe(48))'"


def secret_value(environment: Mapping[str, str], name: str, default: str = "") -> str:
    """The secret without surrounding white space. Raises ImproperlyConfigured when both sources are given, or when the
    file cannot be read or is empty."""
    path = environment.get(f"{name}_FILE", "")
    if not path:
        return environment.get(name, "").strip() or default
    if environment.get(name):
        raise ImproperlyConfigured(f"Both {name} and {name}_FILE are set. Set one of them.")
    try:
        found = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{name}_FILE: {path} cannot be read: {error}.") from error
    if not found:
        raise ImproperlyConfigured(f"{name}_FILE: {path} is empty.")
    return found


def signing_keys(environment: Mapping[str, str]) -> tuple[str, list[str]]:
    """MLHUB_SECRET_KEY ("" when none is given), and MLHUB_SECRET_KEY_FALLBACKS, separated by commas or lines.

    Raises ImproperlyConfigured for one that can be guessed.
    """
    key = secret_value(environment, "MLHUB_SECRET_KEY")
    fallbacks = re.findall(r"[^,\s]+", secret_value(environment, "MLHUB_SECRET_KEY_FALLBACKS"))
    for name, found in [("MLHUB_SECRET_KEY", key), *(("MLHUB_SECRET_KEY_FALLBACKS", f) for f in fallbacks)]:
        if found and (found == OLD_DEFAULT or len(found) < MIN_KEY_LENGTH or _is_regular(found)):
            raise ImproperlyConfigured(f"{name} can be guessed: it needs {MIN_KEY_LENGTH} random characters. {REMEDY}")
    return key, fallbacks


def _is_regular(key: str) -> bool:
    """Whether the key repeats itself or counts on, such as one character many times, a word and again, or the alphabet:
    then it, or the steps from each of its characters to the next, need few bytes."""
    text = key.encode()
    steps = bytes((after - before) % 256 for before, after in pairwise(text))
    return min(_packed_bytes(text), _packed_bytes(steps)) < MIN_PACKED_BYTES


def _packed_bytes(text: bytes) -> int:
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)  # without a header and a checksum
    return len(packer.compress(text) + packer.flush())
