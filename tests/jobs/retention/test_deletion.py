# SPDX-License-Identifier: Apache-2.0
"""Deleting jobs: who may, when it is refused, what goes and what stays."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from mlhub.datasets.models import Dataset
from mlhub.events.models import Event
from mlhub.jobs.models import Artifact, Attempt, DeletedJob, Job
from mlhub.jobs.states import predicate
from mlhub.jobs.tasks import collect_checkpoints
from mlhub.metrics.models import LogLine
from mlhub.registry.models import Model, ModelVersion
from mlhub.retention.tasks import remove_detached
from mlhub.storage import actions as storage
from mlhub.storage.models import Blob, Holding
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, job

pytestmark = pytest.mark.django_db
SHA256 = "a" * 64


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def ended(cast: Cast, state: str = "succeeded", **fields: Any) -> Job:
    """With an attempt that left a checkpoint, a line of its log and a file of predictions."""
    found = job(cast.project_a, cast.bob, state=state, finished_at=timezone.now(), **fields)
    attempt = Attempt.objects.create(job=found, number=1, n_workers=1, ended_at=timezone.now(), outcome=state)
    blob, _ = Blob.objects.get_or_create(sha256=SHA256, defaults={"size_bytes": 500})
    Artifact.objects.create(attempt=attempt, name="predictions.parquet", blob=blob)
    Holding.objects.create(organisation=cast.a, blob=blob, owner_kind="artifact", owner_id=attempt.id)
    LogLine.objects.create(attempt=attempt, role="worker", index=0, number=0, seq=1, text="a line")
    return found


def delete(cast: Cast, user: Any, found: Job) -> Any:
    return cast.client(user).delete(f"/api/v1/jobs/{found.id}")


def checkpoints(settings: Any, found: Job) -> Path:
    folder = Path(settings.CHECKPOINT_ROOT) / str(found.id)
    (folder / "attempt-0001-step-0000000010").mkdir(parents=True)
    (folder / "attempt-0001-step-0000000010" / "weights.safetensors").write_bytes(b"x" * 1000)
    return folder


def test_an_ended_job_goes_with_its_attempts_its_log_and_its_bytes_and_its_events_stay(cast: Cast) -> None:
    found = ended(cast)
    assert storage.used_bytes(cast.a) == 500
    assert delete(cast, cast.bob, found).status_code == 204
    assert not Job.objects.exists()
    assert not Attempt.objects.exists()
    remove_detached()
    assert not LogLine.objects.exists()
    assert storage.used_bytes(cast.a) == 0
    assert cast.client(cast.bob).get(f"/api/v1/jobs/{found.id}").status_code == 404
    event = Event.objects.get(subject_id=found.id, kind="job.deleted")
    assert (event.actor, event.facts["name"], event.facts["state"]) == (cast.bob, "job", "succeeded")


def test_checkpoints_of_a_deleted_job_are_removed_at_once_and_those_of_an_unknown_one_are_not(
    cast: Cast, settings: Any
) -> None:
    settings.KEPT_DAYS = {**settings.KEPT_DAYS, "checkpoints": 0.0}  # for good, but for what people delete
    gone, unknown = ended(cast), ended(cast)
    folders = [checkpoints(settings, each) for each in (gone, unknown)]
    Job.objects.filter(pk=unknown.pk).delete()
    assert delete(cast, cast.bob, gone).status_code == 204
    assert collect_checkpoints() == 1
    assert [folder.exists() for folder in folders] == [False, True]


@pytest.mark.parametrize("state", ["queued", "starting", "running", "stopping", "paused"])
def test_a_job_that_has_not_ended_is_not_deleted(state: str, cast: Cast) -> None:
    found = job(cast.project_a, cast.bob, state=state)
    refused = delete(cast, cast.bob, found)
    assert (refused.status_code, refused.json()["code"]) == (409, "job_live")
    assert refused.json()["detail"] == f"job {predicate(state)}: only jobs that have ended can be deleted."
    assert refused.json()["remedy"] == "Cancel it, and delete it when it has ended."
    assert Job.objects.filter(pk=found.pk).exists()


def test_members_delete_their_own_jobs_and_admins_any(cast: Cast) -> None:
    of_alice, of_bob = ended(cast), ended(cast)
    Job.objects.filter(pk=of_alice.pk).update(created_by=cast.alice)
    assert delete(cast, cast.bob, of_alice).status_code == 403
    assert delete(cast, cast.victor, of_bob).status_code == 403
    assert delete(cast, cast.charlie, of_bob).status_code == 404
    assert delete(cast, None, of_bob).status_code == 401
    assert Job.objects.count() == 2
    assert delete(cast, cast.alice, of_bob).status_code == 204


def test_what_would_go_and_what_would_stay_is_shown_before(cast: Cast, settings: Any) -> None:
    found = ended(cast)
    checkpoints(settings, found)
    code = builtin()
    ModelVersion.objects.create(
        model=code.model, number=7, source="training", kind="builtin", entry="mlp", state="ready", job_id=found.id
    )
    job(cast.project_a, cast.bob, cloned_from=found)
    shown = cast.client(cast.bob).get(f"/api/v1/jobs/{found.id}/deletion")
    assert shown.json() == {
        "refusal": "",
        "remedy": "",
        "n_attempts": 1,
        "checkpoint_bytes": 1000,
        "result_bytes": 500,
        "trained_model": "mlp, version 7",
        "n_clones": 1,
    }
    for user, status in ((cast.victor, 403), (cast.charlie, 404)):
        assert cast.client(user).get(f"/api/v1/jobs/{found.id}/deletion").status_code == status
    running = job(cast.project_a, cast.bob, state="running")
    assert "is running" in cast.client(cast.bob).get(f"/api/v1/jobs/{running.id}/deletion").json()["refusal"]


def test_the_model_that_it_trained_and_jobs_cloned_from_it_stay(cast: Cast) -> None:
    found = ended(cast)
    trained = ModelVersion.objects.create(
        model=builtin().model, number=7, source="training", kind="builtin", entry="mlp", state="ready", job_id=found.id
    )
    clone = job(cast.project_a, cast.bob, cloned_from=found)
    assert delete(cast, cast.bob, found).status_code == 204
    trained.refresh_from_db()
    clone.refresh_from_db()
    assert (trained.job_id, clone.cloned_from) == (None, None)


def test_a_dataset_is_deleted_once_the_jobs_that_used_it_are(cast: Cast) -> None:
    found = ended(cast)
    dataset = found.dataset_version.dataset
    address = f"/api/v1/datasets/{dataset.id}"
    refused = cast.client(cast.bob).delete(address)
    assert (refused.status_code, refused.json()["code"]) == (409, "in_use")
    assert refused.json()["remedy"].startswith("Delete those jobs first")
    assert delete(cast, cast.bob, found).status_code == 204
    assert cast.client(cast.bob).delete(address).status_code == 204
    assert not Dataset.objects.exists()


def test_what_deleted_jobs_left_is_known_apart_from_what_a_restored_database_does_not_know(cast: Cast) -> None:
    found = ended(cast)
    delete(cast, cast.bob, found)
    row = DeletedJob.objects.get()
    assert (row.id, row.project) == (found.id, cast.project_a)
    assert timezone.now() - row.deleted_at < timedelta(minutes=10)


def test_a_version_of_a_dataset_is_deleted_unless_a_job_uses_it_or_it_is_the_only_one(cast: Cast) -> None:
    used = ended(cast).dataset_version
    address = f"/api/v1/dataset-versions/{used.id}"
    alone = cast.client(cast.bob).delete(address)
    assert (alone.status_code, alone.json()["code"]) == (409, "only_version")
    assert alone.json()["remedy"] == "Delete the dataset as a whole."
    fields = {"format": "npz", "manifest_sha256": "2" * 64, "size_bytes": 10, "created_by": cast.bob}
    other = used.dataset.versions.create(number=2, state="ready", **fields)
    refused = cast.client(cast.bob).delete(address)
    assert (refused.status_code, refused.json()["detail"]) == (409, "1 job uses version 1 of blobs.")
    of_other = f"/api/v1/dataset-versions/{other.id}"
    assert cast.client(cast.victor).delete(of_other).status_code == 403
    assert cast.client(cast.bob).delete(of_other).status_code == 204
    assert list(used.dataset.versions.values_list("number", flat=True)) == [1]
    assert Event.objects.get(kind="dataset.version_deleted").facts["number"] == 2


def test_a_version_of_a_model_is_deleted_unless_something_was_trained_with_it(cast: Cast) -> None:
    model = Model.objects.create(project=cast.project_a, name="net", created_by=cast.bob)
    fields = {"kind": "package", "entry": "model", "state": "ready", "created_by": cast.bob}
    code = model.versions.create(number=1, source="upload", **fields)
    assert cast.client(cast.bob).delete(f"/api/v1/model-versions/{code.id}").json()["code"] == "only_version"
    trained = model.versions.create(number=2, source="training", code_version=code, **fields)
    refused = cast.client(cast.bob).delete(f"/api/v1/model-versions/{code.id}")
    assert refused.json()["detail"] == "1 job or trained model uses version 1 of net."
    assert cast.client(cast.bob).delete(f"/api/v1/model-versions/{trained.id}").status_code == 204
    assert list(model.versions.values_list("number", flat=True)) == [1]
    built_in = builtin()
    assert cast.client(cast.alice).delete(f"/api/v1/model-versions/{built_in.id}").status_code == 403
