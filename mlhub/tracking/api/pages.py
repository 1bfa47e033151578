# SPDX-License-Identifier: Apache-2.0
"""Pages of MLflow's searches: a token that says where the next one begins."""

from __future__ import annotations

from mlhub.core.errors import InvalidInputError
from mlhub.tracking.api.bodies import Fields, integer, text
from mlhub.tracking.search import MAX_PAGE

MAX_OFFSET = 100_000_000  # more rows than a search or a curve can have


def page_of(fields: Fields, *, default: int, most: int) -> tuple[int, int]:
    """Offset and length of the page, which has at most `most` rows whatever was asked for: clients go on by the token.

    Raises InvalidInputError.
    """
    limit = integer(fields, "max_results", default=default)
    token = text(fields, "page_token", default="0", most=20)  # of digits
    if not 0 < limit <= MAX_PAGE:
        raise InvalidInputError(f"max_results must be from 1 to {MAX_PAGE:,}.", field="max_results")
    if not (token.isascii() and token.isdecimal() and int(token) <= MAX_OFFSET):
        raise InvalidInputError("The page token is not one of a search.", field="page_token")
    return int(token), min(limit, most)


def page_token(following: int, *, has_more: bool) -> dict[str, str]:
    """A part of the answer; nothing on the last page."""
    return {"next_page_token": str(following)} if has_more else {}
