# SPDX-License-Identifier: Apache-2.0
"""A job is changed after its submission: its priority and what it asks of the cluster, within the same limits."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.events.models import Event
from mlhub.jobs.models import Job
from mlhub.jobs.states import JobState
from mlhub.tenants.models import Quota
from tests.cast import Cast, make_cast
from tests.jobs.builders import PROFILE, job

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def change(cast: Cast, one: Job, *, by: Any = None, **fields: Any) -> Any:
    return cast.client(by or cast.bob).patch(f"/api/v1/jobs/{one.id}", fields)


def test_a_waiting_job_gets_another_priority_and_other_resources(cast: Cast) -> None:
    one = job(cast.project_a, cast.bob, min_workers=4, max_workers=8, resources={"gpu_types": ["v100"], "cpus": 2})
    answer = change(cast, one, priority=7, min_workers=2, n_workers=2, gpu_types=[])
    assert answer.status_code == 200, answer.content
    one.refresh_from_db()
    assert (one.priority, one.min_workers, one.max_workers) == (7, 2, 8)
    assert one.resources == {"cpus": 2, "n_workers": 2}
    event = Event.objects.get(kind="job.changed", subject_id=one.id)
    assert event.facts["before"] == {"priority": 0, "min_workers": 4, "n_workers": None, "gpu_types": ["v100"]}
    assert event.facts["after"] == {"priority": 7, "min_workers": 2, "n_workers": 2, "gpu_types": None}
    assert change(cast, one, priority=7).status_code == 200
    assert Event.objects.filter(kind="job.changed").count() == 1  # nothing was changed the second time


@pytest.mark.parametrize(
    ("fields", "status", "field"),
    [
        ({"priority": 51}, 422, "priority"),
        ({"min_workers": 9, "max_workers": 8}, 422, "min_workers"),
        ({"n_workers": 9}, 422, "resources.n_workers"),
        ({"min_workers": 3}, 422, "min_workers"),
        ({"priority": 101}, 422, "priority"),
        ({"stray": 1}, 422, "stray"),
        ({}, 422, "priority"),
    ],
)
def test_a_change_that_a_submission_would_not_pass_is_refused_and_named(
    cast: Cast, fields: dict[str, Any], status: int, field: str
) -> None:
    Quota.objects.filter(organisation=cast.a).update(max_gpus=2)
    one = job(cast.project_a, cast.bob, min_workers=1, max_workers=8)
    answer = change(cast, one, **fields)
    assert (answer.status_code, field in str(answer.json())) == (status, True), answer.content
    one.refresh_from_db()
    assert (one.priority, one.min_workers, one.max_workers) == (0, 1, 8)


def test_a_strategy_of_one_worker_keeps_one_worker(cast: Cast) -> None:
    one = job(cast.project_a, cast.bob, strategy={"name": "single"}, mode="all_reduce", max_workers=1)
    answer = change(cast, one, max_workers=4)
    assert (answer.status_code, answer.json()["max_workers"]) == (200, 1), answer.content
    one.refresh_from_db()
    assert (one.min_workers, one.max_workers) == (1, 1)


def test_workers_among_which_the_dry_run_cannot_divide_the_model_are_refused(cast: Cast) -> None:
    profile = PROFILE | {"workers_possible": [1, 2, 4], "strategy": "tensor"}
    one = job(cast.project_a, cast.bob, max_workers=4, profile=profile)
    refused = change(cast, one, min_workers=8, max_workers=8)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_strategy"), refused.content
    one.refresh_from_db()
    assert (one.min_workers, one.max_workers) == (1, 4)
    assert change(cast, one, min_workers=4, max_workers=8).status_code == 200
    Job.objects.filter(pk=one.pk).update(preflight="pending")
    assert change(cast, one, min_workers=8).status_code == 200, "the dry run has yet to find out"


def test_a_job_that_holds_gpus_keeps_what_it_asked_for_but_for_priority_and_largest_size(cast: Cast) -> None:
    one = job(cast.project_a, cast.bob, max_workers=4, resources={"gpu_types": ["v100"]})
    Job.objects.filter(pk=one.pk).update(state=JobState.RUNNING)
    refused = change(cast, one, min_workers=2)
    assert (refused.status_code, refused.json()["code"]) == (409, "job_holds_gpus")
    assert change(cast, one, gpu_types=["t4"]).json()["code"] == "job_holds_gpus"
    assert change(cast, one, gpu_types=[]).status_code == 200
    assert change(cast, one, priority=3, max_workers=8).json()["max_workers"] == 8
    Job.objects.filter(pk=one.pk).update(state=JobState.SUCCEEDED)
    assert change(cast, one, priority=1).json()["code"] == "job_ended"


def test_only_its_submitter_and_admins_change_a_job_and_charlie_does_not_see_it(cast: Cast) -> None:
    one = job(cast.project_a, cast.bob)
    assert change(cast, one, by=cast.charlie, priority=1).status_code == 404
    assert change(cast, one, by=cast.victor, priority=1).status_code == 403
    assert change(cast, one, by=cast.alice, priority=90).status_code == 200
    hers = job(cast.project_a, cast.alice)
    assert change(cast, hers, priority=1).status_code == 403
