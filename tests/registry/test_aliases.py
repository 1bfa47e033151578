# SPDX-License-Identifier: Apache-2.0
"""Aliases of model versions: set, moved and deleted by name, used where a version is named, not lost by deletion."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.events.models import Event
from mlhub.registry.models import Model, ModelVersion
from mlhub.tenants.models import Project
from tests.jobs.builders import builtin, ready_dataset
from tests.registry.packages import a_dataset, code_of, trained, upload


@pytest.fixture
def version(cast) -> ModelVersion:
    assert upload(cast.client(cast.bob), cast.project_a).status_code == 201
    ModelVersion.objects.update(state="ready")
    return trained(code_of(Model.objects.get()), a_dataset(cast.project_a, cast.bob), cast.bob)


def test_an_alias_is_set_moved_and_deleted_and_each_is_audited(cast, version):
    bob, address = cast.client(cast.bob), f"/api/v1/models/{version.model_id}/aliases"
    for number in (1, 2, 2):
        answer = bob.put(f"{address}/best", {"version": number}, format="json")
        assert (answer.status_code, answer.json()["version"]) == (200, number)
    (listed,) = cast.client(cast.victor).get(address).json()
    assert (listed["name"], listed["version"], listed["set_by"]) == ("best", 2, "bob")
    assert bob.get(f"/api/v1/model-versions/{version.id}").json()["aliases"] == ["best"]
    assert bob.delete(f"{address}/best").status_code == 204
    assert bob.delete(f"{address}/best").status_code == 404
    events = Event.objects.filter(kind__startswith="model.alias").order_by("id")
    assert [(e.kind, e.facts["alias"], e.facts["number"], e.facts.get("before")) for e in events] == [
        ("model.alias_set", "best", 1, None),
        ("model.alias_set", "best", 2, 1),
        ("model.alias_deleted", "best", 2, None),
    ]


@pytest.mark.parametrize(("name", "number", "field"), [("Best", 2, "name"), ("3", 2, "name"), ("best", 9, "version")])
def test_a_name_or_a_version_that_cannot_be_used_is_refused_by_its_field(cast, version, name, number, field):
    address = f"/api/v1/models/{version.model_id}/aliases/{name}"
    answer = cast.client(cast.bob).put(address, {"version": number}, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


def test_a_number_names_the_version_of_a_job_unless_a_model_has_that_whole_name(cast, version):
    bob, model = cast.client(cast.bob), version.model
    data = ready_dataset(cast.project_a, cast.bob)
    asked = {"dataset_version": str(data.id), "project": "vision", "epochs": 1, "model": f"{model.name}:2"}
    submitted = bob.post("/api/v1/jobs", asked, format="json")
    assert (submitted.status_code, submitted.json()["model_version"]["id"]) == (201, str(version.id))
    for absent in (f"{model.name}:3", f"{model.name}:{'9' * 40}", f"{model.name}:٣", ":2"):
        assert bob.post("/api/v1/jobs", {**asked, "model": absent}, format="json").status_code in (404, 422), absent
    assert cast.client(cast.charlie).post("/api/v1/jobs", asked, format="json").status_code in (403, 404, 422)
    assert upload(bob, cast.project_a, name=f"{model.name}:2").status_code == 201
    ModelVersion.objects.update(state="ready")
    submitted = bob.post("/api/v1/jobs", asked, format="json")
    assert submitted.json()["model_version"]["model"]["name"] == f"{model.name}:2"


def test_a_job_from_weights_builds_the_model_that_they_are_of_unless_told_otherwise(cast, version):
    bob, model = cast.client(cast.bob), version.model
    trained_with = {"width": 32, "dropout": 0.1, "learning_rate": 0.3, "lr_schedule": "cosine"}
    ModelVersion.objects.filter(pk=version.pk).update(metadata={"hyperparameters": trained_with})
    data = ready_dataset(cast.project_a, cast.bob)
    asked = {"dataset_version": str(data.id), "project": "vision", "epochs": 1, "model": f"{model.name}:2"}
    submitted = bob.post("/api/v1/jobs", asked, format="json").json()
    assert submitted["hyperparameters"] == {"width": 32, "dropout": 0.1}  # and not how they were trained
    given = {"hyperparameters": {"dropout": 0.5, "learning_rate": 0.1}}
    submitted = bob.post("/api/v1/jobs", {**asked, **given}, format="json").json()
    assert submitted["hyperparameters"] == {"width": 32, "dropout": 0.5, "learning_rate": 0.1}
    from_code = bob.post("/api/v1/jobs", {**asked, "model": model.name}, format="json").json()
    assert from_code["hyperparameters"] == {}


def test_an_alias_names_the_version_of_an_export_and_of_a_job(cast, version):
    bob, model = cast.client(cast.bob), version.model
    bob.put(f"/api/v1/models/{model.id}/aliases/production", {"version": 2}, format="json")
    assert bob.get(f"/api/v1/models/{model.id}/versions/@production/export").status_code == 200
    assert bob.get(f"/api/v1/models/{model.id}/versions/@absent/export").status_code == 404
    data = ready_dataset(cast.project_a, cast.bob)
    asked = {"dataset_version": str(data.id), "project": "vision", "epochs": 1}
    submitted = bob.post("/api/v1/jobs", {**asked, "model": f"{model.name}@production"}, format="json")
    assert submitted.status_code == 201, submitted.content
    assert submitted.json()["model_version"]["id"] == str(version.id)
    refused = bob.post("/api/v1/jobs", {**asked, "model": f"{model.name}@absent"}, format="json")
    assert refused.status_code == 404


def test_with_a_built_in_model_s_name_a_job_may_begin_with_what_was_trained_of_it(cast):
    data, elsewhere = a_dataset(cast.project_a, cast.bob), a_dataset(cast.project_b, cast.charlie)
    bob = cast.client(cast.bob)

    def submitted(name: str) -> Any:
        asked = {"dataset_version": str(data.id), "project": "vision", "epochs": 1, "model": name}
        return bob.post("/api/v1/jobs", asked, format="json")

    trained(builtin(), elsewhere, cast.charlie)  # of others: not to be seen
    assert submitted("mlp:1").json()["model_version"]["id"] == str(builtin().id), "nothing else is meant"
    assert (submitted("mlp@best").status_code, submitted("mlp:2").status_code) == (404, 404)
    versions = [trained(builtin(), data, cast.bob) for _ in range(2)]
    bob.put(f"/api/v1/models/{versions[0].model_id}/aliases/best", {"version": 1}, format="json")
    for name, version in (("mlp@best", versions[0]), ("mlp:2", versions[1]), ("mlp (trained):1", versions[0])):
        assert submitted(name).json()["model_version"]["id"] == str(version.id), name
    refused = submitted("mlp:1")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "model")
    assert "mlp:1 may be a version of mlp or of mlp (trained)." in refused.json()["detail"]
    assert "mlp (trained):1" in refused.json()["remedy"]
    assert str(builtin().id) in refused.json()["remedy"]
    missing = submitted("mlp@absent")
    assert (missing.status_code, missing.json()["detail"]) == (
        404,
        "There is no version @absent of mlp or of mlp (trained).",
    )


def test_a_version_with_an_alias_is_not_deleted_and_the_model_is_with_its_aliases(cast, version):
    bob = cast.client(cast.bob)
    bob.put(f"/api/v1/models/{version.model_id}/aliases/best", {"version": 2}, format="json")
    answer = bob.delete(f"/api/v1/model-versions/{version.id}")
    assert (answer.status_code, answer.json()["code"], answer.json()["aliases"]) == (409, "has_alias", ["@best"])
    assert bob.delete(f"/api/v1/models/{version.model_id}").status_code == 204
    assert Project.objects.get(pk=cast.project_a.pk).models.count() == 0
