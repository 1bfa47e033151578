# SPDX-License-Identifier: Apache-2.0
"""What lists of jobs say of running ones at this moment, for those who name it: it costs queries of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from mlhub.jobs.models import Attempt, Job
from mlhub.jobs.states import JobState


class SlowdownBasis(StrEnum):
    """What a slow-down rests on. ALONE: no other job uses its GPUs, nodes or links, so there is none."""

    MEASURED = "measured"
    PREDICTED = "predicted"
    ALONE = "alone"


@dataclass(frozen=True)
class JobSlowdown:
    """ratio: the time of a step next to the others, divided by that without. resource: "" where it is alone."""

    ratio: float
    basis: SlowdownBasis
    resource: str = ""


@dataclass(frozen=True)
class NetworkRate:
    """Bytes a second of one worker, as the job's pods count them; None: that direction was not measured."""

    received_bytes_per_s: float | None
    sent_bytes_per_s: float | None


Measure = Callable[[Sequence[Attempt]], Mapping[UUID, Any]]  # attempts that train, with their job; by attempt, a value
_measures: dict[str, Measure] = {}


def live_member_is(name: str, measure: Measure) -> None:
    """Says by what a member of running jobs is found. From the app that knows it, since this one stands below it."""
    _measures[name] = measure


def note_live_members(jobs: Sequence[Job], names: Collection[str]) -> None:
    """Sets job.live to the named members that are live ones; None of a job that does not run, or was not measured.

    jobs: with their attempts prefetched. The number of queries does not depend on the number of jobs.
    """
    asked = [name for name in _measures if name in names]
    if not asked:
        return
    running = {
        job.pk: attempt
        for job in jobs
        if job.state == JobState.RUNNING
        for attempt in job.attempts.all()
        if attempt.ended_at is None
    }
    found = {name: _measures[name](list(running.values())) if running else {} for name in asked}
    for job in jobs:
        attempt = running.get(job.pk)
        members = {name: None if attempt is None else found[name].get(attempt.pk) for name in asked}
        job.live = members  # type: ignore[attr-defined]
