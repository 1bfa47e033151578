# SPDX-License-Identifier: Apache-2.0
"""LIKE and ILIKE of MLflow's filters without backtracking: % stands for any text, _ for any one character.

A pattern is cut at its %; each piece is looked for behind the one before it, where its first place is as good as any
later one. The time is therefore bounded by the lengths of text and pattern multiplied, whatever a caller writes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from mlhub.core.errors import InvalidInputError

MAX_PATTERN = 250  # characters
MAX_WILDCARDS = 20  # runs of %


@dataclass(frozen=True)
class LikePattern:
    """pieces: what is between the runs of %; the first begins the text and the last ends it, each of a fixed length."""

    pieces: tuple[re.Pattern[str], ...]
    lengths: tuple[int, ...]

    def matches(self, text: str) -> bool:
        first, last = self.pieces[0], self.pieces[-1]
        end = len(text) - self.lengths[-1]
        if len(self.pieces) == 1:
            return end == 0 and first.match(text) is not None
        place = self.lengths[0]
        if first.match(text) is None or end < place or last.match(text, end) is None:
            return False
        for piece in self.pieces[1:-1]:
            found = piece.search(text, place, end)
            if found is None:
                return False
            place = found.end()
        return True


@lru_cache(maxsize=256)
def like_pattern(text: str, *, ignores_case: bool) -> LikePattern:
    """Raises InvalidInputError for a pattern that is too long, or has too many wildcards."""
    pieces = re.split("%+", text)
    if len(text) > MAX_PATTERN or len(pieces) > MAX_WILDCARDS + 1:
        raise InvalidInputError(
            f"The pattern {text[:50]!r} is too long.",
            field="filter",
            remedy=f"Give at most {MAX_PATTERN} characters, with at most {MAX_WILDCARDS} times %.",
        )
    flags = re.DOTALL | (re.IGNORECASE if ignores_case else re.NOFLAG)
    return LikePattern(
        tuple(re.compile("".join("." if c == "_" else re.escape(c) for c in piece), flags) for piece in pieces),
        tuple(len(piece) for piece in pieces),
    )
