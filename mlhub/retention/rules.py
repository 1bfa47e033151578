# SPDX-License-Identifier: Apache-2.0
"""What expires, by kind. Every function removes one batch in one transaction and returns how many rows that was.

A batch is bounded and is recorded in its own transaction: a task that is killed leaves whole batches, and what pages
say was removed is what was removed. 0 = nothing is left to remove.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from mlhub.control.models import PolicyReplay, Round
from mlhub.environments.actions import remove_environment
from mlhub.environments.models import PythonEnvironment
from mlhub.events.models import Event
from mlhub.events.retention import oldest, prune
from mlhub.jobs.models import RESULTS, Artifact, Attempt, Job, PassedValidation, RemovedPart
from mlhub.jobs.retention.retention_rules import Cutoffs
from mlhub.jobs.states import ENDED
from mlhub.metrics.models import LogLine, MetricPoint, Series, UsageSample
from mlhub.metrics.profiling.profiles import due_for_removal, remove_recording
from mlhub.storage import actions as storage
from mlhub.storage.resumable import remove_written_before
from mlhub.tracking.actions import remove_run
from mlhub.tracking.models import Run
from mlhub.tracking.points import remove_points
from mlhub.webhooks.models import Delivery

RemovalRule = Callable[[datetime, datetime, int], int]
OwnedRule = Callable[[Cutoffs, int], int]


def remove_logs(kept: Cutoffs, limit: int) -> int:
    """Lines of attempts that ended before their project keeps them, oldest attempts first."""
    of_attempt = LogLine.objects.filter(attempt=OuterRef("pk"))
    attempt = due_attempts(kept).filter(Exists(of_attempt)).order_by("ended_at").select_related("job").first()
    if attempt is None:
        return 0
    lines = LogLine.objects.filter(attempt=attempt)
    bound = lines.order_by("seq").values_list("seq", flat=True)[limit - 1 : limit].first()
    with transaction.atomic():
        n = (lines if bound is None else lines.filter(seq__lte=bound)).delete()[0]
        _record_kept(attempt.job, "logs", kept, n=n)
    return n


def remove_metrics(kept: Cutoffs, limit: int) -> int:
    """Points of jobs that finished before their project keeps them. A job keeps its final metrics."""
    of_series = MetricPoint.objects.filter(series=OuterRef("pk"))
    due = kept.due(project="job__project", ended_at="job__finished_at")
    series = Series.objects.filter(due, Exists(of_series)).order_by("id").select_related("job").first()
    if series is None:
        return 0
    points = MetricPoint.objects.filter(series=series)
    bound = points.order_by("step").values_list("step", flat=True)[limit - 1 : limit].first()
    with transaction.atomic():
        n = (points if bound is None else points.filter(step__lte=bound)).delete()[0]
        _record_kept(series.job, "metrics", kept, n=n)
    return n


def remove_usage(kept: Cutoffs, limit: int) -> int:
    """Samples of what the pods of attempts used of their machines, once their project does not keep them any longer."""
    of_attempt = UsageSample.objects.filter(attempt=OuterRef("pk"))
    attempt = due_attempts(kept).filter(Exists(of_attempt)).order_by("ended_at").first()
    if attempt is None:
        return 0
    numbers = UsageSample.objects.filter(attempt=attempt).order_by("number").values_list("number", flat=True)
    bound = numbers[limit - 1 : limit].first()
    due = UsageSample.objects.filter(attempt=attempt)
    return (due if bound is None else due.filter(number__lte=bound)).delete()[0]


def remove_profiles(before: datetime, now: datetime, limit: int) -> int:  # noqa: ARG001 (the rules' signature)
    """Recordings of torch's profiler that ended before that time, with their traces."""
    due = due_for_removal(before, min(limit, 100))
    with transaction.atomic():
        for recording in due:
            remove_recording(recording)
    return len(due)


def remove_events(before: datetime, now: datetime, limit: int) -> int:
    """The oldest events of people and of the platform, up to the first of a job that has not ended.

    They are one hash chain, so only its beginning can go.
    """
    with transaction.atomic():
        unfinished = Job.objects.filter(pk=OuterRef("subject_id")).exclude(state__in=ENDED)
        first_needed = Event.objects.filter(Exists(unfinished)).order_by("id").values_list("id", flat=True).first()
        due = oldest(before=before, limit=limit, below=first_needed)
        of_jobs = due.filter(subject_kind="job").order_by("subject_id").values_list("subject_id")
        for job_id, n in of_jobs.annotate(n=Count("id")):
            if Job.objects.filter(pk=job_id).exists():
                _record(job_id, "events", before=before, now=now, n=n)
        return prune(due, before=before)


def remove_results(kept: Cutoffs, limit: int) -> int:
    """Files of predictions, once their project does not keep them; their bytes are collected once unheld."""
    due = Artifact.objects.filter(due_results(kept)).select_related("attempt__job")
    n = 0
    with transaction.atomic():
        for artifact in due.order_by("id")[: min(limit, 100)]:
            attempt = artifact.attempt
            artifact.delete()
            if not attempt.artifacts.exclude(name__in=RESULTS).exists():
                storage.release(owner_kind="artifact", owner_id=attempt.id)
            _record_kept(attempt.job, "results", kept, n=1)
            n += 1
    return n


def remove_rounds(before: datetime, now: datetime, limit: int) -> int:  # noqa: ARG001 (the rules' signature)
    """Rounds with their snapshots. What was decided on each job is kept apart from them."""
    return _delete(Round.objects.filter(at__lt=before), limit)


def remove_replays(before: datetime, now: datetime, limit: int) -> int:  # noqa: ARG001 (the rules' signature)
    """Replays of the policy lab that ended before that time."""
    return _delete(PolicyReplay.objects.filter(ended_at__lt=before), limit)


def remove_validations(before: datetime, now: datetime, limit: int) -> int:  # noqa: ARG001 (the rules' signature)
    """Dry runs that passed. Jobs keep their profiles."""
    return _delete(PassedValidation.objects.filter(at__lt=before), limit)


def remove_environments(before: datetime, now: datetime, limit: int) -> int:  # noqa: ARG001 (the rules' signature)
    """Environments that no version of code requires, built before that time, with their layers."""
    due = PythonEnvironment.objects.unused_since(before).values_list("id", flat=True)[:limit]
    return sum(remove_environment(environment_id) for environment_id in list(due))


def remove_deliveries(before: datetime, now: datetime, limit: int) -> int:  # noqa: ARG001 (the rules' signature)
    """Deliveries of webhooks that ended before that time."""
    return _delete(Delivery.objects.filter(ended_at__lt=before), limit)


def remove_deleted_runs(before: datetime, now: datetime, limit: int) -> int:  # noqa: ARG001 (the rules' signature)
    """A run that a client of MLflow deleted before that time, with its curves and artifacts."""
    due = Run.objects.filter(job=None, deleted_at__lt=before).select_related("project__organisation")
    run = due.order_by("deleted_at", "id").first()
    if run is None:
        return 0
    n = remove_points(run, limit=limit)
    if n == 0:
        remove_run(run, actor=None)
    return n or 1


def remove_uploads(before: datetime, now: datetime, limit: int) -> int:  # noqa: ARG001 (the rules' signature)
    """Uploads that no bytes have arrived of since that time, with what has arrived."""
    return remove_written_before(before, limit=limit)


OWNED_RULES: Mapping[str, OwnedRule] = {  # of which projects may have rules of their own
    "logs": remove_logs,
    "metrics": remove_metrics,
    "usage": remove_usage,
    "results": remove_results,
}
RULES: Mapping[str, RemovalRule] = {
    "profiles": remove_profiles,
    "events": remove_events,
    "rounds": remove_rounds,
    "replays": remove_replays,
    "validations": remove_validations,
    "environments": remove_environments,
    "deleted_runs": remove_deleted_runs,
    "deliveries": remove_deliveries,
    "uploads": remove_uploads,
}


def due_attempts(kept: Cutoffs) -> QuerySet[Attempt]:
    """Attempts that ended before their project keeps what they left."""
    return Attempt.objects.filter(kept.due(project="job__project", ended_at="ended_at"))


def due_results(kept: Cutoffs) -> Q:
    """Which artifacts are files of predictions that are not kept any longer."""
    return Q(name__in=RESULTS) & kept.due(project="attempt__job__project", ended_at="attempt__ended_at")


def cutoff(kind: str, *, now: datetime) -> datetime | None:
    """Before this time it is removed; None = it is kept for good."""
    days = settings.KEPT_DAYS[kind]
    return now - timedelta(days=days) if days else None


def _delete(due: QuerySet[Any], limit: int) -> int:
    """Counts the rows themselves, not those that go with them."""
    with transaction.atomic():
        ids = list(due.order_by("id").values_list("id", flat=True)[:limit])
        due.model._default_manager.filter(id__in=ids).delete()
    return len(ids)


def _record_kept(job: Job, kind: str, kept: Cutoffs, *, n: int) -> None:
    before, days = kept.before(job.project_id), kept.days_of(job.project_id)
    assert before is not None
    assert days is not None
    _record(job.pk, kind, before=before, now=kept.now, n=n, days=days)


def _record(job_id: UUID, kind: str, *, before: datetime, now: datetime, n: int, days: float | None = None) -> None:
    """days: that it was kept; None = those of the installation."""
    part, _ = RemovedPart.objects.select_for_update().get_or_create(
        job_id=job_id, kind=kind, defaults={"before": before, "kept_days": 0, "at": now}
    )
    part.before, part.kept_days, part.at = before, settings.KEPT_DAYS[kind] if days is None else days, now
    part.n_removed += n
    part.save()
