# SPDX-License-Identifier: Apache-2.0
"""Reads of how the scheduler stands: what decides, what failed, who waits in which order, and why."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from mlhub.control.deciding.policy_selection import FALLBACK_POLICY
from mlhub.control.learning.restart_costs import costs_of
from mlhub.control.models import JobDecision, Round, SchedulerSettings, SchedulerState, ShadowDecision
from mlhub.control.monitoring.round_health import round_health
from mlhub.core.api.strict import shown
from mlhub.core.errors import InvalidQueryError
from mlhub.core.languages.catalogue import in_readers_language
from mlhub.core.languages.reasons import sentence_of
from mlhub.jobs.limits.capacity import usable_types
from mlhub.jobs.models import Job
from mlhub.jobs.querysets import JobQuerySet
from mlhub.jobs.states import JobState, predicate
from mlhub.jobs.submission import notebooks
from mlhub.jobs.submission.notebooks import pause_reason
from mlhub.tenants.models import User

N_HISTORY = 100
N_SHADOWED = 500  # rounds that the shadow's summary looks at
USUAL_S = 60.0  # within which a round sees a new job


def status(user: User) -> dict[str, Any]:
    """Returns how the scheduler does. Messages of failures are for administrators: they may name machines and code."""
    chosen, _ = SchedulerSettings.objects.get_or_create(pk=1)
    state, _ = SchedulerState.objects.get_or_create(pk=1)
    health = round_health(now=timezone.now())
    is_fresh = state.settings_version == chosen.version
    fallback_since = state.fallback_since if is_fresh else None
    no_notebooks = notebooks.why_not_offered()
    return {
        "policy": FALLBACK_POLICY if fallback_since else chosen.policy,
        "chosen_policy": chosen.policy,
        "fallback_since": fallback_since,
        "n_failures": state.n_failures if is_fresh else 0,
        "failure": state.failure if user.is_staff else None,
        "round_at": state.round_at,
        "round_ms": state.round_ms,
        "decide_ms": state.decide_ms,
        "n_waiting": len(state.order),
        "backend_away_since": state.backend_away_since,
        "backend_message": state.backend_message if user.is_staff else "",
        "offers_notebooks": no_notebooks is None,
        "no_notebooks_because": "" if no_notebooks is None else f"{no_notebooks.message} {no_notebooks.remedy}",
        "rounds": {
            "attempted_at": state.attempted_at,
            "stopped_since": health.stopped_since,
            "cause": health.cause,
            "message": health.message if user.is_staff else "",
        },
    }


def backend_status(user: User) -> dict[str, Any]:
    """Whether the machines can be reached, for the page of the cluster."""
    state, _ = SchedulerState.objects.get_or_create(pk=1)
    return {
        "name": settings.BACKEND,
        "away_since": state.backend_away_since,
        "message": state.backend_message if user.is_staff else "",
    }


def places() -> dict[str, int]:
    """By job: its place among all that wait, from 1, as the newest round had it."""
    state, _ = SchedulerState.objects.get_or_create(pk=1)
    return {job_id: place for place, job_id in enumerate(state.order, start=1)}


def that_may_use(gpu_type: str, waiting: JobQuerySet) -> JobQuerySet:
    """Returns those of these jobs that may use GPUs of the type. Raises InvalidQueryError for one that there is not."""
    naming = Q(resources__gpu_types__contains=[gpu_type])
    known = sorted(usable_types(()))
    if gpu_type in known:
        return waiting.filter(naming | Q(resources__gpu_types__isnull=True))
    named = waiting.filter(naming)
    if not named.exists():  # else they wait for a type that has left the cluster
        raise InvalidQueryError(
            f"The cluster has no GPUs of type {shown(gpu_type)}.",
            field="gpu_type",
            remedy=f"Name one of {', '.join(known)}." if known else "Wait until the cluster was observed.",
        )
    return named


def why(job: Job) -> dict[str, Any]:
    """Why the job is where it is: the newest round's reasons; and what was decided before, newest first."""
    place = places().get(str(job.id)) if job.state == JobState.QUEUED else None
    return {
        "job": str(job.id),
        "state": job.state,
        "headline": in_readers_language(_headline(job)),
        "explanations": job.explanations,
        "place": place,
        "predicted_start_at": job.predicted_start_at,
        "predicted_start_p90_at": job.predicted_start_p90_at,
        "predicted_finish_at": job.predicted_finish_at,
        "predicted_finish_p90_at": job.predicted_finish_p90_at,
        "costs": costs_of(job),
        "history": JobDecision.objects.filter(job=job).order_by("-id")[:N_HISTORY],
    }


def _headline(job: Job) -> str:
    if job.failure:
        return str(job.failure["message"])
    if job.explanations:
        return sentence_of(job.explanations[0])
    if job.state == JobState.QUEUED:
        return _unseen(job)
    return pause_reason(job) or f"The job {predicate(job.state)}."


def _unseen(job: Job) -> str:
    """Of a job that waits without a reason: it is new, or rounds do not reach it."""
    waited_s = (timezone.now() - job.submitted_at).total_seconds()
    if waited_s < USUAL_S:
        return "It was submitted a moment ago; the next scheduling round considers it."
    state, _ = SchedulerState.objects.get_or_create(pk=1)
    last = (
        f"the last round was at {state.round_at:%Y-%m-%d %H:%M:%S} UTC" if state.round_at else "there was no round yet"
    )
    return f"No scheduling round has considered it for {waited_s / 60:.0f} min; {last}."


def rounds_about(job: Job) -> Any:
    """Stored rounds that started, resized or preempted the job; each with what it did to this job only."""
    found = Round.objects.filter(applied__contains=[{"job": str(job.id)}]).select_related("shadow")
    return found.defer("snapshot", "plan")


def shadow_summary() -> dict[str, Any] | None:
    """Of the newest rounds with the present shadow policy; None where none was asked yet."""
    chosen, _ = SchedulerSettings.objects.get_or_create(pk=1)
    if not chosen.shadow_policy:
        return None
    rows = list(
        ShadowDecision.objects.filter(policy=chosen.shadow_policy, parameters=chosen.shadow_parameters).order_by(
            "-round_id"
        )[:N_SHADOWED]
    )
    well = [row for row in rows if not row.error]
    both = [row for row in well if row.mean_finish_s is not None and row.real_mean_finish_s is not None]
    return {
        "policy": chosen.shadow_policy,
        "n_rounds": len(rows),
        "n_failed": len(rows) - len(well),
        "n_decisions": sum(row.n_jobs for row in well),
        "n_different": sum(row.n_different for row in well),
        "decide_ms": _median([row.decide_ms for row in well]),
        "mean_finish_s": _mean([row.mean_finish_s for row in both]),
        "real_mean_finish_s": _mean([row.real_mean_finish_s for row in both]),
        "last_error": next((row.error for row in rows if row.error), ""),
    }


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
