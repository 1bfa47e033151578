# SPDX-License-Identifier: Apache-2.0
"""Tags that people write on jobs and model versions: how many and how long they may be."""

from __future__ import annotations

from collections.abc import Iterable

from mlhub.core.errors import InvalidInputError

MAX_TAGS = 20  # of one job, or of one model version
MAX_TAG_LENGTH = 50


def checked_tags(tags: Iterable[str], *, of: str) -> list[str]:
    """The tags without repeats, by name. of: what has them in the sentence, "A job". Raises InvalidInputError."""
    found = sorted(set(tags))
    if len(found) > MAX_TAGS:
        raise InvalidInputError(
            f"{of} has at most {MAX_TAGS} tags; these are {len(found)}.", field="tags", remedy="Leave some out."
        )
    return found
