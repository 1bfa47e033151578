# SPDX-License-Identifier: Apache-2.0
"""How long a job took to start: phases that follow each other from the request to the first step."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from mlhub.jobs import attempts
from mlhub.jobs.models import Attempt, Job
from mlhub.metrics.actions import ReportingPod, store_lines
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.recovery.conftest import launch

WORKER_0 = ReportingPod("worker", 0)
POD_MARKS = ("pod_started", "inputs_ready", "imported", "prepared", "gang_ready", "first_step")
POD_PHASES = ["launch", "inputs", "import", "setup", "rendezvous", "first_batch"]


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


def report(attempt: Attempt, marks: dict[str, float], *, pod: ReportingPod = WORKER_0, first: int = 0) -> None:
    """marks: seconds after the launch, by name."""
    launched_s = attempt.created_at.timestamp()
    lines = [
        {"type": "phase", "phase": name, "at": launched_s + after_s, "since_start_s": after_s, "detail": {}}
        for name, after_s in marks.items()
    ]
    store_lines(attempt, pod, stream="reports", first=first, lines=lines)


def launched(cast: Cast, *, ago_s: float) -> Attempt:
    """An attempt that was launched so many seconds ago, of a job that came 4 s earlier and was validated in 2 s."""
    attempt = launch(job(cast.project_a, cast.bob))
    at = timezone.now() - timedelta(seconds=ago_s)
    came_s = at.timestamp() - 4
    marks = {"received": came_s, "validation_begun": came_s + 1.5, "validated": came_s + 3.5}
    Job.objects.filter(pk=attempt.job_id).update(startup=marks, submitted_at=at - timedelta(seconds=3.75))
    Attempt.objects.filter(pk=attempt.pk).update(created_at=at)
    attempt.refresh_from_db()
    return attempt


def shown(cast: Cast, attempt: Attempt, query: str = "", *, user: Any = None) -> Any:
    return cast.client(user or cast.bob).get(f"/api/v1/jobs/{attempt.job_id}/startup{query}")


def test_a_start_is_shown_phase_by_phase_and_adds_up(cast: Cast) -> None:
    attempt = launched(cast, ago_s=60)
    report(attempt, dict(zip(POD_MARKS, (0.5, 1.0, 7.0, 8.0, 8.5, 9.0), strict=True)))
    found = shown(cast, attempt).json()
    durations = {phase["name"]: round(phase["duration_s"], 2) for phase in found["phases"]}
    assert durations == {
        "request": 0.25, "validation_queue": 1.25, "validation": 2.0, "scheduling": 0.5, "launch": 0.5, "inputs": 0.5,
        "import": 6.0, "setup": 1.0, "rendezvous": 0.5, "first_batch": 0.5,
    }  # fmt: skip
    assert list(durations) == ["request", "validation_queue", "validation", "scheduling", *POD_PHASES]
    assert (found["number"], found["is_complete"], round(found["total_s"], 2)) == (attempt.number, True, 13.0)


def test_a_start_that_is_under_way_shows_what_has_ended(cast: Cast) -> None:
    attempt = launched(cast, ago_s=60)
    report(attempt, {"pod_started": 0.5, "inputs_ready": 1.0})
    found = shown(cast, attempt).json()
    assert [phase["name"] for phase in found["phases"]][-2:] == ["launch", "inputs"]
    assert found["is_complete"] is False


def test_a_phase_without_a_mark_leaves_its_time_to_the_next_one(cast: Cast) -> None:
    attempt = launched(cast, ago_s=60)
    report(attempt, {"pod_started": 0.5, "inputs_ready": 1.0, "first_step": 9.0})
    phases = {phase["name"]: phase["duration_s"] for phase in shown(cast, attempt).json()["phases"]}
    assert round(phases["first_batch"], 2) == 8.0
    assert "import" not in phases


def test_a_later_attempt_begins_with_its_launch(cast: Cast) -> None:
    first = launched(cast, ago_s=60)
    attempts.close_succeeded(first, now=timezone.now())
    second = Attempt.objects.create(job_id=first.job_id, number=first.number + 1, mode="all_reduce", n_workers=1)
    report(second, {"pod_started": 0.0})
    assert [phase["name"] for phase in shown(cast, first, f"?attempt={second.number}").json()["phases"]] == ["launch"]
    before = shown(cast, first, f"?attempt={first.number}").json()
    assert (before["number"], before["phases"][0]["name"]) == (first.number, "request")
    assert shown(cast, first, "?attempt=99").status_code == 404


def test_clocks_of_pods_that_are_wrong_give_no_negative_durations(cast: Cast) -> None:
    attempt = launched(cast, ago_s=60)
    report(attempt, {"pod_started": -500.0, "inputs_ready": 1.0, "imported": 10_000.0, "prepared": 2.0})
    phases = shown(cast, attempt).json()["phases"]
    assert min(phase["duration_s"] for phase in phases) >= 0
    assert sum(phase["duration_s"] for phase in phases) < 4 + 60 + 60


def test_only_worker_0_marks_the_start_and_the_first_mark_of_a_name_counts(cast: Cast) -> None:
    attempt = launched(cast, ago_s=60)
    Attempt.objects.filter(pk=attempt.pk).update(n_workers=2)
    attempt.refresh_from_db()
    report(attempt, {"imported": 30.0}, pod=ReportingPod("worker", 1))
    report(attempt, {"imported": 5.0})
    report(attempt, {"imported": 40.0}, first=1)
    (phase,) = (p for p in shown(cast, attempt).json()["phases"] if p["name"] == "import")
    assert round(phase["duration_s"], 2) == 5.0


def test_a_submission_s_start_is_measured_from_the_request_on(cast: Cast) -> None:
    from tests.jobs.execution.test_validations import submit

    found = submit(cast)
    assert found.startup["received"] <= found.submitted_at.timestamp()
    answer = cast.client(cast.bob).get(f"/api/v1/jobs/{found.id}/startup").json()
    assert (answer["number"], [p["name"] for p in answer["phases"]]) == (None, ["request"])


def test_others_do_not_see_a_start_and_unknown_queries_are_refused(cast: Cast) -> None:
    attempt = launched(cast, ago_s=60)
    assert shown(cast, attempt, user=cast.charlie).status_code == 404
    assert shown(cast, attempt, user=cast.victor).status_code == 200
    assert shown(cast, attempt, "?attempts=1").status_code in (400, 422)
    assert shown(cast, attempt, "?attempt=x").status_code == 422
