# SPDX-License-Identifier: Apache-2.0
"""A split that the dataset gives: the words that say which part an example is of."""

from __future__ import annotations

SPLIT = "split"  # the usual name of the field or column
HELD_OUT = {"train": False, "training": False} | dict.fromkeys(("test", "val", "valid", "validation", "dev"), True)


def holds_out(word: str) -> bool | None:
    """Whether examples of this part are held out; None for a word that names no part."""
    return HELD_OUT.get(word.strip().lower())
