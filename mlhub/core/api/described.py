# SPDX-License-Identifier: Apache-2.0
"""What the columns of a ModelSerializer mean: OpenAPI shows it as the description of each property."""

from __future__ import annotations


def described(**texts: str) -> dict[str, dict[str, str]]:
    """A Meta.extra_kwargs that gives each named column its help_text. Declared fields name their own."""
    return {name: {"help_text": text} for name, text in texts.items()}
