# SPDX-License-Identifier: Apache-2.0
"""Names where the API wants ids: of a project, a dataset, a model; never across the wall between organisations."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from mlhub.registry.models import Model
from mlhub.tenants.models import Project
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, ready_dataset


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


def submit(cast: Cast, **body: Any) -> Any:
    return cast.client(cast.bob).post("/api/v1/jobs", {"model": builtin().model.name, **body})


def test_dataset_model_and_project_are_named(cast: Cast) -> None:
    dataset = ready_dataset(cast.project_a, cast.bob)
    made = submit(cast, dataset="blobs", project="vision")
    assert made.status_code == 201, made.json()
    assert made.json()["dataset_version"]["id"] == str(dataset.id)
    assert submit(cast, dataset="blobs").json()["project"]["name"] == "vision"
    by_id = {"dataset": str(dataset.dataset_id), "model": str(builtin().model_id), "project": str(cast.project_a.id)}
    assert submit(cast, **by_id).json()["dataset_version"]["id"] == str(dataset.id)


def test_of_several_of_one_name_the_one_in_the_project_is_meant(cast: Cast) -> None:
    ready_dataset(cast.project_a, cast.bob)
    there = ready_dataset(Project.objects.create(organisation=cast.a, name="speech"), cast.bob)
    refused = submit(cast, dataset="blobs")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "dataset")
    assert str(there.dataset_id) in refused.json()["remedy"]
    assert submit(cast, dataset="blobs", project="speech").json()["dataset_version"]["id"] == str(there.id)


def test_ones_own_model_comes_before_a_built_in_one_of_its_name(cast: Cast) -> None:
    ready_dataset(cast.project_a, cast.bob)
    version = builtin()
    own = Model.objects.create(project=cast.project_a, name=version.model.name, created_by=cast.bob)
    version.pk, version._state.adding, version.model = None, True, own
    version.save()
    assert submit(cast, dataset="blobs").json()["model_version"]["id"] == str(version.pk)


def test_names_of_others_are_not_there(cast: Cast) -> None:
    ready_dataset(cast.project_b, cast.charlie, name="secret")
    for name in ("secret", "absent"):
        refused = submit(cast, dataset=name)
        assert refused.status_code == 404
        assert refused.json()["detail"] == f"There is no dataset called {name} that you may see."


@pytest.mark.parametrize("wrong", [7, ["blobs"], "", "x" * 101, "a\0b"])
def test_what_is_no_name_is_refused(cast: Cast, wrong: Any) -> None:
    assert submit(cast, dataset=wrong).status_code == 422


def test_uploads_name_their_project(cast: Cast) -> None:
    file = SimpleUploadedFile("x.csv", b"a,b\n1,2\n", "text/csv")
    body = {"file": file, "name": "x", "project": "vision", "target": "b"}
    made = cast.client(cast.bob).post("/api/v1/datasets", body, format="multipart")
    assert made.status_code == 201, made.json()
    assert made.json()["project"]["name"] == "vision"


def test_a_built_in_model_is_found_behind_any_number_of_namesakes_in_other_projects(cast: Cast) -> None:
    ready_dataset(cast.project_a, cast.bob)
    name = builtin().model.name
    for number in range(12):
        other = Project.objects.create(organisation=cast.a, name=f"other-{number}")
        Model.objects.create(project=other, name=name, created_by=cast.bob)
    Model.objects.filter(project=None, name=name).update(name="aside")  # behind them, as rows are made anew
    Model.objects.filter(project=None, name="aside").update(name=name)
    made = submit(cast, dataset="blobs", project="vision", model=name)
    assert made.status_code == 201, made.json()
    assert made.json()["model_version"]["kind"] == "builtin"
