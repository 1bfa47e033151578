# SPDX-License-Identifier: Apache-2.0
"""What a submission may meet: too many jobs that wait, and a storage quota without room for the result."""

from __future__ import annotations

import pytest

from mlhub.datasets.models import DatasetVersion
from mlhub.jobs.models import Job
from mlhub.jobs.tasks import hand_off_job
from mlhub.storage.models import WorkItem
from mlhub.storage.stores import blob_store
from mlhub.tenants.models import Quota
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, job, ready_dataset
from tests.runtime.gang import write_blobs


@pytest.fixture
def cast(db) -> Cast:
    return make_cast()


def submit(cast, user, project=None):
    dataset = ready_dataset(project or cast.project_a, user)
    body = {"dataset_version": str(dataset.id), "model": str(builtin().model_id), "epochs": 1, "batch_size": 4}
    return cast.client(user).post("/api/v1/jobs", body)


def test_a_user_has_at_most_so_many_jobs_waiting_and_others_go_on(cast, settings):
    settings.MAX_WAITING_JOBS_PER_USER = 2
    assert [submit(cast, cast.bob).status_code for _ in range(3)] == [201, 201, 422]
    refused = submit(cast, cast.bob).json()
    assert (refused["code"], refused["limit"]) == ("quota_exceeded", "max_waiting_jobs_per_user")
    assert (refused["waiting_jobs"], refused["max_waiting_jobs"]) == (2, 2)
    assert submit(cast, cast.alice).status_code == 201
    assert Job.objects.count() == WorkItem.objects.count() == 3


def test_an_organisation_has_at_most_so_many_jobs_waiting_and_others_go_on(cast, settings):
    settings.MAX_WAITING_JOBS_PER_ORGANISATION = 2
    assert [submit(cast, user).status_code for user in (cast.bob, cast.alice, cast.bob)] == [201, 201, 422]
    assert submit(cast, cast.alice).json()["limit"] == "max_waiting_jobs_per_organisation"
    assert submit(cast, cast.charlie, cast.project_b).status_code == 201


def test_jobs_that_run_or_were_cancelled_do_not_count(cast, settings):
    settings.MAX_WAITING_JOBS_PER_USER = 1
    job(cast.project_a, cast.bob, state="running")
    waiting = submit(cast, cast.bob).json()
    cast.client(cast.bob).post(f"/api/v1/jobs/{waiting['id']}/cancel")
    assert [submit(cast, cast.bob).status_code for _ in range(2)] == [201, 422]


def test_a_cancelled_job_leaves_the_queue_of_dry_runs(cast):
    first, second = (submit(cast, cast.bob).json()["id"] for _ in range(2))
    cast.client(cast.bob).post(f"/api/v1/jobs/{first}/cancel")
    assert [str(item.subject_id) for item in WorkItem.objects.waiting()] == [second]


def test_nothing_is_submitted_once_the_storage_quota_is_used_up(cast):
    Quota.objects.filter(organisation=cast.a).update(max_storage_bytes=0)
    refused = submit(cast, cast.bob)
    assert (refused.status_code, refused.json()["limit"]) == (422, "max_storage_bytes")
    assert submit(cast, cast.charlie, cast.project_b).status_code == 201


def test_a_job_whose_weights_have_no_room_fails_at_its_dry_run(cast, tmp_path):
    with write_blobs(tmp_path / "blobs.npz", n_features=6).open("rb") as file:
        stored = blob_store().write(file, limit_bytes=2**20)
    files = [{"name": "blobs.npz", "sha256": stored.sha256, "size_bytes": stored.size_bytes}]
    found = job(cast.project_a, cast.bob, is_tried=False)
    DatasetVersion.objects.update(files=files)
    Quota.objects.filter(organisation=cast.a).update(max_storage_bytes=10)
    hand_off_job(str(found.pk))
    found.refresh_from_db()
    assert (found.state, found.failure["cause"]) == ("failed", "storage_quota")
    assert "and the quota has room for 10" in found.failure["message"]
    assert "larger quota" in found.failure["remedy"]
