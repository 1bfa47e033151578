"""Apply: a Plan's decisions to rows and backend. Each decision stands alone: one that fails leaves the others."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from mlhub.backends.protocol import Backend, BackendUnavailableError
from mlhub.control.reconcile import ask_to_stop, start
from mlhub.control.telling import Teller
from mlhub.events.wakes import job_topic, wake_on_commit
from mlhub.jobs import attempts
from mlhub.jobs.attempts import Held
from mlhub.jobs.models import Attempt, Job
from mlhub.jobs.states import JobState
from scheduler.decisions import Decision, Keep, Launch, Plan, Prediction, Preempt, Resize, Wait

logger = logging.getLogger(__name__)
NOTICEABLE_S = 1.0  # predictions that move by less are not written,
NOTICEABLE_PART = 0.02  # or by less than this part of the time that is left
TOLD = ["explanations", "reason", "predicted_start_at", "predicted_finish_at", "predicted_finish_p90_at"]


def apply_plan(plan: Plan, *, backend: Backend, now: datetime) -> list[dict[str, str]]:
    """[{job, decision, outcome}], for the record of the round; keeps and waits are left out of it."""
    found = Job.objects.select_related("project").filter(id__in=[UUID(d.job) for d in plan.decisions])
    rows = {str(job.id): job for job in found}
    teller = Teller.of(rows)
    _tell([(rows[d.job], d) for d in plan.decisions if d.job in rows], teller)
    applied = []
    for decision in plan.decisions:
        job = rows.get(decision.job)
        if job is not None and isinstance(decision, Launch | Resize | Preempt):
            outcome = _act(backend, job, decision, teller, now=now)
            applied.append({"job": decision.job, "decision": type(decision).__name__.lower(), "outcome": outcome})
    return applied


def _act(backend: Backend, job: Job, decision: Launch | Resize | Preempt, teller: Teller, *, now: datetime) -> str:
    try:
        if isinstance(decision, Launch):
            return _launch(backend, job, decision, teller, now=now)
        reason = "resized" if isinstance(decision, Resize) else "preempted"
        attempt = Attempt.objects.live().select_related("job").filter(job=job).first()
        if attempt is None or job.state not in (JobState.STARTING, JobState.RUNNING):
            return "moved"
        return reason if ask_to_stop(backend, attempt, reason=reason, now=now) else "moved"
    except BackendUnavailableError as error:
        logger.warning("apply.delayed job=%s error=%s", job.id, error)
        return "delayed"


def _launch(backend: Backend, job: Job, decision: Launch, teller: Teller, *, now: datetime) -> str:
    allocation = decision.allocation
    attempt = attempts.open_attempt(
        job,
        mode=allocation.mode,
        n_workers=allocation.n_workers,
        n_servers=allocation.n_servers,
        held=[Held(s.node, s.gpus, s.n_servers) for s in allocation.shares],
        predicted_step_s=decision.prediction.step_s,
        reason=decision.explanations[0].reason,
        now=now,
        explanations=teller.tell(job, decision.explanations),
        not_before=None,
        **_first_prediction(job, decision.prediction),
    )
    if attempt is None:
        return "moved"
    placed = Attempt.objects.select_related(
        "job__project__organisation", "job__dataset_version", "job__model_version__code_version"
    ).get(pk=attempt.pk)
    return start(backend, placed, now=now)


def _tell(decided: Sequence[tuple[Job, Decision]], teller: Teller) -> None:
    """Writes reasons and predictions where they changed, all at once; streams of those jobs are woken then."""
    changed = {job.pk: job for job, decision in decided if _note(job, decision, teller)}
    if not changed:
        return
    with transaction.atomic():
        # locked, so that what somebody else moves meanwhile is left alone
        now = Job.objects.select_for_update().filter(id__in=changed).values_list("id", "state")
        unmoved = [changed[job_id] for job_id, state in now.order_by("id") if state == changed[job_id].state]
        Job.objects.bulk_update(unmoved, TOLD, batch_size=500)
        wake_on_commit(*(job_topic(job.pk) for job in unmoved))


def _note(job: Job, decision: Decision, teller: Teller) -> bool:
    """Takes reasons and predictions over into the row in memory; whether anything changed."""
    changes = _predictions(job, decision.prediction)
    if isinstance(decision, Keep | Wait) or job.state != JobState.QUEUED:
        explanations = teller.tell(job, decision.explanations)
        if explanations != job.explanations:
            changes["explanations"] = explanations
    reason = str(decision.explanations[0].reason) if decision.explanations else ""
    if isinstance(decision, Wait) and reason != job.reason:
        changes["reason"] = reason
    for field, value in changes.items():
        setattr(job, field, value)
    return bool(changes)


def _predictions(job: Job, prediction: Prediction) -> dict[str, Any]:
    wanted = {
        "predicted_start_at": _at(prediction.start_p50_s) if job.started_at is None else None,
        "predicted_finish_at": _at(prediction.finish_p50_s),
        "predicted_finish_p90_at": _at(prediction.finish_p90_s),
    }
    now = timezone.now()
    return {field: at for field, at in wanted.items() if _has_moved(getattr(job, field), at, now=now)}


def _first_prediction(job: Job, prediction: Prediction) -> dict[str, Any]:
    """The finish foretold at the first launch is kept, to be held against the truth."""
    changes = {
        "predicted_finish_at": _at(prediction.finish_p50_s),
        "predicted_finish_p90_at": _at(prediction.finish_p90_s),
    }
    if job.first_predicted_finish_at is None and prediction.finish_p50_s is not None:
        changes["first_predicted_finish_at"] = _at(prediction.finish_p50_s)
    return changes


def _has_moved(before: datetime | None, after: datetime | None, *, now: datetime) -> bool:
    if before is None or after is None:
        return before is not after
    left_s = abs((after - now).total_seconds())
    return abs((after - before).total_seconds()) >= max(NOTICEABLE_S, NOTICEABLE_PART * left_s)


def _at(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None  # beyond the calendar
