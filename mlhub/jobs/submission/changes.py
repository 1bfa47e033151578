# SPDX-License-Identifier: Apache-2.0
"""Changes of a job's request after its submission: its priority, and what it asks of the cluster."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import F

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.jobs.events import append_of_job
from mlhub.jobs.limits.capacity import check_capacity, check_resources, types_of
from mlhub.jobs.limits.host_limits import check_host_limits
from mlhub.jobs.limits.priorities import check_priority
from mlhub.jobs.limits.profile_limits import indivisible
from mlhub.jobs.limits.user_limits import check_user_room
from mlhub.jobs.models import Job, JobKind, Preflight
from mlhub.jobs.states import ENDED, HOLDING_GPUS, Intent, predicate
from mlhub.jobs.submission.admission import check_request
from mlhub.jobs.submission.predictions import ASKED, check_prediction
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import User
from mlhub.tenants.quota_terms.user_quotas import quotas_above
from mlhub.tenants.roles import Role

OF_RESOURCES = ("n_workers", "gpu_types")
WORKERS = ("min_workers", "max_workers")
WHILE_RUNNING = frozenset({"priority", "max_workers"})
CHECKED = ("batch_size", "hyperparameters", "mode", "strategy", "target_metric", "target_value")


def change_job(job: Job, *, actor: User, **changes: Any) -> Job:
    """Changes priority, min_workers, max_workers, n_workers or gpu_types ([] = any); the next round sees it.

    A job that holds GPUs takes another priority, another max_workers and further gpu_types only. Raises
    InvalidInputError and QuotaExceededError as its submission would, ConflictError for a job that has ended, is being
    cancelled or holds GPUs, NotAllowedError.
    """
    require_role(actor, job.project, Role.SUBMITTER if job.created_by_id == actor.id else Role.ADMIN)
    with transaction.atomic():
        found = Job.objects.select_for_update(of=("self",)).select_related("project__organisation").get(pk=job.pk)
        _check_state(found, changes)
        before = _values(found)
        fields = _merged(found, changes)
        if "priority" in changes:
            check_priority(found.project, changes["priority"], actor=actor)
        fields |= _workers_of_checked(found, fields)
        for field, value in fields.items():
            setattr(found, field, value)
        after = _values(found)
        changed = {name: after[name] for name in after if after[name] != before[name]}
        if changed:
            # a launch that was decided on the former request finds another version, and is left to the next round
            Job.objects.filter(pk=found.pk).update(**fields, version=F("version") + 1)
            append_of_job(
                "job.changed",
                found,
                actor=actor,
                before={name: before[name] for name in changed},
                after=changed,
            )
    job.refresh_from_db()
    return job


def _check_state(job: Job, changes: dict[str, Any]) -> None:
    if job.state in ENDED or job.intent == Intent.CANCEL:
        raise ConflictError(
            f"The job cannot be changed: it {predicate(job.state) if job.state in ENDED else 'is being cancelled'}.",
            code="job_ended",
            remedy="Clone it with the changes.",
            state=job.state,
        )
    allowed = WHILE_RUNNING | ({"gpu_types"} if _widens_types(job, changes) else set())
    fixed = sorted(changes.keys() - allowed)
    if job.state in HOLDING_GPUS and fixed:
        raise ConflictError(
            f"{fixed[0]} cannot be changed while the job holds GPUs.",
            code="job_holds_gpus",
            field=fixed[0],
            remedy="Pause the job, change it, and resume it.",
            state=job.state,
        )


def _widens_types(job: Job, changes: dict[str, Any]) -> bool:
    """Whether the job may still use every type of GPU that it may use now."""
    wanted, present = changes.get("gpu_types"), job.resources.get("gpu_types")
    return not wanted or (bool(present) and set(present) <= set(wanted))


def _values(job: Job) -> dict[str, Any]:
    """What a change may concern, as it is."""
    values = {"priority": job.priority, "min_workers": job.min_workers, "max_workers": job.max_workers}
    return {**values, **{name: job.resources.get(name) for name in OF_RESOURCES}}


def _merged(job: Job, changes: dict[str, Any]) -> dict[str, Any]:
    """The columns to write; a bound moves with what is moved past it."""
    fields = {name: value for name, value in changes.items() if name not in OF_RESOURCES}
    resources = {**job.resources, **{name: changes[name] for name in OF_RESOURCES if name in changes}}
    if "gpu_types" in changes and not changes["gpu_types"]:
        resources.pop("gpu_types", None)
    if resources != job.resources:
        fields["resources"] = resources
    return fields


def _workers_of_checked(job: Job, fields: dict[str, Any]) -> dict[str, Any]:
    """The numbers of workers of the changed request, as its submission would have stored them.

    Raises what the submission would raise.
    """
    moved = {name: fields[name] for name in WORKERS if name in fields}
    request = {name: getattr(job, name) for name in (*CHECKED, *WORKERS, "resources")} | fields
    if job.kind == JobKind.NOTEBOOK:
        if moved:
            field = next(iter(moved))
            raise InvalidInputError("A notebook has one pod.", field=field, remedy=f"Leave {field} out.")
        check_resources(request)
    elif job.kind == JobKind.TRAIN:
        request = check_request(job.project, job.dataset_version, job.model_version, request)
    else:
        if moved:
            asked = {name: job.prediction[name] for name in ASKED}
            request |= check_prediction(job.kind, job.dataset_version, job.model_version, request | asked)
        check_capacity(job.project, request["min_workers"], types_of(request))
        check_resources(request)
    limits = quotas_above(job.project, job.created_by)
    check_host_limits(job.project, {"mode": job.mode, **request}, limits, whose=job.created_by.username)
    gpu_types = types_of(request)
    check_user_room(limits, job.created_by, n_gpus=request["min_workers"], gpu_types=gpu_types, is_actor=False)
    if moved:
        _check_divisible(job, request)
    return {name: request[name] for name in WORKERS}


def _check_divisible(job: Job, request: dict[str, Any]) -> None:
    """What the dry run, once it passed, found out about the numbers of workers. Raises InvalidInputError."""
    if job.preflight != Preflight.PASSED:
        return  # the dry run will check the bounds that it finds
    error = indivisible(request["min_workers"], request["max_workers"], job.profile)
    if error is not None:
        raise InvalidInputError(error["message"], code=error["code"], field=error["field"], remedy=error["remedy"])
