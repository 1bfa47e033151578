# SPDX-License-Identifier: Apache-2.0
"""Uploading datasets: all of it or nothing, within the quota, and never changed afterwards."""

from __future__ import annotations

import hashlib

import pytest

from mlhub.datasets.actions import accept_version, manifest_sha256
from mlhub.datasets.models import Dataset, DatasetVersion
from mlhub.events.models import Event
from mlhub.storage.actions import used_bytes
from mlhub.storage.models import Blob, Holding
from mlhub.storage.stores import blob_store
from mlhub.tenants.actions import set_quota
from tests.datasets import audio, files

DATASETS = "/api/v1/datasets"


def upload(client, project, name="d", filename="d.csv", content=None, **fields):
    body = files.form(filename, files.csv() if content is None else content, name=name, project=project.id, **fields)
    return client.post(DATASETS, body, format="multipart")


def stored(settings) -> list[str]:
    """All files that lie in the store, staging included."""
    return sorted(p.name for p in settings.BLOB_ROOT.rglob("*") if p.is_file())


def test_an_upload_is_kept_by_its_content_and_waits_for_inspection(cast, settings):
    content = files.csv()
    sha256 = hashlib.sha256(content).hexdigest()
    answer = upload(cast.client(cast.bob), cast.project_a, target="species", description="flowers")
    assert answer.status_code == 201, answer.json()
    body_json = answer.json()
    assert (body_json["name"], body_json["description"]) == ("d", "flowers")
    assert body_json["project"] == {
        "id": str(cast.project_a.id),
        "name": "vision",
        "organisation": {"id": str(cast.a.id), "name": "A"},
    }
    version = body_json["latest_version"]
    assert (version["number"], version["state"], version["format"]) == (1, "inspecting", "csv")
    assert version["options"] == {"target": "species"}
    assert version["files"] == [{"name": "d.csv", "sha256": sha256, "size_bytes": len(content)}]
    assert version["manifest_sha256"] == manifest_sha256(version["files"], version["options"])
    assert (version["error"], version["inspected_at"], version["schema"]) == (None, None, {})
    assert stored(settings) == [sha256]
    assert blob_store().verify(sha256)
    assert used_bytes(cast.a) == len(content)
    event = Event.objects.get(kind="dataset.created")
    assert (event.organisation, event.actor, event.subject_id) == (cast.a, cast.bob, Dataset.objects.get().id)


@pytest.mark.parametrize(
    ("filename", "content", "format"),
    [
        ("x.npz", files.npz(), "npz"),
        ("x.CSV", files.csv(), "csv"),
        ("x.pq", files.parquet(), "parquet"),
        ("x.zip", files.images(), "image_folder"),
        ("x.txt", files.text(), "text"),
        ("x.tar", files.shard(), "webdataset"),
        ("x.zip", audio.zip_of_clips(), "audio_folder"),
        ("x.tar", audio.tar_of_clips(), "audio_folder"),
        ("x.tar", audio.shard_of_clips(), "audio_folder"),
        ("x.jsonl", files.reviews(), "text_lines"),
        ("x.jsonl", files.reviews(stars=3), "json_lines"),
        ("x.jsonl", b"[" * 100_000, "json_lines"),
        ("x", files.parquet(), "parquet"),
        ("x.bin", files.images(), "image_folder"),
    ],
)
def test_the_format_is_guessed_from_the_name_or_the_first_bytes(cast, filename, content, format):
    answer = upload(cast.client(cast.bob), cast.project_a, filename=filename, content=content)
    assert answer.json()["latest_version"]["format"] == format


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"filename": "x.bin"}, "format"),
        ({"format": "hdf5"}, "format"),
        ({"filename": "x.npz", "target": "y"}, "target"),
        ({"filename": "x.csv", "tokenizer": "bpe"}, "tokenizer"),
        ({"filename": "x.txt", "tokenizer": "letters"}, "tokenizer"),
        ({"filename": "x.csv", "sample_rate": 8000}, "sample_rate"),
        ({"filename": "x.zip", "format": "audio_folder", "clip_s": 0}, "clip_s"),
        ({"content": b""}, "file"),
        ({"name": ""}, "name"),
        ({"name": "n" * 101}, "name"),
    ],
)
def test_a_wrong_upload_names_the_field_and_stores_nothing(cast, settings, fields, field):
    answer = upload(cast.client(cast.bob), cast.project_a, **fields)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field
    assert stored(settings) == []
    assert not Dataset.objects.exists()


def test_an_upload_without_a_file_names_it_and_json_is_not_an_upload(cast):
    bob = cast.client(cast.bob)
    answer = bob.post(DATASETS, {"name": "d", "project": str(cast.project_a.id)}, format="multipart")
    assert answer.json()["errors"][0]["field"] == "file"
    assert bob.post(DATASETS, {"name": "d"}, format="json").status_code == 415


def test_an_upload_over_the_quota_leaves_nothing(cast, settings):
    set_quota(cast.a, max_storage_bytes=len(files.csv()) + 10, actor=None)
    bob = cast.client(cast.bob)
    assert upload(bob, cast.project_a).status_code == 201
    before = stored(settings)
    events = Event.objects.count()
    for refused in (
        upload(bob, cast.project_a, name="e", content=files.csv(30)),
        bob.post(
            f"{DATASETS}/{Dataset.objects.get().id}/versions", files.form("d.csv", files.csv(30)), format="multipart"
        ),
    ):
        assert (refused.status_code, refused.json()["code"]) == (422, "quota_exceeded")
        body_json = refused.json()
        assert (body_json["limit"], body_json["used_bytes"], body_json["asked_bytes"]) == (
            "max_storage_bytes",
            len(files.csv()),
            len(files.csv(30)),
        )
        assert body_json["errors"][0]["remedy"]
    assert stored(settings) == before
    assert (Dataset.objects.count(), DatasetVersion.objects.count(), Blob.objects.count()) == (1, 1, 1)
    assert Event.objects.count() == events


def test_the_same_bytes_are_stored_once_and_charged_once_to_each_organisation(cast, settings):
    for i in range(2):
        assert upload(cast.client(cast.bob), cast.project_a, name=f"d{i}").status_code == 201
    assert upload(cast.client(cast.charlie), cast.project_b).status_code == 201
    assert len(stored(settings)) == 1
    assert (used_bytes(cast.a), used_bytes(cast.b)) == (len(files.csv()), len(files.csv()))
    assert Holding.objects.count() == 3


def test_an_upload_over_the_platforms_limit_is_broken_off(cast, settings):
    settings.MAX_UPLOAD_BYTES = 1000
    answer = upload(cast.client(cast.bob), cast.project_a, content=files.csv(1000))
    assert (answer.status_code, answer.json()["limit_bytes"]) == (413, 1000)
    assert stored(settings) == []


def test_a_name_is_taken_once_in_a_project(cast, settings):
    bob = cast.client(cast.bob)
    upload(bob, cast.project_a)
    before = stored(settings)
    again = upload(bob, cast.project_a, content=files.csv(20))
    assert (again.status_code, again.json()["code"], again.json()["errors"][0]["field"]) == (409, "name_taken", "name")
    assert stored(settings) == before
    assert upload(cast.client(cast.charlie), cast.project_b).status_code == 201


def test_a_new_version_leaves_the_one_before_as_it_was(cast):
    bob = cast.client(cast.bob)
    first = upload(bob, cast.project_a, target="species").json()
    accept_version(DatasetVersion.objects.get().id, schema={"n_examples": 12}, preview={"kind": "table"})
    before = bob.get(f"/api/v1/dataset-versions/{first['latest_version']['id']}").json()
    versions = f"{DATASETS}/{first['id']}/versions"
    second = bob.post(versions, files.form("more.csv", files.csv(20), target="width"), format="multipart")
    assert (second.status_code, second.json()["number"]) == (201, 2)
    assert second.json()["manifest_sha256"] != before["manifest_sha256"]
    assert bob.get(f"/api/v1/dataset-versions/{before['id']}").json() == before
    assert [v["number"] for v in bob.get(versions).json()["results"]] == [2, 1]
    assert bob.get(f"{DATASETS}/{first['id']}").json()["latest_version"]["number"] == 2


def test_a_ready_version_has_no_address_that_changes_it(cast):
    bob = cast.client(cast.bob)
    version = upload(bob, cast.project_a).json()["latest_version"]["id"]
    for verb in ("put", "patch", "post"):
        assert getattr(bob, verb)(f"/api/v1/dataset-versions/{version}", {}).status_code in (405, 415)


def test_a_list_is_one_page_of_few_queries_without_samples(cast, django_assert_max_num_queries):
    bob = cast.client(cast.bob)
    for i in range(3):
        upload(bob, cast.project_a, name=f"d{i}")
    for version in DatasetVersion.objects.all():
        accept_version(version.id, schema={}, preview={"kind": "text", "lines": []})
    with django_assert_max_num_queries(5):
        listed = bob.get(f"{DATASETS}?project={cast.project_a.id}").json()["results"]
    assert [d["name"] for d in listed] == ["d2", "d1", "d0"]
    assert {d["latest_version"]["preview"] for d in listed} == {None}
    shown = bob.get(f"{DATASETS}/{listed[0]['id']}").json()
    assert shown["latest_version"]["preview"] == {"kind": "text", "lines": []}
    assert bob.get(f"{DATASETS}?name=d1").json()["results"][0]["name"] == "d1"
    assert bob.get(f"{DATASETS}?organisation={cast.b.id}").json()["results"] == []


def test_deleting_frees_the_quota_and_is_for_the_maker_and_admins(cast):
    made = upload(cast.client(cast.alice), cast.project_a).json()
    address = f"{DATASETS}/{made['id']}"
    assert cast.client(cast.bob).delete(address).status_code == 403
    assert cast.client(cast.alice).delete(address).status_code == 204
    assert used_bytes(cast.a) == 0
    assert not DatasetVersion.objects.exists()
    assert Event.objects.filter(kind="dataset.deleted", subject_id=made["id"]).count() == 1
    assert cast.client(cast.alice).delete(address).status_code == 404


def test_a_dataset_that_a_job_uses_is_not_deleted(cast):
    from mlhub.jobs.models import Job
    from mlhub.registry.models import Model, ModelVersion

    bob = cast.client(cast.bob)
    made = upload(bob, cast.project_a).json()
    model = Model.objects.create(project=cast.project_a, name="m")
    code = ModelVersion.objects.create(model=model, number=1, source="upload", kind="package", entry="model")
    Job.objects.create(
        project=cast.project_a,
        name="j",
        created_by=cast.bob,
        dataset_version=DatasetVersion.objects.get(),
        model_version=code,
        epochs=1,
        batch_size=1,
    )
    refused = bob.delete(f"{DATASETS}/{made['id']}")
    assert (refused.status_code, refused.json()["code"], refused.json()["n_jobs"]) == (409, "in_use", 1)
    assert used_bytes(cast.a) == len(files.csv())
    assert not Event.objects.filter(kind="dataset.deleted").exists()
