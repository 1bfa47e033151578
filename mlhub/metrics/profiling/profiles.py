# SPDX-License-Identifier: Apache-2.0
"""Recordings of torch's profiler, and of what parameter servers do: asked for by people, answered by pods that run,
bounded in number, size and time.

The request is a column of the attempt, so that answering a pod costs no query while nothing is asked for. Order of
locks: the job's row, then the attempt's, then the recording's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from mlhub.core.errors import ConflictError, InvalidInputError, NotFoundError
from mlhub.jobs.events import append_of_job
from mlhub.jobs.models import Artifact, Attempt, Job, JobKind
from mlhub.jobs.states import JobState, predicate
from mlhub.metrics.models import ProfileRecording, ProfileTrace, RecordingState
from mlhub.storage import actions as storage
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import User
from mlhub.tenants.roles import Role
from mlhub.wire.profiles import MAX_TEXT, SERVER, WORKER, ProfileRequest, poll_s

EXPIRES_AFTER = timedelta(minutes=15)
MAX_RECORDINGS = 20  # of a job: the oldest makes room
OPEN = (RecordingState.WAITING, RecordingState.RECORDING)
TOO_OLD = "The pod runs an earlier version of MLHub, which cannot record. Pause and resume the job, then ask again."


def request_recording(
    job: Job, *, steps: int, ranks: Sequence[int], servers: Sequence[int] = (), actor: User
) -> ProfileRecording:
    """Asks the job's pods to record so many steps on these workers and servers. For who submitted it, and admins.

    Raises ConflictError for a job that does not run, or is recorded already, InvalidInputError, NotAllowedError.
    """
    _require_right(job, actor)
    expire(job)
    now = timezone.now()
    with transaction.atomic():
        found = (
            Job.objects.select_for_update(of=("self",))
            .select_related("project__organisation", "model_version")
            .get(pk=job.pk)
        )
        attempt = _recordable_attempt(found, ranks, servers)
        recording = ProfileRecording.objects.create(
            job=found, attempt=attempt, requested_by=actor, steps=steps, expires_at=now + EXPIRES_AFTER
        )
        pods = [*((WORKER, rank) for rank in ranks), *((SERVER, index) for index in servers)]
        ProfileTrace.objects.bulk_create(ProfileTrace(recording=recording, role=r, rank=n) for r, n in pods)
        first_step = _common_step(found, attempt, n_pods=len(pods), steps=steps)
        request = ProfileRequest(str(recording.pk), steps, tuple(ranks), first_step, tuple(servers))
        Attempt.objects.filter(pk=attempt.pk).update(profile_request=request.to_dict())
        for old in ProfileRecording.objects.filter(job=found).order_by("-requested_at", "-id")[MAX_RECORDINGS:]:
            remove_recording(old)
        append_of_job("job.profile_asked", found, actor=actor, recording=recording.pk, steps=steps, ranks=list(ranks),
                servers=list(servers))  # fmt: skip
    return recording


def recording_of(job: Job, recording_id: UUID) -> ProfileRecording:
    """Raises NotFoundError."""
    expire(job)
    found = ProfileRecording.objects.filter(job=job, pk=recording_id).first()
    if found is None:
        raise NotFoundError(f"{job.name} has no profile {recording_id}; GET /jobs/{{id}}/profiles lists those it has.")
    return found


def recordings_of(job: Job) -> list[ProfileRecording]:
    """Newest first."""
    expire(job)
    found = ProfileRecording.objects.filter(job=job).select_related("attempt", "requested_by")
    return list(found.prefetch_related("traces__artifact__blob").order_by("-requested_at", "-id"))


def delete_recording(recording: ProfileRecording, *, actor: User) -> None:
    """With its traces; one that is under way is given up, and what its pods send is refused. Raises NotAllowedError."""
    job = Job.objects.select_related("project__organisation").get(pk=recording.job_id)
    _require_right(job, actor)
    with transaction.atomic():
        remove_recording(recording)
        append_of_job("job.profile_deleted", job, actor=actor, recording=recording.pk)


def remove_recording(recording: ProfileRecording) -> None:
    """Removes it with its traces; their bytes are collected once unheld."""
    with transaction.atomic():
        _withdraw(recording)
        for artifact in Artifact.objects.filter(attempt=recording.attempt_id, name__startswith=_folder(recording)):
            artifact.delete()
            if not Artifact.objects.filter(attempt=artifact.attempt_id, blob=artifact.blob_id).exists():
                storage.release(owner_kind="artifact", owner_id=artifact.attempt_id, sha256=artifact.blob_id)
        ProfileRecording.objects.filter(pk=recording.pk).delete()


def expire(job: Job) -> None:
    """Ends a recording that its pods have not answered in time."""
    late = ProfileRecording.objects.filter(job=job, ended_at=None, expires_at__lt=timezone.now()).first()
    if late is not None:
        minutes = round(EXPIRES_AFTER.total_seconds() / 60)
        end_recording(late, reason=f"Nothing was recorded within {minutes} minutes. A script is recorded by the steps "
                                   "of its torch optimiser.")  # fmt: skip


def end_recordings_of_attempt(attempt_id: UUID, **_: Any) -> None:
    """An attempt that ends ends its recording, in the same transaction."""
    for recording in ProfileRecording.objects.filter(attempt=attempt_id, ended_at=None):
        attempt = Attempt.objects.get(pk=attempt_id)
        said = {"succeeded": "ended", "stopped": "was asked to leave"}.get(attempt.outcome, "failed")
        end_recording(recording, reason=f"Attempt {attempt.number} {said} before it was recorded.")


def end_recording(recording: ProfileRecording, *, reason: str) -> None:
    """Fails what is still open of it, for this reason."""
    with transaction.atomic():
        Attempt.objects.select_for_update().get(pk=recording.attempt_id)
        ProfileTrace.objects.filter(recording=recording, state__in=OPEN).update(
            state=RecordingState.FAILED, reason=reason[:MAX_TEXT]
        )
        close_if_answered(recording.pk)


def close_if_answered(recording_id: UUID) -> None:
    """Ends a recording of which every rank has answered; the caller holds the lock of the attempt's row."""
    recording = ProfileRecording.objects.select_for_update().get(pk=recording_id)
    traces = list(recording.traces.order_by("-role", "rank"))
    if recording.ended_at is not None or any(trace.state in OPEN for trace in traces):
        return
    _withdraw(recording)
    is_done = any(trace.state == RecordingState.DONE for trace in traces)
    recording.state = RecordingState.DONE if is_done else RecordingState.FAILED
    recording.reason = "" if is_done else next((trace.reason for trace in traces), "")
    recording.ended_at = timezone.now()
    recording.save(update_fields=["state", "reason", "ended_at"])


def _withdraw(recording: ProfileRecording) -> None:
    asked = Attempt.objects.filter(pk=recording.attempt_id, profile_request__id=str(recording.pk))
    asked.update(profile_request={})


def _recordable_attempt(job: Job, ranks: Sequence[int], servers: Sequence[int]) -> Attempt:
    """The live attempt. Raises ConflictError, InvalidInputError."""
    if job.kind != JobKind.TRAIN:
        raise ConflictError(
            f"A job of kind {job.kind} is not recorded.", code="not_a_training", remedy="Record a training."
        )
    attempt = Attempt.objects.select_for_update().filter(job=job, ended_at=None).first()
    if job.state != JobState.RUNNING or attempt is None or attempt.stop_asked_at is not None:
        raise ConflictError(
            f"{job.name} {predicate(job.state)}: only a job that runs can be recorded.",
            code="job_not_running",
            remedy="Ask again when it runs." if job.state != JobState.PAUSED else "Resume it, and ask when it runs.",
            state=job.state,
        )
    if ProfileRecording.objects.filter(job=job, ended_at=None).exists():
        raise ConflictError(
            f"A profile of {job.name} is being recorded.",
            code="profile_under_way",
            remedy="Wait until it is there, or delete it.",
        )
    for place, rank in enumerate(ranks):
        if rank >= attempt.n_workers:
            last = attempt.n_workers - 1
            raise InvalidInputError(
                f"The job has no worker {rank}.",
                code="no_such_worker",
                field=f"ranks.{place}",
                remedy=f"It runs on {attempt.n_workers} now: name ranks 0 to {last}." if last else "Name rank 0.",
            )
    if servers:
        _require_servers(job, attempt, servers)
    return attempt


def _require_servers(job: Job, attempt: Attempt, servers: Sequence[int]) -> None:
    """Raises InvalidInputError for servers that the job does not have, or that cannot be recorded."""
    n = attempt.n_servers
    place = next((place for place, index in enumerate(servers) if index >= n), None)
    if place is not None:
        raise InvalidInputError(
            f"The job has no parameter server {servers[place]}.",
            code="no_such_server",
            field=f"servers.{place}",
            remedy=f"Its servers are 0 to {n - 1}." if n else "It runs without parameter servers: name workers.",
        )
    if job.model_version.kind == "script":
        raise InvalidInputError(
            "The servers of a script hold its tables, and make no updates that could be recorded.",
            code="no_such_server",
            field="servers",
            remedy="Record its workers.",
        )


def _common_step(job: Job, attempt: Attempt, *, n_pods: int, steps: int) -> int | None:
    """The step from which several pods record, so that they record the same ones; all will have heard by then.

    None: from the next one on, since it is one pod, or the training is a script's, or too near its end.
    """
    if n_pods < 2 or job.model_version.kind == "script" or not job.step_s:
        return None
    lead_s = 1.2 * poll_s(attempt.n_workers + attempt.n_servers)
    first = job.steps_done + math.ceil(lead_s / job.step_s)
    return first if first + steps < job.steps_total else None


def _require_right(job: Job, actor: User) -> None:
    require_role(actor, job.project, Role.SUBMITTER if job.created_by_id == actor.id else Role.ADMIN)


def _folder(recording: ProfileRecording) -> str:
    return f"profiles/{recording.pk}/"


def due_for_removal(before: datetime, limit: int) -> list[ProfileRecording]:
    """Recordings that ended before that time, oldest first."""
    return list(ProfileRecording.objects.filter(ended_at__lt=before).order_by("ended_at", "id")[:limit])
