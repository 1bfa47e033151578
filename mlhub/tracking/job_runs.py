# SPDX-License-Identifier: Apache-2.0
"""A job as a run: its state, configuration and curves in MLflow's words, and points that are logged to it.

A metric that is logged as "loss" is the job's train/loss, as with every other way of reporting; it is read back by both
names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from mlhub.core.errors import ConflictError
from mlhub.jobs.models import Attempt, Job
from mlhub.jobs.states import JobState, predicate
from mlhub.metrics.points.curves import curve_parts, exact_points, newest_points
from mlhub.metrics.points.tracked_points import TrackedPoint, store_tracked_points
from mlhub.tracking.limits import LoggedPoint
from mlhub.tracking.models import RunStatus
from mlhub.wire.report import metric_name

OWN_GROUP = "train/"  # of names without a slash
STATUS = {
    JobState.QUEUED: RunStatus.SCHEDULED,
    JobState.PAUSED: RunStatus.SCHEDULED,
    JobState.STARTING: RunStatus.RUNNING,
    JobState.RUNNING: RunStatus.RUNNING,
    JobState.STOPPING: RunStatus.RUNNING,
    JobState.SUCCEEDED: RunStatus.FINISHED,
    JobState.FAILED: RunStatus.FAILED,
    JobState.CANCELLED: RunStatus.KILLED,
}


def status_of(job: Job) -> RunStatus:
    return STATUS[JobState(job.state)]


def live_attempt(job: Job) -> Attempt:
    """Raises ConflictError for a job whose pods do not run: nothing is logged to its curves."""
    found: Attempt | None = Attempt.objects.live().filter(job=job, is_fenced=False).select_related("job").first()
    if found is None:
        raise ConflictError(
            f"The job {job.name} {predicate(job.state)}: metrics and artifacts are logged to a job only while it runs.",
            code="job_not_running",
            remedy="Log to a run of its own: leave MLFLOW_RUN_ID out.",
        )
    return found


def store_job_points(job: Job, points: Sequence[LoggedPoint]) -> None:
    """Values that are not finite are left out, as they are of a pod's reports."""
    finite = [
        TrackedPoint(stored_name(point.key), point.step, point.at_ms / 1000, point.value)
        for point in points
        if math.isfinite(point.value)
    ]
    if finite:
        store_tracked_points(live_attempt(job), finite)


def stored_name(key: str) -> str:
    name = metric_name(key)
    return name if "/" in name else f"{OWN_GROUP}{name}"[:250]


def latest_metrics(jobs: Sequence[Job]) -> dict[UUID, list[dict[str, Any]]]:
    """The newest point of each metric, by job; of train/loss also as loss."""
    at_ms = {job.pk: _at_ms(job) for job in jobs}
    found: dict[UUID, list[dict[str, Any]]] = {pk: [] for pk in at_ms}
    for job_id, name, step, value in newest_points(list(at_ms)) if at_ms else ():
        short = name.removeprefix(OWN_GROUP)
        for key in {name} if "/" in short else {name, short}:
            found[job_id].append({"key": key, "value": value, "timestamp": at_ms[job_id], "step": step})
    return {pk: sorted(rows, key=lambda one: str(one["key"])) for pk, rows in found.items()}


def history(job: Job, key: str, *, offset: int, limit: int) -> list[tuple[int, int, float]]:
    """(step, milliseconds, value) of what counts of a metric, by step."""
    for name in (key, stored_name(key)):
        for parts in curve_parts(job.pk, key=name):
            points = exact_points(parts, limit=limit, offset=offset)
            return [(point.step, int(point.at.timestamp() * 1000), point.value) for point in points]
    return []


def configuration(job: Job) -> dict[str, str]:
    """What the job was submitted with, as parameters."""
    own = {"epochs": job.epochs, "batch_size": job.batch_size, "seed": job.seed}
    return {key: str(value) for key, value in {**own, **job.hyperparameters}.items()}


def own_tags(job: Job) -> dict[str, str]:
    return {
        "mlflow.runName": job.name,
        "mlflow.user": job.created_by.get_username(),
        "mlflow.source.type": "JOB",
        "mlhub.job_state": str(job.state),
    }


def _at_ms(job: Job) -> int:
    return int((job.progress_at or job.submitted_at).timestamp() * 1000)
