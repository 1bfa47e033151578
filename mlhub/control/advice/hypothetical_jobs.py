# SPDX-License-Identifier: Apache-2.0
"""A job as if it were submitted: checked like a real one, never saved, with what is known of jobs alike."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mlhub.datasets.models import DatasetVersion
from mlhub.jobs.actions import usual_name
from mlhub.jobs.execution.families import family_of
from mlhub.jobs.models import Job, JobKind, Preflight
from mlhub.jobs.states import JobState
from mlhub.jobs.submission.admission import check_request, check_versions
from mlhub.jobs.submission.further_datasets import check_further, described
from mlhub.jobs.submission.training_defaults import with_training_defaults
from mlhub.metrics.models import SpeedSample
from mlhub.registry.models import ModelVersion
from mlhub.tenants.models import Project, User

HELD_OUT = 0.2  # of the examples, where no job of this kind has been tried out yet


@dataclass(frozen=True)
class HypotheticalJob:
    """basis: what its prediction rests on: measured, validated or guessed."""

    job: Job
    basis: str


def suppose_job(
    project: Project,
    *,
    dataset_version: DatasetVersion | None,
    model_version: ModelVersion,
    actor: User,
    **request: Any,
) -> HypotheticalJob:
    """Raises what submitting it would raise: InvalidInputError, QuotaExceededError, ConflictError.

    dataset_version: None for a script without one. datasets: further versions by name.
    """
    check_versions(project, dataset_version, model_version)
    further = request.pop("datasets", {})
    check_further(project, further, model_version)
    request = with_training_defaults(dataset_version, model_version, request)
    request = check_request(project, dataset_version, model_version, request)
    name = request.pop("name", "") or usual_name(JobKind.TRAIN, dataset_version, model_version)
    job = Job(
        project=project,
        name=name,
        dataset_version=dataset_version,
        datasets=described(further),
        model_version=model_version,
        created_by=actor,
        state=JobState.QUEUED,
        preflight=Preflight.PASSED,
        **request,
    )
    alike = _alike(job)
    job.profile = dict(alike.profile) if alike else {}
    job.steps_total = _steps(job, alike)
    if SpeedSample.objects.filter(family=family_of(job), n_steps__gt=0).exists():
        return HypotheticalJob(job, "measured")
    return HypotheticalJob(job, "validated" if alike else "guessed")


def _alike(job: Job) -> Job | None:
    """The newest job with this code and dataset that was tried out, best one with the same hyperparameters.

    It is of the same organisation: no tenant learns from another's jobs.
    """
    tried = Job.objects.filter(
        dataset_version=job.dataset_version,
        model_version=job.model_version,
        preflight=Preflight.PASSED,
        project__organisation=job.project.organisation_id,
    ).order_by("-id")
    found: Job | None = tried.filter(hyperparameters=job.hyperparameters).first() or tried.first()
    return found


def _steps(job: Job, alike: Job | None) -> int:
    """Returns the steps of the whole training; a similar job shows how many batches an epoch has."""
    examples: float
    if alike is not None and alike.profile.get("steps_total"):
        examples = alike.profile["steps_total"] / alike.epochs * alike.batch_size
    else:
        schema = (job.dataset_version.schema if job.dataset_version is not None else None) or {}
        examples = (1 - HELD_OUT) * float(schema.get("n_examples") or job.batch_size)
    return max(1, math.ceil(examples / job.batch_size) * job.epochs)
