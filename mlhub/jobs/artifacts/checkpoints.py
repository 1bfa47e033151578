# SPDX-License-Identifier: Apache-2.0
"""What people do with a job's checkpoints: list, pin, delete, and begin a new job from one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from mlhub.core.errors import ConflictError, InvalidInputError, NotFoundError
from mlhub.jobs.actions import clone_job
from mlhub.jobs.artifacts import checkpoint_files
from mlhub.jobs.events import append_of_job
from mlhub.jobs.models import BEST, Checkpoint, Job, JobKind
from mlhub.jobs.retention.checkpoint_retention import jobs_without_checkpoints
from mlhub.jobs.retention.retention_holds import checkpoint_kind, hold_on
from mlhub.jobs.states import ENDED, predicate
from mlhub.registry.actions import register_checkpoint
from mlhub.registry.models import ModelVersion
from mlhub.storage import actions as storage
from mlhub.storage.staging import copy_into
from mlhub.storage.stores import IncomingBytes, blob_store
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import User
from mlhub.tenants.roles import Role

MAX_LISTED = 200  # in one answer, unless more are asked for
MAX_ASKED = 1000
MAX_DELETED = 10_000  # at once


@dataclass(frozen=True)
class ListedCheckpoint:
    """is_reachable: whether it can be downloaded, pinned, deleted and forked here.

    False where only pods reach it, and for a script's own, whose format only the script knows.
    """

    row: Checkpoint
    is_reachable: bool

    @property
    def is_best(self) -> bool:
        """Whether it is weights of one of the best evaluations, and not what a restart resumes from."""
        return self.row.name.startswith(BEST)


def checkpoints_of(job: Job, *, after: Checkpoint | None = None, limit: int = MAX_LISTED) -> list[ListedCheckpoint]:
    """Those that are there, newest first; where only pods reach the files, those that were reported.

    after: only those that come after this one.
    """
    rows = Checkpoint.objects.filter(attempt__job=job).select_related("attempt")
    if jobs_without_checkpoints(timezone.now()).filter(pk=job.pk).exists():
        rows = rows.filter(is_pinned=True)
    is_reachable = checkpoint_files.are_reachable(job.pk)
    if is_reachable:
        rows = rows.filter(Q(name__in=checkpoint_files.names(job.pk)) | ~Q(name__regex=checkpoint_files.NAME.pattern))
    if after is not None:
        number, step = after.attempt.number, after.step
        same = Q(attempt__number=number)
        rows = rows.filter(
            Q(attempt__number__lt=number) | (same & Q(step__lt=step)) | (same & Q(step=step, pk__lt=after.pk))
        )
    newest = rows.order_by("-attempt__number", "-step", "-id")[:limit]
    return [ListedCheckpoint(row, is_reachable and not checkpoint_files.is_script_s(row.name)) for row in newest]


def checkpoint_of(job: Job, checkpoint_id: int) -> Checkpoint:
    """Raises NotFoundError for one that the job does not have."""
    return _all_of(job, [checkpoint_id])[0]


def _all_of(job: Job, ids: Collection[int]) -> list[Checkpoint]:
    """By id. Raises NotFoundError where the job does not have one of them."""
    found = Checkpoint.objects.filter(attempt__job=job).select_related("attempt").in_bulk(list(ids))
    missing = sorted(set(ids) - set(found))
    if missing:
        raise NotFoundError(f"{job.name} has no checkpoint {missing[0]}.")
    return [found[checkpoint_id] for checkpoint_id in sorted(found)]


def pin_checkpoint(job: Job, checkpoint: Checkpoint, *, is_pinned: bool, actor: User) -> Checkpoint:
    """A pinned checkpoint is removed by no training and no retention, until a person deletes it or the job.

    Raises GoneError, ConflictError, NotAllowedError.
    """
    _require_right(job, actor)
    checkpoint_files.pin(job.pk, checkpoint.name, is_pinned=is_pinned)
    with transaction.atomic():
        Checkpoint.objects.filter(pk=checkpoint.pk).update(is_pinned=is_pinned)
        append_of_job(
            "job.checkpoint_pinned" if is_pinned else "job.checkpoint_unpinned", job, actor=actor, step=checkpoint.step
        )
    checkpoint.is_pinned = is_pinned
    return checkpoint


def delete_checkpoints(job: Job, ids: Collection[int], *, actor: User) -> int:
    """Deletes all of them or none; returns how many. Raises NotFoundError, ConflictError, NotAllowedError."""
    _require_right(job, actor)
    checkpoint_files.require_reachable(job.pk)
    chosen = _all_of(job, ids)
    with transaction.atomic():
        found = Job.objects.select_for_update(of=("self",)).get(pk=job.pk)
        _refuse_needed(found, chosen)
        Checkpoint.objects.filter(pk__in=[checkpoint.pk for checkpoint in chosen]).delete()
        steps = sorted({checkpoint.step for checkpoint in chosen})
        append_of_job("job.checkpoints_deleted", job, actor=actor, n=len(chosen), steps=steps[:20])
        names = [checkpoint.name for checkpoint in chosen]
        transaction.on_commit(partial(checkpoint_files.remove, job.pk, names))
    return len(chosen)


def fork_job(job: Job, checkpoint: Checkpoint, *, name: str = "", actor: User, **overrides: Any) -> Job:
    """Submits a new job with the same request, but for the overrides, that starts from the checkpoint's weights.

    Raises what submit_job raises, GoneError, ConflictError, and QuotaExceededError where the weights do not fit in.
    """
    if job.kind != JobKind.TRAIN:
        raise InvalidInputError(
            f"{job.name} is a job of kind {job.kind}: it has no checkpoints.", field="checkpoint", remedy="Clone it."
        )
    require_role(actor, job.project, Role.SUBMITTER)
    file, size_bytes = checkpoint_files.open_weights(job.pk, checkpoint.name)
    with file:
        checkpoint_files.refuse_sparse(file, checkpoint.name)
        if not _is_registered(job, checkpoint, size_bytes):
            storage.require_room(job.project, size_bytes=size_bytes, user=actor)
        with blob_store().stage(limit_bytes=size_bytes) as staging:  # pods may still write: no more than was checked
            copy_into(staging, file)
            with transaction.atomic():
                version = _version_of(job, checkpoint, staging, actor=actor)
                return clone_job(
                    job,
                    name=name or f"{job.name} from step {checkpoint.step}"[:100],
                    actor=actor,
                    model_version=version,
                    **overrides,
                )


def _is_registered(job: Job, checkpoint: Checkpoint, size_bytes: int) -> bool:
    """Whether an earlier fork stored weights of this size already: they take no further storage."""
    same = ModelVersion.objects.filter(
        metadata__checkpoint=_origin(job, checkpoint), model__project=job.project, size_bytes=size_bytes
    )
    return same.exclude(weights=None).exists()


def _origin(job: Job, checkpoint: Checkpoint) -> dict[str, Any]:
    return {"job": str(job.pk), "attempt": checkpoint.attempt.number, "step": checkpoint.step}


def _version_of(job: Job, checkpoint: Checkpoint, staging: IncomingBytes, *, actor: User) -> ModelVersion:
    """The checkpoint's weights as a model version, which forks of the same checkpoint share."""
    return register_checkpoint(
        code_version=job.model_version.code_version or job.model_version,
        dataset_version=job.dataset_version,
        staging=staging,
        metadata={
            "checkpoint": _origin(job, checkpoint),
            "hyperparameters": job.hyperparameters,
            "strategy": job.strategy,
            "facts": {},
            "steps": checkpoint.step,
            "seed": job.seed,
        },
        metrics=checkpoint.metrics,
        created_by=actor,
        project=job.project,
    )


def _refuse_needed(job: Job, chosen: Collection[Checkpoint]) -> None:
    pinned = next((checkpoint for checkpoint in chosen if checkpoint.is_pinned), None)
    if pinned is not None:
        raise ConflictError(
            f"The checkpoint of step {pinned.step} is pinned.", code="checkpoint_pinned", remedy="Unpin it first."
        )
    if job.state in ENDED:
        hold = hold_on(job, kinds=(checkpoint_kind(job),))
        if hold is not None:
            raise hold
        return
    resumable = Checkpoint.objects.filter(attempt__job=job).exclude(name__startswith=BEST)
    newest = resumable.order_by("-attempt__number", "-step").first()
    for checkpoint in chosen:
        if checkpoint == newest or checkpoint.name.startswith(BEST):
            what = "the trained model may be made of" if checkpoint.name.startswith(BEST) else "the job continues from"
            raise ConflictError(
                f"The checkpoint of step {checkpoint.step} is what {what}, and the job {predicate(job.state)}.",
                code="job_live",
                remedy="Delete it when the job has ended.",
                state=job.state,
            )


def _require_right(job: Job, actor: User) -> None:
    require_role(actor, job.project, Role.SUBMITTER if job.created_by_id == actor.id else Role.ADMIN)
