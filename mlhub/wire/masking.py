# SPDX-License-Identifier: Apache-2.0
"""Replaces the values of secrets in text that leaves a pod. Standard library only."""

from __future__ import annotations

import json
from collections.abc import Iterable

MASK = "***"
LEAST_LENGTH = 4  # shorter lines of a value are left, since they are in any text


class SecretMask:
    """Masks secrets as they stand in text, and as they stand in JSON; of a value of several lines, each line."""

    def __init__(self, values: Iterable[str]) -> None:
        lines = {line.strip() for value in values for line in (value, *value.splitlines())}
        known = {line for line in lines if len(line) >= LEAST_LENGTH}
        known |= {json.dumps(line)[1:-1] for line in known}
        self._known = sorted(known, key=len, reverse=True)  # a secret that contains another one goes first

    def __call__(self, text: str) -> str:
        """The text with MASK in place of every secret."""
        for value in self._known:
            text = text.replace(value, MASK)
        return text
