# SPDX-License-Identifier: Apache-2.0
"""What people do with jobs: submit, cancel, pause, resume, clone. They change the intent; the platform follows."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.datasets.models import DatasetVersion
from mlhub.environments.secrets import check_secrets
from mlhub.environments.variables import check_variables
from mlhub.jobs.events import append_of_job
from mlhub.jobs.execution import startup, validations
from mlhub.jobs.lifecycle import advance
from mlhub.jobs.limits.capacity import types_of
from mlhub.jobs.limits.host_limits import check_host_limits
from mlhub.jobs.limits.priorities import check_priority
from mlhub.jobs.limits.profile_limits import misfit
from mlhub.jobs.limits.submission_limits import check_resumption, check_storage_left, check_waiting_jobs
from mlhub.jobs.limits.user_limits import check_user_room
from mlhub.jobs.models import Job, JobKind, PassedValidation, Preflight, Submission
from mlhub.jobs.states import ENDED, Intent, JobState, Trigger, predicate
from mlhub.jobs.submission import notebooks
from mlhub.jobs.submission.admission import check_versions
from mlhub.jobs.submission.further_datasets import check_further, described, further_of, protect
from mlhub.jobs.submission.images import check_image_of
from mlhub.jobs.submission.kinds import checked_request
from mlhub.jobs.submission.predictions import ASKED
from mlhub.registry.models import ModelVersion
from mlhub.storage import work_queue
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions import require_open
from mlhub.tenants.models import Project, User
from mlhub.tenants.quota_terms.user_quotas import quotas_above
from mlhub.tenants.roles import Role

HAND_OFF = "mlhub.jobs.tasks.hand_off_job"
CONTINUED: dict[str, Any] = {
    "finished_at": None,
    "failure": None,
    "n_platform_failures": 0,
    "not_before": None,
}  # of a failed job
CLONED = (
    "epochs", "batch_size", "hyperparameters", "seed", "mode", "strategy", "min_workers", "max_workers", "priority",
    "resources", "limits", "environment", "secrets", "image", "target_metric", "target_value",
)  # fmt: skip
CLONED_NOTEBOOK = ("kind", "priority", "resources", "limits", "environment", "secrets", "image")
CLONED_PREDICTION = (
    "kind", "batch_size", "min_workers", "max_workers", "priority", "resources", "limits", "environment", "secrets",
    "image",
)  # fmt: skip


def submit_job(
    project: Project,
    *,
    dataset_version: DatasetVersion | None,
    model_version: ModelVersion,
    name: str = "",
    idempotency_key: str = "",
    cloned_from: Job | None = None,
    received_at: datetime | None = None,
    actor: User,
    **request: Any,
) -> Job:
    """A job in the queue; Celery tries it out before it may hold GPUs. The same key and request give the same job.

    request: kind, epochs, batch_size and the other fields of Job that users set; MLHub chooses what is left out.
    dataset_version: None for a script that reads none. datasets: further versions by name, of scripts.
    received_at: when the request came, where that is known; from then on the job's start is measured.
    With another kind than train, model_version has weights, and request features, output, examples instead of epochs.
    Raises InvalidInputError or QuotaExceededError for what can never run, ConflictError for versions that are still
    being inspected or a key that was used for another request, NotAllowedError.
    """
    require_role(actor, project, Role.SUBMITTER)
    fingerprint = _fingerprint(project, dataset_version, model_version, name, request)
    if idempotency_key and (known := _known(actor, idempotency_key, fingerprint)):
        return known
    require_open(project)
    check_priority(project, request.get("priority", 0), actor=actor)
    kind = request.pop("kind", JobKind.TRAIN)
    check_versions(project, dataset_version, model_version)
    further = request.pop("datasets", {})
    check_further(project, further, model_version)
    limits = quotas_above(project, actor)
    check_storage_left(project, actor, limits)
    given = {"environment": request.pop("environment", {}), "secrets": sorted(set(request.pop("secrets", ())))}
    given["image"] = request.pop("image", "")
    check_image_of(given["image"], model_version)
    check_variables(given["environment"], given["secrets"])
    check_secrets(project, given["secrets"])
    request = checked_request(kind, project, dataset_version, model_version, request)
    check_host_limits(project, request, limits)
    check_user_room(limits, actor, n_gpus=request.get("min_workers", 1), gpu_types=types_of(request))
    job = Job(
        project=project,
        name=name or usual_name(kind, dataset_version, model_version),
        dataset_version=dataset_version,
        datasets=described(further),
        model_version=model_version,
        cloned_from=cloned_from,
        created_by=actor,
        startup={} if received_at is None else startup.with_mark({}, startup.RECEIVED, received_at),
        **request,
        **given,
    )
    try:
        with transaction.atomic():
            check_waiting_jobs(project, actor, limits)
            _store(job, further, actor=actor, key=idempotency_key, fingerprint=fingerprint)
    except IntegrityError:
        # the same key came twice at the same time, and the other one was first
        known = _known(actor, idempotency_key, fingerprint)
        if known is None:
            raise
        return known
    return job


def _store(job: Job, further: dict[str, DatasetVersion], *, actor: User, key: str, fingerprint: str) -> None:
    """Adds a new job to the present transaction, and its dry run to the queue unless an earlier one counts for it."""
    job.validation_key = "" if job.kind == JobKind.NOTEBOOK else validations.key_of(job)
    is_validated = _validate_unstored(job)
    job.save(force_insert=True)
    protect(job, further)
    if key:
        Submission.objects.create(user=actor, key=key, body_sha256=fingerprint, job=job)
    if not is_validated:
        work_queue.enqueue(
            HAND_OFF, job.id, organisation=job.project.organisation, user=actor, is_bulk=True, is_new_subject=True
        )
    # last: from here to the commit no one else can append an event
    append_of_job("job.submitted", job, actor=actor, cloned_from=job.cloned_from and job.cloned_from.id)
    if is_validated:
        _record_validation(job, job.validation)
    job.is_as_stored = True


def clone_job(job: Job, *, name: str = "", actor: User, **overrides: Any) -> Job:
    """Submits a new job with the same request, but for the overrides. Raises what submit_job raises.

    max_batch_size: among the overrides, the end of another range of the batch; None: the batch is fixed.
    """
    if job.kind == JobKind.TRAIN:
        overrides |= _range_of_clone(job, overrides)
        request = {"datasets": further_of(job)} | {field: getattr(job, field) for field in CLONED} | overrides
    elif job.kind == JobKind.NOTEBOOK:
        overrides.pop("max_batch_size", None)
        request = {"datasets": further_of(job)} | {field: getattr(job, field) for field in CLONED_NOTEBOOK} | overrides
    else:
        overrides.pop("max_batch_size", None)
        _refuse_settings_of_training(job, overrides)
        request = {field: getattr(job, field) for field in CLONED_PREDICTION} | overrides
        request |= {field: job.prediction[field] for field in ASKED}
    return submit_job(
        job.project,
        dataset_version=request.pop("dataset_version", job.dataset_version),
        model_version=request.pop("model_version", job.model_version),
        name=name or job.name,
        cloned_from=job,
        actor=actor,
        **request,
    )


def _range_of_clone(job: Job, overrides: dict[str, Any]) -> dict[str, Any]:
    """Takes max_batch_size out of the overrides; returns the hyperparameters that follow from it, where any do."""
    if "max_batch_size" not in overrides:
        return {}
    most, given = overrides.pop("max_batch_size"), overrides.get("hyperparameters")
    if most is None and given is not None:
        return {}
    base = job.hyperparameters if given is None else given
    kept = {name: value for name, value in base.items() if name != "max_batch_size"}
    return {"hyperparameters": kept if most is None else {**kept, "max_batch_size": most}}


def cancel_job(job: Job, *, actor: User | None) -> Job:
    """For good. A job that holds GPUs leaves them in the control loop's next round. actor: None is the platform."""
    return _intend(job, Intent.CANCEL, Trigger.CANCEL, at_once_in=(JobState.QUEUED, JobState.PAUSED), actor=actor)


def pause_job(job: Job, *, actor: User | None) -> Job:
    """Until it is resumed; a running job saves first. actor: None is the platform, which needs no role."""
    return _intend(job, Intent.PAUSE, Trigger.PAUSE, at_once_in=(JobState.QUEUED,), actor=actor)


def resume_job(job: Job, *, actor: User) -> Job:
    """Back to the queue, under the limits of a submission; a paused or failed job goes on from its last checkpoint.

    A failed one that never passed its dry run is refused: it would fail again.
    Raises what submit_job raises of limits that were reached while it was paused, and ConflictError, NotAllowedError.
    """
    if job.kind == JobKind.NOTEBOOK:
        notebooks.check_offered()
    return _intend(job, Intent.RUN, Trigger.RESUME, at_once_in=(JobState.PAUSED, JobState.FAILED), actor=actor)


def continue_cancelled_job(job: Job, *, actor: User) -> Job:
    """Back to the queue, of a job that the platform cancelled: a trial whose study goes on. actor: in whose name.

    People are refused this: what they cancel stays cancelled. It goes on from its last checkpoint, or anew without one.
    Raises what submit_job raises of limits, ConflictError, NotAllowedError.
    """
    require_role(actor, job.project, Role.SUBMITTER if job.created_by_id == actor.id else Role.ADMIN)
    with transaction.atomic():
        found = (
            Job.objects.select_for_update(of=("self",))
            .select_related("project__organisation", "created_by")
            .get(pk=job.pk, state=JobState.CANCELLED)
        )
        check_resumption(found, actor=actor)
        changes: dict[str, Any] = {**CONTINUED, "intent": Intent.RUN}
        if found.preflight == Preflight.PENDING:  # its dry run was withdrawn when it was cancelled
            work_queue.enqueue(HAND_OFF, found.id, organisation=found.project.organisation, user=actor, is_bulk=True)
        advance(
            found.pk, trigger=Trigger.RESUME, reason="resume_by_platform", actor=actor, seen_version=found.version,
            **changes,
        )  # fmt: skip
    job.refresh_from_db()
    return job


def pass_preflight(job: Job, *, profile: dict[str, Any], validation: PassedValidation | None = None) -> bool:
    """Lets the job be scheduled. Returns False when another dry run was first, or the job has ended.

    validation: the dry run by which it may, its own or an earlier one.
    """
    with transaction.atomic():
        changed = Job.objects.filter(pk=job.pk, preflight=Preflight.PENDING).update(
            preflight=Preflight.PASSED,
            profile=profile,
            steps_total=profile.get("steps_total", 0),
            validation=validation,
            startup=startup.with_mark(job.startup, startup.VALIDATED, timezone.now()),
        )
        if changed:
            _record_validation(job, validation)
    return bool(changed)


def reuse_validation(job: Job, validation: PassedValidation) -> bool:
    """Lets the job be scheduled by an earlier dry run. Returns False when it does not fit what that one measured."""
    profile = validations.profile_for(job, validation)
    if misfit(job, profile) is not None:
        return False
    with transaction.atomic():
        if pass_preflight(job, profile=profile, validation=validation):
            work_queue.withdraw([job.pk])
            job.refresh_from_db(fields=["preflight", "profile", "steps_total", "validation", "startup"])
    return True


def _validate_unstored(job: Job) -> bool:
    """As pass_preflight(), of a job that is not stored yet. False: it needs a dry run of its own."""
    validation = validations.find(job)
    if job.kind == JobKind.NOTEBOOK:  # nothing to try out
        profile = notebooks.PROFILE
    elif validation is None or misfit(job, profile := validations.profile_for(job, validation)) is not None:
        return False
    job.preflight, job.profile, job.validation = Preflight.PASSED, profile, validation
    job.steps_total = profile.get("steps_total", 0)
    job.startup = startup.with_mark(job.startup, startup.VALIDATED, timezone.now())
    return True


def _record_validation(job: Job, validation: PassedValidation | None) -> None:
    earlier = validation.job_id if validation is not None and validation.job_id != job.pk else None
    facts: dict[str, Any] = {"validated_by": earlier} if earlier else {}
    append_of_job("job.preflight_passed", job, **facts)


def fail_preflight(job: Job, *, failure: dict[str, Any]) -> None:
    """Fails a job that cannot work, unless another transaction moved it meanwhile."""
    with transaction.atomic():
        changed = Job.objects.filter(pk=job.pk, preflight=Preflight.PENDING).update(preflight=Preflight.FAILED)
        found = Job.objects.select_for_update().get(pk=job.pk)
        if not changed:
            return
        if found.state == JobState.PAUSED:
            advance(job.pk, trigger=Trigger.RESUME, reason="preflight")
        if found.state not in ENDED:
            advance(job.pk, trigger=Trigger.REJECT, reason="preflight", failure=failure)


def _intend(job: Job, intent: Intent, trigger: Trigger, *, at_once_in: tuple[JobState, ...], actor: User | None) -> Job:
    if actor is not None:
        needed = Role.SUBMITTER if job.created_by_id == actor.id else Role.ADMIN
        require_role(actor, job.project, needed)
    with transaction.atomic():
        found = (
            Job.objects.select_for_update(of=("self",))
            .select_related("project__organisation", "created_by")
            .get(pk=job.pk)
        )
        is_repeated = found.intent == intent and (found.state not in ENDED or intent is Intent.CANCEL)
        is_continued = found.state == JobState.FAILED and intent is Intent.RUN and found.preflight == Preflight.PASSED
        _check_open(found, intent, is_continued=is_continued)
        if intent is Intent.CANCEL:
            work_queue.withdraw([found.pk])  # a dry run without use would cost the organisation a turn
        if not is_repeated:
            if intent is Intent.RUN:
                check_resumption(found, actor=actor or found.created_by)
            Job.objects.filter(pk=job.pk).update(intent=intent)
            append_of_job(f"job.{'resume' if intent is Intent.RUN else intent}_asked", found, actor=actor)
        if found.state in at_once_in:
            changes = CONTINUED if is_continued else {}
            reason = f"{trigger}_by_{'user' if actor else 'platform'}"
            advance(job.pk, trigger=trigger, reason=reason, actor=actor, seen_version=found.version, **changes)
    job.refresh_from_db()
    return job


def _check_open(job: Job, intent: Intent, *, is_continued: bool) -> None:
    """Raises ConflictError for a job that is being cancelled, or has ended; to cancel it once more is no mistake.

    is_continued: it has failed, and goes on from its last checkpoint.
    """
    is_repeated = job.state == JobState.CANCELLED and intent is Intent.CANCEL
    if job.state in ENDED and not is_continued and not is_repeated:
        raise ConflictError(
            f"The job has ended: it {predicate(job.state)}.",
            code="job_ended",
            remedy="Clone it to run it again.",
            state=job.state,
        )
    if job.intent == Intent.CANCEL and intent is not Intent.CANCEL:
        raise ConflictError(
            "The job is being cancelled.",
            code="job_cancelled",
            remedy="Clone it to run it again.",
            state=job.state,
        )


def _refuse_settings_of_training(job: Job, overrides: dict[str, Any]) -> None:
    """A prediction takes its hyperparameters, seed and strategy from the training. Raises InvalidInputError."""
    for field in overrides:
        if field in CLONED and field not in CLONED_PREDICTION:
            raise InvalidInputError(
                f"A job of kind {job.kind} does not take {field}.", field=field, remedy=f"Leave {field} out."
            )


def usual_name(kind: str, dataset: DatasetVersion | None, model: ModelVersion) -> str:
    """The name of a job that was given none."""
    if kind == JobKind.NOTEBOOK:
        return "notebook"
    verb = "" if kind == JobKind.TRAIN else f"{kind}: "
    place = "" if dataset is None else f" on {dataset.dataset.name}"
    return f"{verb}{model.model.name}{place}"[:100]


def _known(actor: User, key: str, fingerprint: str) -> Job | None:
    used = Submission.objects.filter(user=actor, key=key).select_related("job").first()
    if used is None:
        return None
    if used.body_sha256 != fingerprint:
        raise ConflictError(
            "This Idempotency-Key was used for another request.",
            code="idempotency_key_reused",
            field="Idempotency-Key",
            remedy="Use a new key for a new job.",
        )
    return used.job


def _fingerprint(
    project: Project, dataset: DatasetVersion | None, model: ModelVersion, name: str, request: dict[str, Any]
) -> str:
    body = [str(project.id), None if dataset is None else str(dataset.id), str(model.id), name, request]
    return hashlib.sha256(json.dumps(body, sort_keys=True, default=str).encode()).hexdigest()
