# SPDX-License-Identifier: Apache-2.0
"""The scheduler's reasons and predictions as the job's own people may read them, written where they changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection

from mlhub.backends.protocol import ItemKind
from mlhub.control.fault_isolation.isolation import FaultIsolation
from mlhub.events.wakeups import job_topic, wake_on_commit
from mlhub.jobs.models import Job, JobKind
from mlhub.jobs.states import ENDED, JobState
from mlhub.tenants.models import Membership
from mlhub.tenants.roles import Role
from scheduler.api.plan import Decision, Explanation, Keep, Prediction, Wait

ANOTHER_ORGANISATION = "another organisation's job"
ANOTHER_PROJECT = "another project's job"
DECIDED = frozenset(JobState) - {*ENDED, JobState.PAUSED}
NOTICEABLE_S = 1.0  # predictions that move by less are not written,
NOTICEABLE_PART = 0.02  # or by less than this part of the time that is left
# one statement for all jobs; rows whose state another transaction changed meanwhile are left alone
WRITE = """
UPDATE jobs_job AS job
SET explanations = changed.explanations::jsonb, reason = changed.reason, predicted_start_at = changed.start_at,
    predicted_start_p90_at = changed.start_p90_at, predicted_finish_at = changed.finish_at,
    predicted_finish_p90_at = changed.finish_p90_at
FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[], %s::timestamptz[], %s::timestamptz[], %s::timestamptz[],
    %s::timestamptz[]) AS changed (id, state, explanations, reason, start_at, start_p90_at, finish_at, finish_p90_at)
WHERE job.id = changed.id AND job.state = changed.state
RETURNING job.id
"""


@dataclass(frozen=True)
class ExplanationWriter:
    """names: of every job of the round, by id, with those who may read it: of the organisation that it is of.

    with_outsiders: organisations that have any. There who may read a job are those of its project, as outsiders see
    the sentences of that project's jobs.
    """

    names: Mapping[str, tuple[str, str]]
    with_outsiders: frozenset[UUID] = frozenset()

    @classmethod
    def of(cls, jobs: Mapping[str, Job]) -> ExplanationWriter:
        outsiders = Membership.objects.filter(role=Role.OUTSIDER).values_list("organisation_id", flat=True).distinct()
        with_outsiders = frozenset(outsiders) if jobs else frozenset()
        names = {id: (job.name, _readers(job, with_outsiders)) for id, job in jobs.items()}
        return cls(names, with_outsiders)

    def for_job(self, job: Job, explanations: Sequence[Explanation]) -> list[dict[str, Any]]:
        """Returns [{reason, sentence, facts}] as the API shows them to all who see the job."""
        hidden = ANOTHER_PROJECT if job.project.organisation_id in self.with_outsiders else ANOTHER_ORGANISATION
        return self.for_readers(_readers(job, self.with_outsiders), explanations, hidden=hidden)

    def for_readers(
        self, readers: str, explanations: Sequence[Explanation], *, hidden: str = ANOTHER_ORGANISATION
    ) -> list[dict[str, Any]]:
        """Returns [{reason, sentence, facts}] as these may read them. hidden: what stands for others' jobs."""
        found = []
        for explanation in explanations:
            facts = {key: self._named(value, readers, hidden) for key, value in explanation.facts.items()}
            shown = replace(explanation, facts=facts)
            plain = json.loads(json.dumps(facts, default=str))
            found.append({"reason": str(shown.reason), "sentence": shown.sentence, "facts": plain})
        return found

    def _named(self, value: Any, readers: str, hidden: str) -> Any:
        if not isinstance(value, str) or value not in self.names:
            return value
        name, owner = self.names[value]
        return name if owner == readers else hidden


def _readers(job: Job, with_outsiders: frozenset[UUID]) -> str:
    organisation = job.project.organisation_id
    return str(job.project_id if organisation in with_outsiders else organisation)


def write_explanations(
    decided: Iterable[tuple[Job, Decision]], writer: ExplanationWriter, *, now: datetime, isolation: FaultIsolation
) -> None:
    """Writes reasons and predictions where they changed, all at once; streams of those jobs are woken then.

    Not of jobs that ended or were paused while the round decided: no later one would take them away.
    isolation: gets the jobs whose explanations cannot be written.
    """
    changed = [
        job
        for job, decision in decided
        if job.state in DECIDED
        and isolation.attempt(
            partial(_update_row, job, decision, writer, now=now), kind=ItemKind.JOB, name=str(job.pk), default=False
        )
    ]
    if changed:
        isolation.all_or_each(changed, _write, kind=ItemKind.JOB, name=lambda job: job.pk)


def _write(changed: Sequence[Job]) -> None:
    columns = (
        [job.pk for job in changed],
        [job.state for job in changed],
        [json.dumps(job.explanations) for job in changed],
        [job.reason for job in changed],
        [job.predicted_start_at for job in changed],
        [job.predicted_start_p90_at for job in changed],
        [job.predicted_finish_at for job in changed],
        [job.predicted_finish_p90_at for job in changed],
    )
    with connection.cursor() as cursor:
        cursor.execute(WRITE, columns)
        wake_on_commit(*(job_topic(row[0]) for row in cursor.fetchall()))


def kind_of(decision: Decision) -> str:
    """launch, resize, preempt, keep or wait."""
    return type(decision).__name__.lower()


def moment(seconds: float | None) -> datetime | None:
    """A time on the snapshot's clock."""
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None  # beyond the calendar


def predicted_finish(job: Job, prediction: Prediction) -> dict[str, datetime | None]:
    """The columns of the job. A notebook ends when its owner ends it; what rounds assume of it is for other jobs."""
    is_predicted = job.kind != JobKind.NOTEBOOK
    return {
        "predicted_finish_at": moment(prediction.finish_p50_s) if is_predicted else None,
        "predicted_finish_p90_at": moment(prediction.finish_p90_s) if is_predicted else None,
    }


def _update_row(job: Job, decision: Decision, writer: ExplanationWriter, *, now: datetime) -> bool:
    """Copies reasons and predictions into the row in memory; returns whether anything changed."""
    changes = _predictions(job, decision.prediction, now=now)
    if isinstance(decision, Keep | Wait) or job.state != JobState.QUEUED:
        explanations = writer.for_job(job, decision.explanations)
        if explanations != job.explanations:
            changes["explanations"] = explanations
    reason = str(decision.explanations[0].reason) if decision.explanations else ""
    if isinstance(decision, Wait) and reason != job.reason:
        changes["reason"] = reason
    for field, value in changes.items():
        setattr(job, field, value)
    return bool(changes)


def _predictions(job: Job, prediction: Prediction, *, now: datetime) -> dict[str, Any]:
    starts = job.state == JobState.QUEUED or job.started_at is None  # a preempted job starts again
    wanted = {
        "predicted_start_at": moment(prediction.start_p50_s) if starts else None,
        "predicted_start_p90_at": moment(prediction.start_p90_s) if starts else None,
        **predicted_finish(job, prediction),
    }
    return {field: at for field, at in wanted.items() if _has_moved(getattr(job, field), at, now=now)}


def _has_moved(before: datetime | None, after: datetime | None, *, now: datetime) -> bool:
    if before is None or after is None:
        return before is not after
    left_s = abs((after - now).total_seconds())
    return abs((after - before).total_seconds()) >= max(NOTICEABLE_S, NOTICEABLE_PART * left_s)
