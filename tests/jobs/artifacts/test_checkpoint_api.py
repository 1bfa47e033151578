# SPDX-License-Identifier: Apache-2.0
"""A job's checkpoints through the public door: list, pin, download, delete, fork; and who may not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.utils import timezone
from safetensors.numpy import load_file, save

from mlhub.core.errors import InvalidInputError
from mlhub.events.models import Event
from mlhub.jobs.execution import inputs
from mlhub.jobs.models import Attempt, Checkpoint, Job
from mlhub.jobs.tasks import collect_checkpoints
from mlhub.metrics.reports import read_report
from mlhub.registry.models import ModelVersion
from mlhub.storage import actions as storage
from mlhub.storage.stores import blob_store
from mlhub.tenants.models import Quota
from tests.cast import Cast, make_cast
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
Run = Callable[[], Any]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def trained(cast: Cast, *, state: str = "succeeded") -> Job:
    """A job with an attempt, two checkpoints to resume from, and weights that were the best."""
    found = job(cast.project_a, cast.bob, state=state, finished_at=timezone.now() if state == "succeeded" else None)
    Attempt.objects.create(job=found, number=1, n_workers=1, ended_at=timezone.now())
    for name, step in (("attempt-", 10), ("attempt-", 20), ("best-attempt-", 15)):
        written(found, f"{name}0001-step-{step:010d}", step=step)
    return found


def written(found: Job, name: str, *, step: int) -> Checkpoint:
    folder = inputs.checkpoint_folder(found) / name
    folder.mkdir(parents=True)
    (folder / "weights.safetensors").write_bytes(save({"w": np.full(4, step, np.float32)}))
    (folder / "manifest.json").write_text(json.dumps({"step": step}))
    return Checkpoint.objects.create(
        attempt=found.attempts.get(),
        step=step,
        name=name,
        size_bytes=88,
        write_s=0.1,
        stall_s=0.1,
        at=timezone.now(),
        metrics={"eval/accuracy": 0.9} if name.startswith("best") else {},
    )


def listed(cast: Cast, found: Job, user: Any = None) -> list[dict[str, Any]]:
    answer = cast.client(user or cast.bob).get(f"/api/v1/jobs/{found.id}/checkpoints")
    assert answer.status_code == 200, answer.content
    return answer.json()  # type: ignore[no-any-return]


def of_step(found: Job, step: int) -> Checkpoint:
    return Checkpoint.objects.get(attempt__job=found, step=step)


def test_the_checkpoints_that_are_there_are_listed_newest_first(cast: Cast) -> None:
    found = trained(cast)
    (inputs.checkpoint_folder(found) / of_step(found, 10).name / "manifest.json").unlink()  # it was replaced
    first, second = listed(cast, found)
    assert (first["step"], first["is_best"], first["is_pinned"], first["is_reachable"]) == (20, False, False, True)
    assert (second["step"], second["is_best"], second["metrics"]) == (15, True, {"eval/accuracy": 0.9})
    assert first["size_bytes"] == 88


def test_a_long_list_is_read_in_parts_and_deleted_at_once(cast: Cast, django_assert_max_num_queries: Any) -> None:
    found = trained(cast)
    for step in range(100, 130):
        written(found, f"attempt-0001-step-{step:010d}", step=step)
    client, path = cast.client(cast.bob), f"/api/v1/jobs/{found.id}/checkpoints"
    steps: list[int] = []
    query: dict[str, int] = {"limit": 7}
    while part := client.get(path, query).json():
        steps += [row["step"] for row in part]
        query["after"] = part[-1]["id"]
    assert steps == [*range(129, 99, -1), 20, 15, 10]
    assert client.get(path, {"limit": 0}).status_code == 422
    other = trained(cast)
    assert client.get(path, {"after": of_step(other, 20).pk}).status_code == 404
    ids = [row["id"] for row in client.get(path).json() if row["step"] >= 100]
    with django_assert_max_num_queries(25):  # as for one
        assert client.post(f"{path}/delete", {"checkpoints": ids}, format="json").status_code == 204
    assert [row["step"] for row in listed(cast, found)] == [20, 15, 10]


def test_a_pinned_checkpoint_survives_the_retention_and_cannot_be_deleted_until_it_is_unpinned(
    cast: Cast, settings: Any
) -> None:
    found = trained(cast)
    client, row = cast.client(cast.bob), of_step(found, 10)
    address = f"/api/v1/jobs/{found.id}/checkpoints/{row.pk}"
    assert client.patch(address, {"is_pinned": True}).json()["is_pinned"] is True
    folder = inputs.checkpoint_folder(found)
    assert (folder / row.name / "pinned").exists(), "the training of the job goes by this"
    settings.KEPT_DAYS = {**settings.KEPT_DAYS, "checkpoints": 1.0}
    Job.objects.filter(pk=found.pk).update(finished_at=timezone.now() - timedelta(days=3))
    assert collect_checkpoints() == 1
    assert collect_checkpoints() == 0
    assert [path.name for path in folder.iterdir()] == [row.name]
    refused = client.post(f"/api/v1/jobs/{found.id}/checkpoints/delete", {"checkpoints": [row.pk]})
    assert (refused.status_code, refused.json()["code"]) == (409, "checkpoint_pinned")
    assert client.patch(address, {"is_pinned": False}).json()["is_pinned"] is False
    assert not (folder / row.name / "pinned").exists()
    kinds = Event.objects.filter(subject_id=found.id, kind__startswith="job.checkpoint").order_by("id")
    assert [event.kind for event in kinds] == ["job.checkpoint_pinned", "job.checkpoint_unpinned"]


def test_checkpoints_are_deleted_together_or_not_at_all(cast: Cast, django_capture_on_commit_callbacks: Any) -> None:
    found, other = trained(cast), trained(cast)
    client, address = cast.client(cast.bob), f"/api/v1/jobs/{found.id}/checkpoints/delete"
    foreign = of_step(other, 10).pk
    assert client.post(address, {"checkpoints": [of_step(found, 10).pk, foreign]}).status_code == 404
    assert len(listed(cast, found)) == 3
    chosen = [of_step(found, 10).pk, of_step(found, 15).pk]
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(address, {"checkpoints": chosen}).status_code == 204
    assert [row["step"] for row in listed(cast, found)] == [20]
    assert len(list(inputs.checkpoint_folder(found).iterdir())) == 1
    assert client.post(address, {"checkpoints": []}).status_code == 422


def test_what_a_live_job_needs_is_not_deleted(cast: Cast) -> None:
    found = trained(cast, state="queued")
    client, address = cast.client(cast.bob), f"/api/v1/jobs/{found.id}/checkpoints/delete"
    for step in (20, 15):
        refused = client.post(address, {"checkpoints": [of_step(found, step).pk]})
        assert (refused.status_code, refused.json()["code"]) == (409, "job_live")
        assert "has ended" in refused.json()["remedy"]
    assert client.post(address, {"checkpoints": [of_step(found, 10).pk]}).status_code == 204


def test_the_weights_of_a_checkpoint_are_downloaded(cast: Cast, tmp_path: Path) -> None:
    found = trained(cast)
    answer = cast.client(cast.victor).get(f"/api/v1/jobs/{found.id}/checkpoints/{of_step(found, 15).pk}/weights")
    assert answer.status_code == 200
    (tmp_path / "weights").write_bytes(b"".join(answer.streaming_content))  # type: ignore[arg-type]
    assert load_file(tmp_path / "weights")["w"].tolist() == [15.0] * 4


def test_a_link_that_a_pod_put_in_the_place_of_weights_is_not_followed(cast: Cast, tmp_path: Path) -> None:
    found = trained(cast)
    (tmp_path / "secret").write_text("the platform's")
    weights = inputs.checkpoint_folder(found) / of_step(found, 15).name / "weights.safetensors"
    weights.unlink()
    weights.symlink_to(tmp_path / "secret")
    address = f"/api/v1/jobs/{found.id}/checkpoints/{of_step(found, 15).pk}/weights"
    assert (cast.client(cast.bob).get(address).status_code) == 410
    folder = inputs.checkpoint_folder(found) / of_step(found, 20).name
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    address = f"/api/v1/jobs/{found.id}/checkpoints/{of_step(found, 20).pk}"
    assert cast.client(cast.bob).get(f"{address}/weights").status_code == 410
    assert cast.client(cast.bob).patch(address, {"is_pinned": True}).status_code == 410


def test_a_fork_is_a_job_with_the_same_request_that_starts_from_the_checkpoints_weights(cast: Cast) -> None:
    found = trained(cast)
    Job.objects.filter(pk=found.pk).update(hyperparameters={"learning_rate": 0.1})
    address = f"/api/v1/jobs/{found.id}/fork"
    answer = cast.client(cast.bob).post(address, {"checkpoint": of_step(found, 15).pk, "epochs": 7})
    assert answer.status_code == 201, answer.content
    fork = Job.objects.get(pk=answer.json()["id"])
    assert (fork.cloned_from, fork.epochs, fork.hyperparameters) == (found, 7, {"learning_rate": 0.1})
    assert fork.name == "job from step 15"
    assert inputs.model_spec(fork.model_version).weights == "start.safetensors"
    blob = fork.model_version.weights
    assert blob is not None
    with blob_store().open(blob.sha256) as file:
        assert file.read() == save({"w": np.full(4, 15, np.float32)})
    assert fork.model_version.metadata["checkpoint"] == {"job": str(found.pk), "attempt": 1, "step": 15}
    assert storage.used_bytes(cast.a) == blob.size_bytes
    again = cast.client(cast.bob).post(address, {"checkpoint": of_step(found, 15).pk})
    assert Job.objects.get(pk=again.json()["id"]).model_version == fork.model_version
    assert storage.used_bytes(cast.a) == blob.size_bytes


def test_a_fork_that_is_refused_leaves_nothing(cast: Cast) -> None:
    found = trained(cast)
    address, n_versions = f"/api/v1/jobs/{found.id}/fork", ModelVersion.objects.count()
    refused = cast.client(cast.bob).post(address, {"checkpoint": of_step(found, 15).pk, "min_workers": 500})
    assert refused.status_code == 422
    assert ModelVersion.objects.count() == n_versions
    assert storage.used_bytes(cast.a) == 0
    assert cast.client(cast.bob).post(address, {"checkpoint": 10**9}).status_code == 404
    assert cast.client(cast.bob).post(address, {}).status_code == 422
    gone = of_step(found, 10)
    (inputs.checkpoint_folder(found) / gone.name / "weights.safetensors").unlink()
    assert cast.client(cast.bob).post(address, {"checkpoint": gone.pk}).json()["code"] == "checkpoint_gone"
    type(gone).objects.filter(pk=gone.pk).update(name="output/checkpoints/last.pth")
    problem = cast.client(cast.bob).post(address, {"checkpoint": gone.pk}).json()
    assert problem["code"] == "checkpoint_of_a_script"
    assert "Resume the job" in problem["remedy"]


def test_a_fork_of_more_than_the_quota_has_room_for_is_refused_before_a_byte_is_copied(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = trained(cast)
    address, limits = f"/api/v1/jobs/{found.id}/fork", []
    stage = type(blob_store()).stage

    def staged(store: Any, *, limit_bytes: int) -> Any:
        limits.append(limit_bytes)
        return stage(store, limit_bytes=limit_bytes)

    monkeypatch.setattr(type(blob_store()), "stage", staged)
    size_bytes = len(save({"w": np.full(4, 15, np.float32)}))
    Quota.objects.update_or_create(organisation=cast.a, defaults={"max_storage_bytes": size_bytes - 1})
    refused = cast.client(cast.bob).post(address, {"checkpoint": of_step(found, 15).pk})
    assert (refused.status_code, refused.json()["code"], limits) == (422, "quota_exceeded", [])
    Quota.objects.filter(organisation=cast.a).update(max_storage_bytes=size_bytes + 1)
    for _ in range(2):  # the second fork shares what the first one stored, and needs no further room
        assert cast.client(cast.bob).post(address, {"checkpoint": of_step(found, 15).pk}).status_code == 201
    assert limits == [size_bytes] * 2


def test_weights_that_are_mostly_holes_are_not_copied(cast: Cast) -> None:
    found = trained(cast)
    row = of_step(found, 15)
    os.truncate(inputs.checkpoint_folder(found) / row.name / "weights.safetensors", 2**24)
    refused = cast.client(cast.bob).post(f"/api/v1/jobs/{found.id}/fork", {"checkpoint": row.pk})
    assert (refused.status_code, refused.json()["code"]) == (409, "checkpoint_sparse")
    assert storage.used_bytes(cast.a) == 0


def test_where_only_pods_reach_the_checkpoints_they_are_listed_and_nothing_else(cast: Cast, settings: Any) -> None:
    found = trained(cast)
    settings.BACKEND, settings.CHECKPOINT_ROOT = "kubernetes", Path(settings.CHECKPOINT_ROOT) / "elsewhere"
    assert [(row["step"], row["is_reachable"]) for row in listed(cast, found)] == [
        (20, False),
        (15, False),
        (10, False),
    ]
    client, row = cast.client(cast.bob), of_step(found, 10)
    address = f"/api/v1/jobs/{found.id}"
    answers = [
        client.patch(f"{address}/checkpoints/{row.pk}", {"is_pinned": True}),
        client.post(f"{address}/checkpoints/delete", {"checkpoints": [row.pk]}),
        client.get(f"{address}/checkpoints/{row.pk}/weights"),
        client.post(f"{address}/fork", {"checkpoint": row.pk}),
    ]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [
        (409, "checkpoints_out_of_reach")
    ] * 4


def test_charlie_finds_no_checkpoint_of_bobs_job_and_victor_changes_none(cast: Cast) -> None:
    found = trained(cast)
    row = of_step(found, 10)
    address = f"/api/v1/jobs/{found.id}"

    def statuses(user: Any) -> list[int]:
        client = cast.client(user)
        return [
            client.get(f"{address}/checkpoints").status_code,
            client.get(f"{address}/checkpoints/{row.pk}/weights").status_code,
            client.patch(f"{address}/checkpoints/{row.pk}", {"is_pinned": True}).status_code,
            client.post(f"{address}/checkpoints/delete", {"checkpoints": [row.pk]}).status_code,
            client.post(f"{address}/fork", {"checkpoint": row.pk}).status_code,
        ]

    assert statuses(cast.charlie) == [404] * 5
    assert statuses(cast.victor) == [200, 200, 403, 403, 403]


def test_metrics_of_a_checkpoint_that_a_pod_reports_are_numbers_by_name() -> None:
    report = {
        "type": "checkpoint", "step": 5, "name": "best-attempt-0001-step-0000000005", "size_bytes": 8, "at": 0.0,
        "write_s": 0.1, "stall_s": 0.1,
    }  # fmt: skip
    assert read_report({**report, "metrics": {"eval/auc": 0.5}}, number=1).metrics == {"eval/auc": 0.5}  # type: ignore[union-attr]
    for metrics in ({"eval/auc": "much"}, {"a b": 1.0}, [1.0], {"eval/auc": float("nan")}):
        with pytest.raises(InvalidInputError):
            read_report({**report, "metrics": metrics}, number=1)
