# SPDX-License-Identifier: Apache-2.0
"""The scheduler's sentences in the language of the present request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlhub.core.languages.catalogue import filling, template_in_readers_language
from scheduler.api.reasons import SENTENCES, Reason, filled_in


def said(template: str, facts: Mapping[str, Any]) -> str:
    """The template in the reader's language, filled with the facts."""
    return filled_in(template_in_readers_language(template), filling(facts))


def say_reason(reason: str, facts: Mapping[str, Any]) -> str | None:
    """None of a reason that this version does not know, and of facts that another version stored."""
    try:
        return said(SENTENCES[Reason(reason)], facts)
    except (KeyError, ValueError, TypeError):
        return None
