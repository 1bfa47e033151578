# SPDX-License-Identifier: Apache-2.0
"""Files and checkpoints of a job: uploaded by its pods, listed and downloaded by people of the organisation."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.jobs import attempts
from mlhub.jobs.models import Attempt, Job, Preflight
from mlhub.wire.exits import Cause
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.metrics.test_ingest import opened, post

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def attempt(cast: Cast) -> Attempt:
    found = job(cast.project_a, cast.bob)
    Job.objects.filter(pk=found.pk).update(preflight=Preflight.PASSED)
    return opened(found)


def put(attempt: Attempt, name: str, content: bytes) -> int:
    client = APIClient(headers={"Authorization": f"Bearer {attempts.token_of(attempt.id)}"})
    path = f"/api/v1/ingest/attempts/{attempt.id}/artifacts/{name}"
    headers = {"X-Content-SHA256": hashlib.sha256(content).hexdigest()}
    return client.put(path, content, content_type="application/octet-stream", headers=headers).status_code


def get(cast: Cast, attempt: Attempt, path: str, *, user: Any = None) -> Any:
    return cast.client(user or cast.bob).get(f"/api/v1/jobs/{attempt.job_id}/{path}")


def checkpoint(name: str, *, step: int, present: list[str], at: float = 1000.0) -> dict[str, Any]:
    figures = {"size_bytes": 10, "write_s": 0.0, "stall_s": 0.0}
    return {"type": "checkpoint", "at": at + step, "step": step, "name": name, "present": present, **figures}


def test_files_that_a_script_left_are_listed_and_downloaded_by_its_organisation_alone(
    cast: Cast, attempt: Attempt
) -> None:
    assert put(attempt, "output/plots/loss.svg", b"<svg/>") == 201
    assert put(attempt, "output/table.csv", b"1,2") == 201
    assert put(attempt, "metadata.json", b"{}") == 201
    attempts.close_succeeded(attempt, now=timezone.now())
    listed = get(cast, attempt, "artifacts").json()
    assert [(found["name"], found["size_bytes"]) for found in listed] == [
        ("output/plots/loss.svg", 6), ("output/table.csv", 3),
    ]  # fmt: skip
    answer = get(cast, attempt, "artifacts/output/plots/loss.svg")
    assert b"".join(answer.streaming_content) == b"<svg/>"
    assert 'filename="loss.svg"' in answer.headers["Content-Disposition"]
    assert get(cast, attempt, "artifacts/output/none").status_code == 404
    for path in ("artifacts", "artifacts/output/table.csv", "checkpoints"):
        assert get(cast, attempt, path, user=cast.charlie).status_code == 404


@pytest.mark.parametrize(
    "name", ["output/", "output/../x", "output/a//b", "output/./x", "other/x", "output/" + "x" * 200]
)
def test_names_that_are_no_paths_below_the_output_folder_are_refused(attempt: Attempt, name: str) -> None:
    assert put(attempt, name, b"x") in (404, 422)
    assert not attempt.artifacts.exists()


def test_an_attempt_has_a_bounded_number_of_files(attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlhub.metrics.actions.MAX_ARTIFACTS", -8)  # and ten of its own
    assert [put(attempt, f"output/{n}", b"x") for n in range(3)] == [201, 201, 422]
    assert put(attempt, "output/0", b"y") == 201


def test_checkpoints_are_listed_while_they_are_there(cast: Cast, attempt: Attempt) -> None:
    for number, report in enumerate(
        [
            checkpoint("script/step-1", step=1, present=["script/step-1"]),
            checkpoint("script/step-2", step=2, present=["script/step-1", "script/step-2"]),
            checkpoint("script/step-3", step=3, present=["script/step-2", "script/step-3"]),
            checkpoint("output/ckpt.pt", step=0, present=["script/step-2", "script/step-3", "output/ckpt.pt"]),
            checkpoint("output/ckpt.pt", step=0, present=[], at=2000.0),  # written again
        ]
    ):
        assert post(attempt, number, report).status_code == 200
    listed = get(cast, attempt, "checkpoints").json()
    assert [(found["name"], found["step"]) for found in listed] == [
        ("script/step-3", 3), ("script/step-2", 2), ("output/ckpt.pt", 0),
    ]  # fmt: skip
    assert {found["attempt_number"] for found in listed} == {1}


@pytest.mark.parametrize("present", ["script/step-1", [1], ["x"] * 1001])
def test_a_list_of_checkpoints_that_is_none_is_refused(attempt: Attempt, present: Any) -> None:
    assert post(attempt, 0, checkpoint("script/step-1", step=1, present=present)).status_code == 422


def fail(attempt: Attempt) -> None:
    attempts.close_failed(attempt, cause=Cause.USER_CODE, message="KeyError: 'x'", now=timezone.now())


def test_a_failed_job_is_resumed_from_its_checkpoints(cast: Cast, attempt: Attempt) -> None:
    post(attempt, 0, checkpoint("script/step-1", step=1, present=["script/step-1"]))
    fail(attempt)
    path = f"/api/v1/jobs/{attempt.job_id}/resume"
    assert cast.client(cast.charlie).post(path).status_code == 404
    assert cast.client(cast.victor).post(path).status_code == 403
    answer = cast.client(cast.bob).post(path)
    assert answer.status_code == 200, answer.content
    found = answer.json()
    assert (found["state"], found["failure"], found["finished_at"]) == ("queued", None, None)
    assert get(cast, attempt, "checkpoints").json()[0]["name"] == "script/step-1"
    again = opened(Job.objects.get(pk=attempt.job_id))
    assert again.number == 2  # so that it goes on where the first one was


def test_a_job_that_failed_its_dry_run_is_not_resumed(cast: Cast, attempt: Attempt) -> None:
    fail(attempt)
    Job.objects.filter(pk=attempt.job_id).update(preflight=Preflight.FAILED)
    answer = cast.client(cast.bob).post(f"/api/v1/jobs/{attempt.job_id}/resume")
    assert (answer.status_code, answer.json()["code"]) == (409, "job_ended")
    assert "Clone it" in json.dumps(answer.json())


def test_checkpoints_that_are_no_longer_kept_are_not_listed(cast: Cast, attempt: Attempt) -> None:
    post(attempt, 0, checkpoint("script/step-1", step=1, present=["script/step-1"]))
    fail(attempt)
    for days, n_listed in ((2, 1), (15, 0)):  # of failed jobs they are kept longer than of others
        Job.objects.filter(pk=attempt.job_id).update(finished_at=timezone.now() - timedelta(days=days))
        assert len(get(cast, attempt, "checkpoints").json()) == n_listed
