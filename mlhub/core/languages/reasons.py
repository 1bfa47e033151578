# SPDX-License-Identifier: Apache-2.0
"""Reasons of the scheduler in the reader's language. They are stored in English, with their codes and facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlhub.core.languages.catalogue import is_translated

Say = Callable[[str, Mapping[str, Any]], str | None]
_sayers: list[Say] = []


def reasons_are_said_by(say: Say) -> None:
    """say: of a reason's code and facts, the sentence in the reader's language; None where it has none. From the app
    that knows the scheduler, since this one stands below it."""
    _sayers[:] = [say]


def sentence_of(explanation: Mapping[str, Any]) -> str:
    """The sentence of a stored {reason, sentence, facts}, in the language of the present request."""
    stored = str(explanation["sentence"])
    if not is_translated():
        return stored
    for say in _sayers:
        return say(str(explanation["reason"]), explanation.get("facts") or {}) or stored
    return stored
