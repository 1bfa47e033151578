# SPDX-License-Identifier: Apache-2.0
"""Changes of which no event is kept, since they come too often for the audit: progress, rounds, lines of a build.

The organisation-wide stream reports that something of a kind has changed, and its client reads again what it shows of
that. Redis remembers when each was last (wakeups.MARKS), so a client that was away hears of what changed since then;
while Redis is away, or where it may have lost something, every kind is reported.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from uuid import UUID

from mlhub.events.hub import Listener
from mlhub.events.wakeups import mark_on_commit, marked_since


class ChangeKind(StrEnum):
    ROUND = "round"  # the scheduler made a round: the queue, nodes and predictions
    PROGRESS = "progress"  # jobs made steps, or stored points, checkpoints or lines
    RUN = "run"  # something was logged to a run
    DELIVERY = "delivery"  # a webhook's delivery was made, tried or ended
    BUILD = "build"  # an environment's build began, or wrote to its log
    ANNOUNCEMENT = "announcement"  # administrators say something to everybody, or to an organisation, or no more
    QUEUED_WORK = "queued_work"  # an inspection or another item of the work queue began or ended


EVERYONE = "everyone"  # of the whole platform
ANYONE = "anyone"  # of any organisation: for those who see all of them


def report_change(kind: ChangeKind, *, organisation_id: UUID | str | None) -> None:
    """Reports it to the organisation's streams (None: to all streams) once the present transaction commits."""
    if organisation_id is None:
        mark_on_commit(_topic(kind, EVERYONE))
    else:
        mark_on_commit(_topic(kind, organisation_id), _topic(kind, ANYONE))


class ChangeTopics:
    """What one stream listens to: the changes of these organisations, or of all, and of the platform."""

    def __init__(self, organisation_ids: Iterable[UUID | str], *, sees_all: bool) -> None:
        whose = [EVERYONE, ANYONE] if sees_all else [EVERYONE, *organisation_ids]
        self._topics = {kind: [_topic(kind, one) for one in whose] for kind in ChangeKind}

    def names(self) -> list[str]:
        return [topic for topics in self._topics.values() for topic in topics]

    def heard(self, listener: Listener) -> list[ChangeKind]:
        """The kinds of which something changed since this was asked last; while Redis is away, all of them."""
        if not listener.is_connected:
            return list(ChangeKind)
        return self._kinds_of({topic for topic in self.names() if listener.heard(topic)})

    def since(self, mark: int | None) -> list[ChangeKind]:
        """The kinds of which something changed since that mark, or may have; all for None. Reads Redis."""
        return self._kinds_of(marked_since(mark, self.names()))

    def _kinds_of(self, changed: set[str]) -> list[ChangeKind]:
        return [kind for kind, topics in self._topics.items() if not changed.isdisjoint(topics)]


def _topic(kind: ChangeKind, whose: UUID | str) -> str:
    return f"change:{kind}:{whose}"
