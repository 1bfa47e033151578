# SPDX-License-Identifier: Apache-2.0
"""Replaces the values of secrets in text that leaves a pod. Standard library only."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

MASK = "***"
LEAST_LENGTH = 4  # shorter lines of a value are left, since they are in any text
FIXED_FIELDS = ("type", "phase", "cause")  # of a report: words of the platform's own, by which it is understood


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


def masked_report(report: Any, mask: Callable[[str], str]) -> Any:
    """A parsed report with every text masked, but for FIXED_FIELDS. Names of fields and numbers stay as they are:
    a secret such as 5432 or loss would make the report one that the platform refuses."""
    if not isinstance(report, dict):
        return _masked(report, mask)
    return {key: value if key in FIXED_FIELDS else _masked(value, mask) for key, value in report.items()}


def _masked(value: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {key: _masked(inner, mask) for key, inner in value.items()}
    return [_masked(inner, mask) for inner in value] if isinstance(value, list) else value
