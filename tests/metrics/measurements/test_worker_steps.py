# SPDX-License-Identifier: Apache-2.0
"""Each worker of a gang says what its steps are made of; the one that the others wait for is named."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.jobs.models import Allocation, Attempt
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.metrics.test_ingest import opened, post

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def attempt(cast: Cast) -> Attempt:
    found = opened(job(cast.project_a, cast.bob))  # with two workers on n0
    Allocation.objects.create(attempt=found, node="n1", slots=[0, 3], n_servers=1)
    Attempt.objects.filter(pk=found.pk).update(n_workers=4)
    return found


def steps(compute_s: float, *, step_s: float = 0.2, other: dict[str, Any] | None = None) -> dict[str, Any]:
    sync_s = step_s - compute_s
    times = {"step_s": step_s, "input_s": 0.0, "compute_s": compute_s, "sync_s": sync_s, "wait_s": sync_s / 2}
    detail = {"step": 40, "n_steps": 20, **times, **(other or {})}
    return {"type": "phase", "at": 1.7e9, "phase": "step_times", "since_start_s": 9.0, "detail": detail}


def shown(cast: Cast, attempt: Attempt) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cast.client(cast.bob).get(f"/api/v1/jobs/{attempt.job_id}/speed").json()["workers"]
    return found


def test_the_straggler_is_named_with_its_node(cast: Cast, attempt: Attempt) -> None:
    assert shown(cast, attempt) == []
    for worker, compute_s in enumerate((0.06, 0.06, 0.18, 0.07)):
        assert post(attempt, 0, steps(0.01), steps(compute_s), index=worker).status_code == 200
    rows = shown(cast, attempt)
    assert [(row["worker"], row["node"], row["is_straggler"]) for row in rows] == [
        (0, "n0", False), (1, "n0", False), (2, "n1", True), (3, "n1", False)
    ]  # fmt: skip
    assert rows[2]["slowdown"] == pytest.approx(3.0)
    assert {key: rows[2][key] for key in ("step", "n_steps", "compute_s")} == {
        "step": 40, "n_steps": 20, "compute_s": 0.18
    }  # fmt: skip
    post(attempt, 2, steps(0.06), index=2)
    assert not any(row["is_straggler"] for row in shown(cast, attempt))


def test_of_two_workers_the_slower_one_is_measured_by_the_other(cast: Cast, attempt: Attempt) -> None:
    post(attempt, 0, steps(0.05), index=0)
    post(attempt, 0, steps(0.1), index=1)
    assert [row["slowdown"] for row in shown(cast, attempt)] == [pytest.approx(0.5), pytest.approx(2.0)]


@pytest.mark.parametrize(
    "nonsense",
    [
        {"wait_s": 5.0},
        {"compute_s": -0.1},
        {"compute_s": 0.4},
        {"n_steps": 0},
        {"step": "forty"},
        {"step_s": True},
        {"step_s": 1e300},
    ],
)
def test_what_cannot_be_true_is_passed_over(cast: Cast, attempt: Attempt, nonsense: dict[str, Any]) -> None:
    assert post(attempt, 0, steps(0.1, other=nonsense), index=1).status_code == 200
    assert shown(cast, attempt) == []


def test_a_worker_that_is_not_there_and_a_server_have_no_steps(cast: Cast, attempt: Attempt) -> None:
    assert post(attempt, 0, steps(0.1), index=4).status_code == 422
    Attempt.objects.filter(pk=attempt.pk).update(n_servers=1)
    assert post(attempt, 0, steps(0.1), index=0, role="server").status_code == 200
    assert shown(cast, attempt) == []
