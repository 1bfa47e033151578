# SPDX-License-Identifier: Apache-2.0
"""A place in a job's live stream: the newest event and the newest point or line that a reader has seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self
from uuid import UUID

from django.db.models import Max

from mlhub.events.models import Event
from mlhub.jobs.models import Job


@dataclass(frozen=True)
class Cursor:
    """event_id: of the events app; seq: of the job's points and lines (mlhub/metrics/models.py)."""

    event_id: int
    seq: int

    def __str__(self) -> str:
        return f"{self.event_id}-{self.seq}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError for anything that str() did not make."""
        event_id, _, seq = text.partition("-")
        if not (event_id.isdecimal() and seq.isdecimal()) or len(text) > 40:
            raise ValueError(f"{text!r} is no cursor of a job's stream")
        return cls(int(event_id), int(seq))


def cursor_of(job_id: UUID) -> Cursor:
    """Now: what comes after it has not been seen by any client that reads the job from here on."""
    event_id = Event.objects.filter(subject_id=job_id).aggregate(newest=Max("id"))["newest"]
    seq = Job.objects.filter(pk=job_id).values_list("stream_cursor__last_seq", flat=True).first()
    return Cursor(event_id or 0, seq or 0)
