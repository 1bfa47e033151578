# SPDX-License-Identifier: Apache-2.0
"""What pods say of recordings, of which nothing is believed: that they began, why they failed, what they recorded."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction

from mlhub.core.errors import InvalidInputError
from mlhub.jobs.models import Artifact, Attempt
from mlhub.metrics.models import ProfileTrace, RecordingState
from mlhub.metrics.profiling.profiles import OPEN, TOO_OLD, close_if_answered
from mlhub.wire.profiles import MAX_STEPS, MAX_TEXT, checked_summary, trace_name
from mlhub.wire.report import MAX_STEP, PhaseReport


def request_for(attempt: Attempt, *, role: str, index: int, knows_profiles: bool) -> dict[str, Any] | None:
    """What this pod is to be told with the answer to its lines. A pod that cannot record fails its rank at once."""
    asked = attempt.profile_request
    if not asked or role != "worker" or index not in asked["ranks"]:
        return None
    if knows_profiles:
        return dict(asked)
    _answer(attempt, asked["id"], index, state=RecordingState.FAILED, reason=TOO_OLD)
    return None


def record_profile(attempt: Attempt, report: PhaseReport, *, worker: int) -> None:
    """A worker's report on the recording that it was asked for; one on any other is passed over.

    Raises InvalidInputError for a summary that is none.
    """
    detail = report.detail
    recording_id, state = str(detail.get("recording", "")), detail.get("state")
    if attempt.profile_request.get("id") != recording_id:
        return
    if state == "recording":
        ProfileTrace.objects.filter(
            recording=UUID(recording_id), rank=worker, state=RecordingState.WAITING, recording__attempt=attempt
        ).update(state=RecordingState.RECORDING)
        found = (
            ProfileTrace.objects.filter(recording=UUID(recording_id), rank=worker).select_related("recording").first()
        )
        if found is not None and found.recording.state == RecordingState.WAITING:
            found.recording.state = RecordingState.RECORDING
            found.recording.save(update_fields=["state"])
    elif state == "failed":
        reason = str(detail.get("reason", ""))[:MAX_TEXT] or "The worker does not say why."
        _answer(attempt, recording_id, worker, state=RecordingState.FAILED, reason=reason)
    elif state == "done":
        _answer(attempt, recording_id, worker, **_done(attempt, recording_id, worker, detail))


def check_trace(attempt: Attempt, name: str) -> None:
    """Whether the attempt is asked for a trace of this name. Raises InvalidInputError."""
    asked = attempt.profile_request
    if not asked or name not in {trace_name(asked["id"], rank) for rank in asked["ranks"]}:
        raise InvalidInputError(
            "No such trace is wanted: the recording has ended, or was deleted.", field="name", code="not_wanted"
        )


def _done(attempt: Attempt, recording_id: str, worker: int, detail: dict[str, Any]) -> dict[str, Any]:
    artifact = Artifact.objects.filter(attempt=attempt, name=trace_name(recording_id, worker)).first()
    if artifact is None:
        return {"state": RecordingState.FAILED, "reason": "The worker has handed in no trace."}
    first_step, n_steps = detail.get("first_step"), detail.get("n_steps")
    if first_step is not None and (type(first_step) is not int or not 0 <= first_step <= MAX_STEP):
        raise _bad("first_step", "It must be a whole number, 0 or more.")
    if type(n_steps) is not int or not 1 <= n_steps <= MAX_STEPS:
        raise _bad("n_steps", f"It must be 1 to {MAX_STEPS}.")
    try:
        summary = checked_summary(detail.get("summary"))
    except ValueError as error:
        raise _bad("summary", f"{error}.") from error
    return {
        "state": RecordingState.DONE,
        "first_step": first_step,
        "n_steps": n_steps,
        "note": str(detail.get("note", ""))[:MAX_TEXT],
        "summary": summary,
        "artifact": artifact,
    }


def _answer(attempt: Attempt, recording_id: str, worker: int, **changes: Any) -> None:
    """The first answer of a rank counts."""
    with transaction.atomic():
        Attempt.objects.select_for_update().get(pk=attempt.pk)
        changed = ProfileTrace.objects.filter(
            recording=UUID(recording_id), recording__attempt=attempt, rank=worker, state__in=OPEN
        ).update(**changes)
        if changed:
            close_if_answered(UUID(recording_id))


def _bad(field: str, message: str) -> InvalidInputError:
    return InvalidInputError(
        f"detail.{field}: {message}", code="bad_report", field=f"lines.detail.{field}", remedy="See the wire."
    )
