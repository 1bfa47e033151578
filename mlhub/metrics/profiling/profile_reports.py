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
from mlhub.wire.profiles import MAX_STEPS, MAX_TEXT, SERVER, WORKER, ProfileRequest, checked_summary, trace_name
from mlhub.wire.report import MAX_STEP, PhaseReport


def request_for(attempt: Attempt, *, role: str, index: int, knows_profiles: bool) -> dict[str, Any] | None:
    """What this pod is asked for with the answer to its lines. A pod that cannot record fails at once."""
    asked = attempt.profile_request
    if not asked or not ProfileRequest.from_json(asked).names(role, index):
        return None
    if knows_profiles:
        return dict(asked)
    _answer(attempt, asked["id"], role, index, state=RecordingState.FAILED, reason=TOO_OLD)
    return None


def record_profile(attempt: Attempt, report: PhaseReport, *, role: str, index: int) -> None:
    """A pod's report on the recording that it was asked for; one on any other is passed over.

    Raises InvalidInputError for a summary that is none.
    """
    detail = report.detail
    recording_id, state = str(detail.get("recording", "")), detail.get("state")
    if attempt.profile_request.get("id") != recording_id:
        return
    trace = ProfileTrace.objects.filter(recording=UUID(recording_id), recording__attempt=attempt, role=role, rank=index)
    if state == "recording":
        trace.filter(state=RecordingState.WAITING).update(state=RecordingState.RECORDING)
        found = trace.select_related("recording").first()
        if found is not None and found.recording.state == RecordingState.WAITING:
            found.recording.state = RecordingState.RECORDING
            found.recording.save(update_fields=["state"])
    elif state == "failed":
        reason = str(detail.get("reason", ""))[:MAX_TEXT] or f"The {role} does not say why."
        _answer(attempt, recording_id, role, index, state=RecordingState.FAILED, reason=reason)
    elif state == "done":
        _answer(attempt, recording_id, role, index, **_done(attempt, recording_id, role, index, detail))


def check_trace(attempt: Attempt, name: str) -> None:
    """Whether the attempt is asked for a trace of this name. Raises InvalidInputError."""
    asked = attempt.profile_request
    request = ProfileRequest.from_json(asked) if asked else None
    pods = (
        () if request is None else [(WORKER, rank) for rank in request.ranks] + [(SERVER, n) for n in request.servers]
    )
    if name not in {trace_name(asked["id"], index, role) for role, index in pods}:
        raise InvalidInputError(
            "No such trace is wanted: the recording has ended, or was deleted.", field="name", code="not_wanted"
        )


def _done(attempt: Attempt, recording_id: str, role: str, index: int, detail: dict[str, Any]) -> dict[str, Any]:
    artifact = Artifact.objects.filter(attempt=attempt, name=trace_name(recording_id, index, role)).first()
    if artifact is None:
        return {"state": RecordingState.FAILED, "reason": f"The {role} has handed in no trace."}
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


def _answer(attempt: Attempt, recording_id: str, role: str, index: int, **changes: Any) -> None:
    """The first answer of a pod counts."""
    with transaction.atomic():
        Attempt.objects.select_for_update().get(pk=attempt.pk)
        changed = ProfileTrace.objects.filter(
            recording=UUID(recording_id), recording__attempt=attempt, role=role, rank=index, state__in=OPEN
        ).update(**changes)
        if changed:
            close_if_answered(UUID(recording_id))


def _bad(field: str, message: str) -> InvalidInputError:
    return InvalidInputError(
        f"detail.{field}: {message}", code="bad_report", field=f"lines.detail.{field}", remedy="See the wire."
    )
