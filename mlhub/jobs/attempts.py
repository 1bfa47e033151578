# SPDX-License-Identifier: Apache-2.0
"""The life of an attempt, as the control loop moves it along with its job; every function is one transaction."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Max

from mlhub.core.installation import first_attempt_number
from mlhub.events.models import Event
from mlhub.jobs.events import append_of_attempt
from mlhub.jobs.execution.attempt_ends import attempt_closed
from mlhub.jobs.execution.causes import failure, judge_failure
from mlhub.jobs.execution.credentials import token_of
from mlhub.jobs.lifecycle import advance
from mlhub.jobs.models import Allocation, Artifact, Attempt, Job
from mlhub.jobs.states import Intent, Trigger
from mlhub.registry.actions import register_trained
from mlhub.registry.models import Kind
from mlhub.tenants.sign_in.authentication import hash_token
from mlhub.wire.exits import Cause, Fault
from mlhub.wire.launch import BatchDecision

WEIGHTS = "weights.safetensors"
_VAGUE = (Cause.UNKNOWN, Cause.KILLED, Cause.CRASHED, Cause.PEER_LOST)  # what a pod reported itself explains more
_STANDING = [
    "number", "started_at", "created_at", "n_workers", "job__state", "job__intent", "job__version", "job__steps_total",
    "job__steps_done",
]  # fmt: skip


@dataclass(frozen=True)
class Held:
    """What an attempt holds on one node: GPU indices and parameter servers."""

    node: str
    slots: tuple[int, ...]
    n_servers: int


def open_attempt(
    job: Job,
    *,
    mode: str,
    n_workers: int,
    n_servers: int,
    held: Sequence[Held],
    predicted_step_s: float | None,
    reason: str,
    now: datetime,
    batch: BatchDecision | None = None,
    **changes: Any,
) -> Attempt | None:
    """QUEUED becomes STARTING with an attempt and its allocations. Returns None when the job was moved first.

    batch: with which it begins; None: the batch is fixed.
    """
    with transaction.atomic():
        newest = job.attempts.aggregate(newest=Max("number"))["newest"] or 0
        number = max(newest + 1, first_attempt_number())
        attempt = Attempt(
            job=job,
            number=number,
            mode=mode,
            n_workers=n_workers,
            n_servers=n_servers,
            predicted_step_s=predicted_step_s,
            first_step=job.steps_done,
            last_step=job.steps_done,
            batch_decision={} if batch is None else asdict(batch),
            batch_size=None if batch is None else batch.batch_size,
        )
        attempt.token_hash = hash_token(token_of(attempt.id))
        size = {"number": number, "mode": mode, "n_workers": n_workers, "n_servers": n_servers}
        moved = advance(
            job.id,
            trigger=Trigger.LAUNCH,
            reason=reason,
            attempt_id=attempt.id,
            now=now,
            seen_version=job.version,
            facts={**size, "nodes": [h.node for h in held]},
            **changes,
        )
        if moved is None:
            return None
        attempt.save(force_insert=True)
        Allocation.objects.bulk_create(
            Allocation(attempt=attempt, node=h.node, slots=list(h.slots), n_servers=h.n_servers) for h in held
        )
    return attempt


def record_batch_decision(job: Job, batch: BatchDecision | None) -> bool:
    """Stores the decision, which the live attempt's trainer receives with its next report.

    Returns whether it is another one than before.
    """
    if batch is None:
        return False
    live = Attempt.objects.live().filter(job=job)
    if batch.noise_scale is not None:  # by which the trainer corrects its learning rate
        same = live.filter(batch_decision__batch_size=batch.batch_size, batch_decision__noise_scale=None)
        same.update(batch_decision=asdict(batch))
    return bool(live.exclude(batch_decision__batch_size=batch.batch_size).update(batch_decision=asdict(batch)))


def record_running(attempt: Attempt, *, now: datetime) -> bool:
    """Every pod runs: STARTING becomes RUNNING."""
    with transaction.atomic():
        Attempt.objects.filter(pk=attempt.pk, started_at=None).update(started_at=now)
        return advance(attempt.job_id, trigger=Trigger.PODS_RUN, attempt_id=attempt.id, now=now) is not None


def record_lost_workers(attempt: Attempt, *, message: str, now: datetime) -> None:
    """Appends an event, once for each message: the gang goes on without some of its workers."""
    about = {"kind": "attempt.workers_lost", "subject_id": attempt.job_id}
    if Event.objects.filter(**about, facts__attempt_id=str(attempt.id), facts__message=message).exists():
        return
    append_of_attempt(
        "attempt.workers_lost",
        attempt,
        at=now,
        message=message,
    )


def record_stop(attempt: Attempt, *, reason: str, why: str = "", now: datetime) -> bool:
    """The gang is asked to save and leave: STOPPING. why: for people, in the event."""
    facts = {"why": why} if why else None
    with transaction.atomic():
        Attempt.objects.filter(pk=attempt.pk).update(stop_asked_at=now)
        moved = advance(
            attempt.job_id, trigger=Trigger.STOP, reason=reason, attempt_id=attempt.id, now=now, facts=facts
        )
    return moved is not None


def close_succeeded(attempt: Attempt, *, now: datetime) -> None:
    """The gang is done: its weights become a model version, its job has SUCCEEDED."""
    with transaction.atomic():
        job = _close(attempt, outcome="succeeded", now=now)
        version = _register(job, attempt)
        advance(
            job.id,
            trigger=Trigger.GANG_SUCCEEDED,
            reason="succeeded",
            attempt_id=attempt.id,
            now=now,
            facts={"metrics": job.result_metrics},
            result_version=version,
            steps_done=_steps_of_success(job),
        )


def _steps_of_success(job: Job) -> int:
    """MLHub's own loop makes all of its steps; a script may stop early."""
    is_script = job.model_version.kind == Kind.SCRIPT
    return job.steps_done if is_script and job.steps_done else max(job.steps_done, job.steps_total)


def close_stopped(
    attempt: Attempt, *, cause: Cause | None, message: str, now: datetime, reason: str | None = None
) -> None:
    """The gang left as it was asked to; where the job goes is what its user wants by now.

    reason: why a job that is to run goes back to the queue; that of the request to stop by default.
    """
    with transaction.atomic():
        attempt.refresh_from_db()
        if cause is not None:
            ended = _most_specific(attempt, cause, message)
            cause, message = ended.cause, ended.message
        job = _close(attempt, outcome="stopped", cause=cause, message=message, now=now)
        trigger, why = {
            Intent.RUN: (Trigger.GANG_STOPPED, reason or job.reason or "preempted"),
            Intent.PAUSE: (Trigger.GANG_STOPPED_FOR_PAUSE, "paused"),
            Intent.CANCEL: (Trigger.GANG_STOPPED_FOR_CANCEL, "cancelled"),
        }[Intent(job.intent)]
        advance(job.id, trigger=trigger, reason=why, attempt_id=attempt.id, now=now)


def close_failed(attempt: Attempt, *, cause: Cause, message: str, now: datetime, last_words: str = "") -> None:
    """The gang failed. The user's fault ends the job; the platform's puts it back into the queue, some times.

    last_words: the end of a pod's output as the backend has it, for want of anything that it reported itself.
    """
    with transaction.atomic():
        attempt.refresh_from_db()
        if last_words and not attempt.traceback:
            attempt.traceback = last_words
            Attempt.objects.filter(pk=attempt.pk).update(traceback=last_words)
        ended = _most_specific(attempt, cause, message)
        job = _close(attempt, outcome="failed", cause=ended.cause, message=ended.message, now=now)
        if job.intent == Intent.CANCEL:
            advance(job.id, trigger=Trigger.GANG_STOPPED_FOR_CANCEL, reason="cancelled", attempt_id=attempt.id, now=now)
            return
        n_failures = 1 if _made_progress(attempt) else job.n_platform_failures + 1
        changes: dict[str, Any]
        verdict = judge_failure(ended.cause, n_failures=n_failures, max_retries=settings.MAX_PLATFORM_RETRIES)
        if verdict.is_final:
            n_tried = n_failures if ended.cause.fault is Fault.PLATFORM else 1
            found = failure(ended.cause, message=ended.message, traceback=attempt.traceback, n_attempts=n_tried)
            trigger, changes = Trigger.GANG_FAILED, {"failure": found}
        else:
            trigger = Trigger.GANG_STOPPED_FOR_PAUSE if job.intent == Intent.PAUSE else Trigger.GANG_LOST
            changes = {"n_platform_failures": n_failures, "not_before": now + timedelta(seconds=verdict.wait_s)}
        advance(
            job.id,
            trigger=trigger,
            reason=ended.cause,
            attempt_id=attempt.id,
            now=now,
            facts={"message": ended.message},
            **changes,
        )


def _made_progress(attempt: Attempt) -> bool:
    """Whether it made steps, and either ended further than all before it, or began at a newer checkpoint than they.

    Steps that are made again from the same checkpoint are none: what ends each attempt at the same place would take
    GPUs for ever.
    """
    earlier = Attempt.objects.filter(job_id=attempt.job_id, number__lt=attempt.number)
    furthest = earlier.aggregate(first=Max("first_step", default=0), last=Max("last_step", default=0))
    is_further = attempt.last_step > furthest["last"] or attempt.first_step > furthest["first"]
    return attempt.last_step > attempt.first_step and is_further


@dataclass(frozen=True)
class _ReportedFailure:
    cause: Cause
    message: str


def _most_specific(attempt: Attempt, cause: Cause, message: str) -> _ReportedFailure:
    """Returns what a pod reported itself rather than its exit status, unless it only noticed that another had gone."""
    if not attempt.cause:
        return _ReportedFailure(cause, message)
    reported = Cause(attempt.cause)
    is_consequence = cause is not Cause.UNKNOWN and reported.precedence > cause.precedence
    if reported is cause or (cause in _VAGUE and not is_consequence):
        return _ReportedFailure(reported, attempt.message or message)
    return _ReportedFailure(cause, message)


def _close(attempt: Attempt, *, outcome: str, now: datetime, cause: Cause | None = None, message: str = "") -> Job:
    """From here on the attempt is fenced and holds nothing. Returns its job, freshly read."""
    changes: dict[str, Any] = {"ended_at": now, "is_fenced": True, "outcome": outcome}
    if cause is not None:
        changes |= {"cause": cause, "message": message[:4000]}
    Attempt.objects.filter(pk=attempt.pk).update(**changes)
    _count_gpu_s(attempt, now)
    Allocation.objects.filter(attempt=attempt, released_at=None).update(released_at=now)
    attempt_closed.send(sender=Attempt, attempt_id=attempt.pk)
    return Job.objects.select_related("project__organisation", "model_version__model", "dataset_version__dataset").get(
        pk=attempt.job_id
    )


def _count_gpu_s(attempt: Attempt, now: datetime) -> None:
    """Adds what the attempt holds until now to its job's GPU-seconds."""
    held = Allocation.objects.filter(attempt=attempt, released_at=None).values_list("slots", flat=True)
    duration_s = max(0.0, (now - attempt.created_at).total_seconds())
    Job.objects.filter(pk=attempt.job_id).update(gpu_s=F("gpu_s") + duration_s * sum(map(len, held)))


def _register(job: Job, attempt: Attempt) -> Any:
    weights = Artifact.objects.filter(attempt=attempt, name=WEIGHTS).select_related("blob").first()
    if weights is None:
        return None
    code = job.model_version.code_version or job.model_version
    return register_trained(
        job.id,
        code_version=code,
        dataset_version=job.dataset_version,
        weights_blob=weights.blob,
        metadata=attempt.result_metadata,
        metrics=job.result_metrics,
        created_by=job.created_by,
        project=job.project,
    )


def live_attempts() -> list[Attempt]:
    """Returns the attempts that hold GPUs, with the state of their jobs."""
    found = Attempt.objects.live().select_related("job").only(*_STANDING).order_by("id")
    return list(found)


def known_to_be_over(ids: Iterable[str]) -> set[str]:
    """Those of the ids that are attempts which have ended. What the database does not know is not over."""
    known: list[UUID] = []
    for text in ids:
        with contextlib.suppress(ValueError):
            known.append(UUID(text))
    found = Attempt.objects.filter(id__in=known).exclude(id__in=Attempt.objects.live().values("id"))
    return {str(attempt_id) for attempt_id in found.values_list("id", flat=True)}


def attempt_to_launch(attempt_id: UUID) -> Attempt:
    """With everything that its specification is made of. Raises Attempt.DoesNotExist."""
    found = attempts_to_launch([attempt_id])
    if attempt_id not in found:
        raise Attempt.DoesNotExist(f"There is no attempt {attempt_id}.")
    return found[attempt_id]


def attempts_to_launch(ids: Collection[UUID]) -> dict[UUID, Attempt]:
    """By id, with everything that their specifications are made of. Two queries."""
    found = Attempt.objects.select_related(
        "job__project__organisation", "job__dataset_version__dataset", "job__model_version__code_version",
        "job__model_version__dataset_version",
    )  # fmt: skip
    return {attempt.id: attempt for attempt in found.prefetch_related("allocations").filter(pk__in=ids)}
