# SPDX-License-Identifier: Apache-2.0
"""What a submission, a clone and a resumption may meet: too many jobs that wait, and quotas that are used up."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from mlhub.clusters.models import Node, Rack
from mlhub.datasets.models import DatasetVersion
from mlhub.jobs.models import Job
from mlhub.jobs.tasks import hand_off_job
from mlhub.storage.models import WorkItem
from mlhub.storage.stores import blob_store
from mlhub.tenants.models import Project, ProjectQuota, Quota, QuotaBoost, Team, TeamQuota
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, job, ready_dataset
from tests.runtime.gang import write_blobs


@pytest.fixture
def cast(db) -> Cast:
    return make_cast()


def submit(cast, user, project=None, **fields):
    dataset = ready_dataset(project or cast.project_a, user)
    body = {
        "dataset_version": str(dataset.id),
        "model": str(builtin().model_id),
        "epochs": 1,
        "batch_size": 4,
        **fields,
    }
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


@pytest.mark.parametrize("kind", ["project", "team"])
def test_a_job_that_a_project_or_its_team_may_never_run_is_refused_with_who_can_raise_it(cast, kind):
    team = Team.objects.create(organisation=cast.a, name="vision")
    Project.objects.filter(pk=cast.project_a.pk).update(team=team)
    owner = team if kind == "team" else cast.project_a
    (TeamQuota if kind == "team" else ProjectQuota).objects.create(**{kind: owner}, max_gpus=2)
    refused = submit(cast, cast.bob, min_workers=3)
    assert (refused.status_code, refused.json()["limit"], refused.json()["owner"]) == (422, "max_gpus", owner.name)
    assert refused.json()["detail"] == f"min_workers is 3, and {owner.name} may use 2 GPUs."
    assert ("an admin of vision or of A" if kind == "project" else "an admin of A") in refused.json()["remedy"]
    QuotaBoost.objects.create(
        organisation=cast.a, **{kind: owner}, extra_max_gpus=1, ends_at=timezone.now() + timedelta(hours=1)
    )
    assert submit(cast, cast.bob, min_workers=3).status_code == 201


@pytest.mark.parametrize(
    ("resources", "field"),
    [({"cpus": 5}, "cpus"), ({"memory_gib": 17}, "memory_gib"), ({"cpus": 4, "memory_gib": 16}, "memory_gib")],
)
def test_a_pod_that_no_node_has_room_for_is_refused_and_one_that_fits_an_empty_node_is_not(cast, resources, field):
    rack = Rack.objects.create(name="rack-1", uplink_bps=1e9)
    for name, cpus, memory_gib in (("many-cpus", 4, 8), ("much-memory", 2, 16)):
        Node.objects.create(
            name=name, rack=rack, gpu_type="T4", n_slots=1, cpus=cpus, memory_bytes=memory_gib * 2**30, nic_bps=1e9,
            observed_at=timezone.now(),
        )  # fmt: skip
    refused = submit(cast, cast.bob, resources=resources)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, f"resources.{field}")
    assert submit(cast, cast.bob, resources={"cpus": 2, "memory_gib": 16}).status_code == 201


def paused(cast, user, **fields):
    return job(cast.project_a, user, state="paused", intent="pause", **fields)


def resume(cast, user, found):
    return cast.client(user).post(f"/api/v1/jobs/{found.id}/resume")


def test_a_paused_job_is_resumed_only_within_the_limits_of_waiting_jobs(cast, settings):
    settings.MAX_WAITING_JOBS_PER_USER = 2
    mine, waiting = paused(cast, cast.bob), [job(cast.project_a, cast.bob) for _ in range(2)]
    refused = resume(cast, cast.bob, mine)
    assert (refused.status_code, refused.json()["limit"]) == (422, "max_waiting_jobs_per_user")
    assert refused.json()["detail"] == "You have 2 jobs waiting, and 2 may wait."
    assert refused.json()["remedy"].endswith("ask a platform administrator to raise MLHUB_MAX_WAITING_JOBS_PER_USER.")
    assert resume(cast, cast.alice, mine).json()["detail"] == "bob has 2 jobs waiting, and 2 may wait."
    mine.refresh_from_db()
    assert (mine.state, mine.intent) == ("paused", "pause")
    cast.client(cast.bob).post(f"/api/v1/jobs/{waiting[0].id}/cancel")
    assert resume(cast, cast.bob, mine).json()["state"] == "queued"


def test_a_job_that_waits_already_may_be_resumed_again_at_the_limit(cast, settings):
    settings.MAX_WAITING_JOBS_PER_USER = settings.MAX_WAITING_JOBS_PER_ORGANISATION = 1
    assert resume(cast, cast.bob, job(cast.project_a, cast.bob)).status_code == 200
    refused = resume(cast, cast.alice, paused(cast, cast.alice))
    assert (refused.status_code, refused.json()["limit"]) == (422, "max_waiting_jobs_per_organisation")


def test_a_paused_job_is_not_resumed_once_the_storage_quota_is_used_up(cast):
    found = paused(cast, cast.bob)
    Quota.objects.filter(organisation=cast.a).update(max_storage_bytes=0)
    refused = resume(cast, cast.bob, found)
    assert (refused.status_code, refused.json()["limit"]) == (422, "max_storage_bytes")
    assert refused.json()["detail"].startswith("A may store 0 bytes and uses 0,")
    assert "ask a platform administrator for a larger quota" in refused.json()["remedy"]
    Quota.objects.filter(organisation=cast.a).update(max_storage_bytes=None)
    assert resume(cast, cast.bob, found).status_code == 200


def test_a_paused_job_is_not_resumed_with_more_workers_than_the_quota_now_gives(cast):
    found = paused(cast, cast.bob, min_workers=3)
    Quota.objects.filter(organisation=cast.a).update(max_gpus=2)
    refused = resume(cast, cast.bob, found)
    assert (refused.status_code, refused.json()["limit"]) == (422, "max_gpus")
    assert "min_workers is 3, and A may use 2 GPUs" in refused.json()["detail"]


def test_a_cancelled_job_leaves_the_queue_of_dry_runs(cast):
    first, second = (submit(cast, cast.bob).json()["id"] for _ in range(2))
    cast.client(cast.bob).post(f"/api/v1/jobs/{first}/cancel")
    assert [str(item.subject_id) for item in WorkItem.objects.waiting()] == [second]


def test_nothing_is_submitted_once_the_storage_quota_is_used_up(cast):
    Quota.objects.filter(organisation=cast.a).update(max_storage_bytes=0)
    refused = submit(cast, cast.bob)
    assert (refused.status_code, refused.json()["limit"]) == (422, "max_storage_bytes")
    assert submit(cast, cast.charlie, cast.project_b).status_code == 201


@pytest.mark.slow
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
