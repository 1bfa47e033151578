# SPDX-License-Identifier: Apache-2.0
"""A place in the organisation-wide stream, from which on it reports everything that came after."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Max

from mlhub.core.errors import InvalidInputError
from mlhub.events.models import Event
from mlhub.events.wakeups import newest_mark

MAX_DIGITS = 19


@dataclass(frozen=True)
class EventCursor:
    """Written "<event id>-<mark>", or "<event id>" where no mark is known: then every kind may have changed since.

    mark: the newest change that was reported, of those of which no event is kept (wakeups.MARKS).
    """

    event_id: int
    mark: int | None

    def __str__(self) -> str:
        return str(self.event_id) if self.mark is None else f"{self.event_id}-{self.mark}"

    @classmethod
    def parse(cls, text: str) -> EventCursor:
        """Raises InvalidInputError."""
        event_id, dash, mark = text.partition("-")
        if not all(_is_number(part) for part in ((event_id, mark) if dash else (event_id,))):
            raise InvalidInputError(
                "This is no cursor of the stream, such as 1204-1790000000000417, and no event's id.",
                field="last_event_id",
                remedy="Send the id of the last frame, or leave it out to begin now.",
            )
        return cls(int(event_id), int(mark) if dash else None)


def newest_event_id() -> int:
    """0 when there are none. Reads the database."""
    return Event.objects.aggregate(newest=Max("id"))["newest"] or 0


def present_cursor() -> str:
    """Where the stream is now, in writing: what is read after this call holds all that came before. Reads the
    database and Redis; never waits long for Redis."""
    return str(EventCursor(newest_event_id(), newest_mark()))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS
