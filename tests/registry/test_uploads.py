# SPDX-License-Identifier: Apache-2.0
"""Uploading model code: a zip or one file, kept whole or not at all."""

from __future__ import annotations

import io
import zipfile

import pytest

from mlhub.events.models import Event
from mlhub.jobs.models import Job
from mlhub.registry.models import Model, ModelVersion
from mlhub.storage.actions import used_bytes
from mlhub.storage.models import Blob
from mlhub.storage.stores import blob_store
from mlhub.tenants.actions import set_quota
from tests.datasets.files import form
from tests.registry.packages import CODE, PACKAGE, a_dataset, code_of, trained, upload

MODELS = "/api/v1/models"


def stored(settings) -> list[str]:
    return sorted(p.name for p in settings.BLOB_ROOT.rglob("*") if p.is_file())


def test_a_package_is_kept_and_waits_for_validation(cast, settings):
    answer = upload(cast.client(cast.bob), cast.project_a, description="a line")
    assert answer.status_code == 201, answer.json()
    created = answer.json()
    assert (created["name"], created["description"], created["n_trained"]) == ("m", "a line", 0)
    version = created["latest_version"]
    assert (version["number"], version["source"], version["kind"], version["entry"]) == (
        1,
        "upload",
        "package",
        "",  # found out by its validation, as it was not given
    )
    assert (version["state"], version["size_bytes"]) == ("inspecting", len(PACKAGE))
    assert version["downloads"]["weights"] is None
    assert stored(settings) == [ModelVersion.objects.get().package_id]
    assert used_bytes(cast.a) == len(PACKAGE)
    assert Event.objects.get(kind="model.created").actor == cast.bob


def test_a_single_file_becomes_a_zip_always_the_same(cast, settings):
    bob = cast.client(cast.bob)
    first = upload(bob, cast.project_a, filename="net.py", content=CODE).json()["latest_version"]
    upload(bob, cast.project_a, name="n", filename="net.py", content=CODE)
    assert len(stored(settings)) == 1
    with zipfile.ZipFile(io.BytesIO(b"".join(bob.get(first["downloads"]["package"]).streaming_content))) as archive:
        assert archive.namelist() == ["net.py"]
        assert archive.read("net.py") == CODE


@pytest.mark.parametrize(
    ("fields", "entry"),
    [
        ({"entry": "nets.small"}, "nets.small"),
        ({"kind": "script", "entry": "src/train.py"}, "src/train.py"),
        ({"kind": "script", "filename": "train.py", "content": CODE}, "train.py"),
        ({"kind": "package", "filename": "net.py", "content": CODE}, "net"),
        ({"entry": "src/train.py"}, "src/train.py"),
    ],
)
def test_the_entry_is_the_one_given_or_the_single_file(cast, fields, entry):
    assert upload(cast.client(cast.bob), cast.project_a, **fields).json()["latest_version"]["entry"] == entry


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"filename": "m.tar.gz", "content": b"\x1f\x8b"}, "file"),
        ({"filename": "my-net.py", "content": CODE, "kind": "package"}, "file"),
        ({"entry": "../model"}, "entry"),
        ({"kind": "script"}, "entry"),
        ({"kind": "script", "entry": "../train.py"}, "entry"),
        ({"kind": "script", "entry": "/train.py"}, "entry"),
        ({"kind": "builtin"}, "kind"),
        ({"name": ""}, "name"),
    ],
)
def test_a_wrong_upload_names_the_field_and_stores_nothing(cast, settings, fields, field):
    answer = upload(cast.client(cast.bob), cast.project_a, **fields)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field
    assert stored(settings) == []
    assert not Model.objects.exists()


def test_a_package_over_the_quota_leaves_nothing(cast, settings):
    set_quota(cast.a, max_storage_bytes=10, actor=None)
    answer = upload(cast.client(cast.bob), cast.project_a)
    assert (answer.status_code, answer.json()["code"]) == (422, "quota_exceeded")
    assert stored(settings) == []
    assert not Model.objects.exists()
    assert not Blob.objects.exists()


def test_a_name_is_taken_once_in_a_project(cast):
    bob = cast.client(cast.bob)
    upload(bob, cast.project_a)
    again = upload(bob, cast.project_a)
    assert (again.status_code, again.json()["code"]) == (409, "name_taken")


def test_versions_are_numbered_and_the_newest_is_shown(cast):
    bob = cast.client(cast.bob)
    model = upload(bob, cast.project_a).json()["id"]
    second = bob.post(f"{MODELS}/{model}/versions", form("net.py", CODE), format="multipart")
    assert (second.status_code, second.json()["number"]) == (201, 2)
    assert bob.get(f"{MODELS}/{model}").json()["latest_version"]["number"] == 2
    listed = bob.get(f"{MODELS}/{model}/versions?source=upload").json()["results"]
    assert [v["number"] for v in listed] == [2, 1]
    assert bob.get(f"{MODELS}/{model}/versions?source=training").json()["results"] == []
    assert bob.get(f"{MODELS}/{model}/versions?source=magic").status_code == 422


def test_models_are_listed_by_whether_jobs_can_train_their_newest_code(cast):
    bob = cast.client(cast.bob)
    for name in ("ready", "renewed", "refused"):
        upload(bob, cast.project_a, name=name)
    ModelVersion.objects.filter(model__name__in=("ready", "renewed")).update(state="ready")
    ModelVersion.objects.filter(model__name="refused").update(state="refused")
    renewed = Model.objects.get(name="renewed").pk
    bob.post(f"{MODELS}/{renewed}/versions", form("net.py", CODE), format="multipart")
    trained(code_of(Model.objects.get(name="ready")), a_dataset(cast.project_a, cast.bob), cast.bob)
    Model.objects.create(project=cast.project_a, name="weights alone", created_by=cast.bob)

    def names(is_ready: str) -> set[str]:
        listed = bob.get(f"{MODELS}?project={cast.project_a.id}&ready={is_ready}").json()["results"]
        return {model["name"] for model in listed}

    assert (names("true"), names("false")) == ({"ready"}, {"renewed", "refused", "weights alone"})


def test_a_list_costs_few_queries(cast, django_assert_max_num_queries):
    bob = cast.client(cast.bob)
    for i in range(3):
        upload(bob, cast.project_a, name=f"m{i}")
    with django_assert_max_num_queries(5):
        listed = bob.get(f"{MODELS}?project={cast.project_a.id}").json()["results"]
    assert [m["name"] for m in listed] == ["m2", "m1", "m0"]


def test_deleting_frees_the_quota_and_is_for_the_maker_and_admins(cast):
    made = upload(cast.client(cast.alice), cast.project_a).json()["id"]
    assert cast.client(cast.bob).delete(f"{MODELS}/{made}").status_code == 403
    assert cast.client(cast.alice).delete(f"{MODELS}/{made}").status_code == 204
    assert used_bytes(cast.a) == 0
    assert Event.objects.filter(kind="model.deleted", subject_id=made).count() == 1


def test_a_model_that_a_job_uses_is_not_deleted(cast):
    bob = cast.client(cast.bob)
    made = upload(bob, cast.project_a).json()["id"]
    Job.objects.create(
        project=cast.project_a,
        name="j",
        created_by=cast.bob,
        dataset_version=a_dataset(cast.project_a, cast.bob),
        model_version=code_of(Model.objects.get()),
        epochs=1,
        batch_size=1,
    )
    refused = bob.delete(f"{MODELS}/{made}")
    assert (refused.status_code, refused.json()["code"]) == (409, "in_use")
    assert blob_store().exists(ModelVersion.objects.get().package_id)
    assert used_bytes(cast.a) == len(PACKAGE)
