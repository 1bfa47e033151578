# SPDX-License-Identifier: Apache-2.0
"""Built-in models, and what training makes: lineage, one version a job, nothing lost over a quota."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.core.management import call_command

from mlhub.events.models import Event
from mlhub.registry.builtin_models import ensure_builtins
from mlhub.registry.builtins import BUILTINS
from mlhub.registry.models import Model, ModelVersion
from mlhub.runtime.model.builtin import BUILTINS as RUNNABLE
from mlhub.storage.actions import used_bytes
from mlhub.tenants.actions import set_quota
from tests.datasets.files import form
from tests.registry.packages import PACKAGE, WEIGHTS, a_dataset, code_of, trained, upload


@pytest.fixture
def code(cast) -> ModelVersion:
    assert upload(cast.client(cast.bob), cast.project_a).status_code == 201
    return code_of(Model.objects.get())


def test_built_in_models_are_registered_once_and_everybody_sees_them(cast, capsys):
    call_command("ensure_builtins")
    assert str(len(BUILTINS)) in capsys.readouterr().out
    assert ensure_builtins() == 0
    for person in (cast.bob, cast.victor, cast.charlie):
        listed = cast.client(person).get("/api/v1/models?builtin=true").json()["results"]
        assert {m["name"] for m in listed} == {b.name for b in BUILTINS}
        assert {(m["project"], m["latest_version"]["state"], m["latest_version"]["kind"]) for m in listed} == {
            (None, "ready", "builtin")
        }


def test_every_built_in_model_can_be_run():
    assert {b.name for b in BUILTINS} == set(RUNNABLE)


def test_no_one_changes_a_built_in_model(cast):
    ensure_builtins()
    model = Model.objects.first()
    for person in (cast.alice, cast.root):
        client = cast.client(person)
        versions = client.post(f"/api/v1/models/{model.id}/versions", form("m.zip", PACKAGE), format="multipart")
        for answer in (client.delete(f"/api/v1/models/{model.id}"), versions):
            assert (answer.status_code, answer.json()["code"]) == (403, "built_in")
    assert Model.objects.count() == len(BUILTINS)


def test_a_trained_version_names_its_code_its_data_and_its_job(cast, code):
    dataset, job_id = a_dataset(cast.project_a, cast.bob), uuid4()
    version = trained(code, dataset, cast.bob, job_id=job_id)
    bob = cast.client(cast.bob)
    described = bob.get(f"/api/v1/model-versions/{version.id}").json()
    assert (described["source"], described["number"], described["state"]) == ("training", 2, "ready")
    assert (described["code_version"]["id"], described["dataset_version"]["id"], described["job_id"]) == (
        str(code.id),
        str(dataset.id),
        str(job_id),
    )
    assert described["metrics"] == {"accuracy": 0.75}
    model = bob.get(f"/api/v1/models/{code.model_id}").json()
    assert (model["n_trained"], model["latest_version"]["id"]) == (1, str(code.id))
    assert used_bytes(cast.a) == len(PACKAGE) + len(WEIGHTS)


def test_a_job_registers_one_version_however_often_it_says_so(cast, code):
    dataset, job_id = a_dataset(cast.project_a, cast.bob), uuid4()
    first = trained(code, dataset, cast.bob, job_id=job_id)
    assert trained(code, dataset, cast.bob, job_id=job_id, metrics={"accuracy": 0.1}) == first
    first.refresh_from_db()
    assert first.metrics == {"accuracy": 0.75}
    assert ModelVersion.objects.filter(source="training").count() == 1
    assert Event.objects.filter(kind="model.trained").count() == 1


def test_what_a_built_in_model_learned_belongs_to_who_trained_it(cast):
    ensure_builtins()
    built_in = ModelVersion.objects.get(model__name="mlp")
    own = trained(built_in, a_dataset(cast.project_a, cast.bob), cast.bob)
    again = trained(built_in, a_dataset(cast.project_a, cast.bob), cast.bob)
    assert (own.model.project, own.model.name) == (cast.project_a, "mlp (trained)")
    assert (again.model, again.number) == (own.model, 2)
    charlie = cast.client(cast.charlie)
    assert charlie.get(f"/api/v1/model-versions/{own.id}").status_code == 404
    assert cast.client(cast.bob).get(f"/api/v1/models/{built_in.model_id}").json()["n_trained"] == 0


def test_a_finished_training_is_kept_over_the_quota(cast, code):
    set_quota(cast.a, max_storage_bytes=1, actor=None)
    trained(code, a_dataset(cast.project_a, cast.bob), cast.bob)
    assert used_bytes(cast.a) == len(PACKAGE) + len(WEIGHTS)


def test_a_model_is_deleted_with_its_trained_versions(cast, code):
    trained(code, a_dataset(cast.project_a, cast.bob), cast.bob)
    assert cast.client(cast.bob).delete(f"/api/v1/models/{code.model_id}").status_code == 204
    assert not ModelVersion.objects.exists()
    assert used_bytes(cast.a) == 0
