# SPDX-License-Identifier: Apache-2.0
"""What pods report, stored once: lines by their number, points by their step; progress moves the job's figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from mlhub.core.database.columns import ModelColumns, read_first
from mlhub.core.errors import ConflictError, GoneError, InvalidInputError
from mlhub.events.changes import ChangeKind, report_change
from mlhub.events.wakeups import job_topic, wake_on_commit
from mlhub.jobs.events import append_of_attempt
from mlhub.jobs.execution.startup import mark_attempt
from mlhub.jobs.models import BEST, Artifact, Attempt, Checkpoint, Job
from mlhub.jobs.submission.notebooks import record_activity
from mlhub.metrics.logs.log_store import store_log
from mlhub.metrics.measurements.batch_changes import record_batch_change
from mlhub.metrics.measurements.input_uses import record_inputs
from mlhub.metrics.measurements.plausibility import (
    TIMES,
    checkpoint_times,
    implausible_step,
    record_refused,
    refused_extent,
    step_beyond,
)
from mlhub.metrics.measurements.progress import without_close_progress
from mlhub.metrics.measurements.script_steps import begin_training, record_first_step, record_steps
from mlhub.metrics.measurements.server_restarts import record_server_return
from mlhub.metrics.measurements.speeds import as_gang, keep_staleness, learn
from mlhub.metrics.measurements.stalls import record_stall
from mlhub.metrics.measurements.usage import store_usage
from mlhub.metrics.measurements.worker_steps import record_worker_steps
from mlhub.metrics.models import PodStream, StreamCursor
from mlhub.metrics.points.point_store import PointBatch
from mlhub.metrics.profiling.profile_reports import check_trace, record_profile
from mlhub.metrics.reports import PUBLISHED_PHASES, at, read_report
from mlhub.storage import actions as storage
from mlhub.storage.stores import StagedBytes
from mlhub.tenants.models import Project
from mlhub.tenants.sign_in.authentication import hash_token
from mlhub.wire.exits import Cause
from mlhub.wire.profiles import PHASE as PROFILE_PHASE
from mlhub.wire.profiles import is_trace
from mlhub.wire.report import (
    INPUTS_PHASE,
    LOG,
    MAX_ARTIFACTS,
    MAX_CHECKPOINTS,
    MAX_LOG_LINE,
    NOTEBOOK_PHASE,
    STEP_TIMES_PHASE,
    USAGE,
    CheckpointReport,
    FailureReport,
    MetricReport,
    PhaseReport,
    ProgressReport,
    Report,
    ResultReport,
    StalenessReport,
)

ATTEMPT, JOB, PROJECT = ModelColumns(Attempt, "a"), ModelColumns(Job, "j"), ModelColumns(Project, "p")
ATTEMPT_OF_TOKEN = f"""
SELECT {ATTEMPT.sql}, {JOB.sql}, {PROJECT.sql}
FROM jobs_attempt a JOIN jobs_job j ON j.id = a.job_id JOIN tenants_project p ON p.id = j.project_id
WHERE a.id = %s AND a.token_hash = %s
"""  # noqa: S608 - names of columns
METADATA, MAX_METADATA_BYTES = "metadata.json", 2**20
N_OWN_ARTIFACTS = 10  # weights, metadata, predictions: in addition to what a script left


@dataclass(frozen=True)
class ReportingPod:
    """The pod that reports, as the launch specification numbers it."""

    role: str
    index: int

    @property
    def speaks_for_gang(self) -> bool:
        return (self.role, self.index) == ("worker", 0)

    def may_send(self, report: Report) -> bool:
        """Every pod reports of itself; only worker 0 reports of the gang, and only servers report staleness."""
        if isinstance(report, StalenessReport):
            return self.role == "server"
        return self.speaks_for_gang or isinstance(report, FailureReport | PhaseReport)


def attempt_of(attempt_id: UUID, token: str) -> Attempt | None:
    """The attempt that the token belongs to; None for a wrong one. Raises GoneError once it is fenced."""
    found = read_first(ATTEMPT_OF_TOKEN, [attempt_id, hash_token(token)], (ATTEMPT, JOB, PROJECT))
    if found is None:
        return None
    attempt, attempt.job, attempt.job.project = found
    if attempt.is_fenced:
        raise GoneError("This attempt has ended; nothing it reports counts any more.", code="fenced")
    return cast("Attempt", attempt)


def store_lines(attempt: Attempt, pod: ReportingPod, *, stream: str, first: int, lines: Sequence[Any]) -> int:
    """Stores what is new of the lines numbered first, first + 1 ...; returns the number that is wanted next.

    Lines below that number were stored before and are passed over. Raises ConflictError with the fact `next` when
    lines between are missing, InvalidInputError, GoneError.
    """
    _check_pod(attempt, pod)
    with transaction.atomic():
        cursor = _locked_cursor(attempt)
        if Attempt.objects.values_list("is_fenced", flat=True).get(pk=attempt.pk):
            raise GoneError("This attempt has ended; nothing it reports counts any more.", code="fenced")
        place, _ = PodStream.objects.get_or_create(attempt=attempt, role=pod.role, index=pod.index, stream=stream)
        if first > place.next:
            raise ConflictError(
                f"Lines {place.next} to {first - 1} are missing.", code="lines_missing", next=place.next
            )
        new = lines[place.next - first :]
        if not new:
            return place.next
        if stream == LOG:
            _check_lines(place.next, new)
            store_log(attempt, cursor, role=pod.role, index=pod.index, number=place.next, lines=new)
        elif stream == USAGE:
            store_usage(attempt, role=pod.role, index=pod.index, number=place.next, lines=new)
        else:
            reports = [read_report(raw, number=place.next + i) for i, raw in enumerate(new)]
            _store_reports(attempt, pod, reports, cursor)
        place.next += len(new)
        place.save(update_fields=["next"])
        cursor.save()
        wake_on_commit(job_topic(attempt.job_id))
        report_change(ChangeKind.PROGRESS, organisation_id=attempt.job.project.organisation_id)
    return place.next


def _locked_cursor(attempt: Attempt) -> StreamCursor:
    """Made with the job's first lines."""
    locked = StreamCursor.objects.select_for_update()
    cursor: StreamCursor | None = locked.filter(job_id=attempt.job_id).first()
    if cursor is None:
        StreamCursor.objects.get_or_create(job_id=attempt.job_id)
        cursor = locked.get(job_id=attempt.job_id)
    return cursor


def store_artifact(attempt: Attempt, *, name: str, staging: StagedBytes, sha256: str) -> bool:
    """A result file; True when it is new. It counts against the organisation's storage quota.

    Raises InvalidInputError when the bytes have another hash or the attempt has too many files, QuotaExceededError.
    """
    found, size_bytes = staging.finish()
    if found != sha256.lower():
        raise InvalidInputError(
            f"The bytes have the hash {found}.", code="hash_mismatch", field="X-Content-SHA256", remedy="Send it again."
        )
    if is_trace(name):
        check_trace(attempt, name)
    with transaction.atomic():
        if Artifact.objects.filter(attempt=attempt, name=name, blob=found).exists():
            return False
        if Artifact.objects.filter(attempt=attempt).exclude(name=name).count() >= MAX_ARTIFACTS + N_OWN_ARTIFACTS:
            raise InvalidInputError(
                f"The attempt has {MAX_ARTIFACTS:,} files already.",
                code="too_many_artifacts",
                field="name",
                remedy="Pack small files into one.",
            )
        if name == METADATA:
            Attempt.objects.filter(pk=attempt.pk).update(result_metadata=_metadata(staging, size_bytes))
        blob = storage.keep(
            staging,
            place=attempt.job.project,
            owner_kind="artifact",
            owner_id=attempt.id,
            user=attempt.job.created_by,
        )
        Artifact.objects.update_or_create(attempt=attempt, name=name, defaults={"blob": blob})
    return True


def _metadata(staging: StagedBytes, size_bytes: int) -> dict[str, Any]:
    try:
        with staging.open() as file:
            found = json.load(file) if size_bytes <= MAX_METADATA_BYTES else None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidInputError(f"{METADATA} is no small JSON object.", field=METADATA, remedy="See the wire.")
    return found


def _check_pod(attempt: Attempt, pod: ReportingPod) -> None:
    n = {"worker": attempt.n_workers, "server": attempt.n_servers}.get(pod.role, 0)
    if not 0 <= pod.index < n:
        raise InvalidInputError(f"The attempt has no {pod.role} {pod.index}.", field="index", code="no_such_pod")


def _check_lines(number: int, lines: Sequence[Any]) -> None:
    for i, line in enumerate(lines):
        if not isinstance(line, str) or len(line) > MAX_LOG_LINE or "\x00" in line:
            raise InvalidInputError(
                f"Line {number + i} is no text of at most {MAX_LOG_LINE:,} characters.", field=f"lines.{number + i}"
            )


def _store_reports(attempt: Attempt, pod: ReportingPod, reports: Sequence[Report], cursor: StreamCursor) -> None:
    points = PointBatch(attempt, cursor)
    for report in without_close_progress(reports):
        if not pod.may_send(report):
            raise InvalidInputError(
                f"{pod.role} {pod.index} may not send {report.type} reports; worker 0 speaks for the gang.",
                field="index",
                code="not_the_speaker",
            )
        match report:
            case MetricReport():
                points.add(report)
            case ProgressReport():
                _store_progress(attempt, report)
            case StalenessReport():
                keep_staleness(attempt, report, shard=pod.index)
            case CheckpointReport():
                _store_checkpoint(attempt, report)
            case PhaseReport(phase="stalled" | "moving"):
                record_stall(attempt, report, worker=pod.index)
            case PhaseReport(phase="server_returned") if pod.role == "server":
                record_server_return(attempt, report, server=pod.index)
            case PhaseReport(phase="batch_changed"):
                if pod.speaks_for_gang:
                    record_batch_change(attempt, report)
            case PhaseReport(phase=phase) if phase == PROFILE_PHASE:
                record_profile(attempt, report, role=pod.role, index=pod.index)
            case PhaseReport(phase=phase) if phase == STEP_TIMES_PHASE:
                if pod.role == "worker":
                    record_worker_steps(attempt, report, worker=pod.index)
            case PhaseReport(phase=phase) if phase == INPUTS_PHASE:
                record_inputs(attempt, report, role=pod.role, index=pod.index)
            case PhaseReport(phase=phase) if phase == NOTEBOOK_PHASE:
                record_activity(attempt, report)
            case PhaseReport():
                if pod.speaks_for_gang:
                    _store_phase(attempt, report)
            case FailureReport():
                _store_failure(attempt, pod, report)
            case ResultReport():
                _store_result(attempt, report)
    points.save()
    if of_metrics := [report for report in reports if isinstance(report, MetricReport)]:
        record_steps(attempt, [report.step for report in of_metrics], at=at(of_metrics[0].at))


def _store_result(attempt: Attempt, report: ResultReport) -> None:
    """What was logged by way of tracked_points.py stays, where the result does not name it."""
    its_job = Job.objects.filter(pk=attempt.job_id)
    tracked, steps_total = its_job.values_list("result_metrics", "steps_total").get()
    changes = {"result_metrics": {**tracked, **report.metrics}, "progress_at": timezone.now()}
    implausible = step_beyond(steps_total, report.steps)
    if implausible is None:
        changes["steps_done"] = report.steps
    else:
        record_refused(attempt, [implausible])
    its_job.update(**changes)


def _store_progress(attempt: Attempt, report: ProgressReport) -> None:
    """What cannot be true moves neither the job nor the attempt."""
    now = timezone.now()
    record_first_step(attempt, at(report.at))
    report = as_gang(attempt, report)
    is_recorded = bool(attempt.profile_request)  # such steps are slower: nothing is learnt of their times
    refused = refused_extent(attempt, report) if is_recorded else learn(attempt, report)
    changes: dict[str, Any] = {"progress_at": now}
    if not refused.intersection(("steps_done", "steps_total", "epoch")):
        changes |= {"steps_done": report.steps_done, "steps_total": report.steps_total, "epoch": report.epoch}
        Attempt.objects.filter(pk=attempt.pk).update(last_step=report.steps_done)
        attempt.last_step = report.steps_done
    if not is_recorded and not refused.intersection(TIMES):
        changes["step_s"] = report.step_s
    Job.objects.filter(pk=attempt.job_id).update(**changes)


def _store_checkpoint(attempt: Attempt, report: CheckpointReport) -> None:
    """One of a name that an earlier attempt used replaces it; those that are gone are removed.

    Weights that are kept for being among the best, and pinned checkpoints, are not among those that a pod counts.
    Of those that are not pinned the oldest make room where a job would have more than MAX_CHECKPOINTS.
    """
    times, refused = checkpoint_times(attempt, report)
    record_refused(attempt, refused)
    name = report.name[:200]
    former = Checkpoint.objects.filter(attempt__job_id=attempt.job_id)
    gone = former.filter(name=name).exclude(attempt=attempt)
    if report.present:
        counted = former.filter(is_pinned=False).exclude(name__startswith=BEST)
        gone |= counted.exclude(name__in=[name[:200] for name in report.present])
    gone.delete()
    if not former.filter(attempt=attempt, name=name).exists():
        n_over = max(0, former.count() + 1 - MAX_CHECKPOINTS)
        oldest = former.filter(is_pinned=False).order_by("id").values_list("pk", flat=True)[:n_over]
        Checkpoint.objects.filter(pk__in=list(oldest)).delete()
    Checkpoint.objects.update_or_create(
        attempt=attempt,
        name=name,
        defaults={
            "step": report.step,
            "size_bytes": report.size_bytes,
            **times,
            "at": at(report.at),
            "metrics": report.metrics,
        },
    )


def _store_phase(attempt: Attempt, report: PhaseReport) -> None:
    now = timezone.now()
    if report.phase in ("resumed", "training"):
        implausible = implausible_step(attempt, report.detail.get("step") or 0)
        if implausible is not None:
            record_refused(attempt, [implausible])
            report = replace(report, detail={**report.detail, "step": attempt.job.steps_done})
    mark_attempt(attempt, report.phase, at(report.at), now=now)
    if report.phase == "resumed":
        step = report.detail.get("step") or 0
        Attempt.objects.filter(pk=attempt.pk).update(first_step=step, last_step=step)
        Job.objects.filter(pk=attempt.job_id).update(steps_done=step)
    if report.phase == "training":
        step = report.detail.get("step") or 0
        begin_training(attempt, now, first_step=step)
    if report.phase in PUBLISHED_PHASES:
        append_of_attempt(
            "attempt.phase",
            attempt,
            phase=report.phase,
            since_start_s=report.since_start_s,
            **{"step": report.detail["step"]} if "step" in report.detail else {},
        )


def _store_failure(attempt: Attempt, pod: ReportingPod, report: FailureReport) -> None:
    """The first of those that may least be a mere consequence of another one counts."""
    # read anew: pods of a gang fail at once, and this request's row may be from before another pod's report
    attempt.cause = Attempt.objects.values_list("cause", flat=True).get(pk=attempt.pk)
    if attempt.cause and Cause(attempt.cause).precedence <= Cause(report.cause).precedence:
        return
    attempt.cause, attempt.traceback = report.cause, report.traceback
    attempt.message = f"{pod.role} {pod.index}: {report.message}"[:4000]
    Attempt.objects.filter(pk=attempt.pk).update(
        cause=attempt.cause, message=attempt.message, traceback=attempt.traceback
    )
