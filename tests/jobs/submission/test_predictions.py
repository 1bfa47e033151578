# SPDX-License-Identifier: Apache-2.0
"""Asking a trained model through the public door: what is taken, what is refused and how, who may see the answer."""

from __future__ import annotations

import io
from typing import Any

import pytest

from mlhub.control.pods.launch_specs import launch_spec
from mlhub.datasets.models import DatasetVersion
from mlhub.jobs.execution.families import family_of
from mlhub.jobs.models import Artifact, Attempt, Job
from mlhub.jobs.states import JobState
from mlhub.registry.actions import register_trained
from mlhub.registry.models import Kind, ModelVersion
from mlhub.storage.models import Blob
from mlhub.storage.stores import blob_store
from mlhub.wire.launch import LaunchSpec
from tests.cast import Cast, make_cast
from tests.jobs.builders import SCHEMA, builtin, job, ready_dataset

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast(max_gpus=4)


def stored(content: bytes) -> Blob:
    kept = blob_store().write(io.BytesIO(content), limit_bytes=2**22)
    return Blob.objects.get_or_create(sha256=kept.sha256, defaults={"size_bytes": kept.size_bytes})[0]


@pytest.fixture
def done(cast: Cast) -> Job:
    """A job that trained mlp's smallest form on six columns."""
    found = job(cast.project_a, cast.bob, name="blobs", hyperparameters={"hidden": 4}, state=JobState.SUCCEEDED)
    result = register_trained(
        found.id,
        code_version=builtin(),
        dataset_version=found.dataset_version,
        weights_blob=stored(b"weights"),
        metadata={},
        metrics={},
        created_by=cast.bob,
    )
    Job.objects.filter(pk=found.pk).update(result_version=result)
    found.refresh_from_db()
    return found


def ask(cast: Cast, user: Any = None, **body: Any) -> Any:
    body = {"kind": "predict"} | body
    if not {"dataset", "dataset_version"} & set(body):
        body["dataset_version"] = str(ready_dataset(cast.project_a, cast.bob).id)
    return cast.client(user or cast.bob).post("/api/v1/jobs", body)


def refused_field(answer: Any) -> str:
    assert answer.status_code == 422, answer.content
    (error,) = answer.json()["errors"]
    return str(error["field"])


def other_dataset(cast: Cast, **schema: Any) -> str:
    version = ready_dataset(cast.project_a, cast.bob, name="other")
    DatasetVersion.objects.filter(pk=version.pk).update(schema=SCHEMA | schema)
    return str(version.id)


def test_a_finished_job_s_model_is_asked_with_what_the_training_was_given(cast: Cast, done: Job) -> None:
    answer = ask(cast, model_of=str(done.id), features=["0"], output="npz")
    assert answer.status_code == 201, answer.content
    created = answer.json()
    assert (created["kind"], created["state"], created["preflight"]) == ("predict", "queued", "pending")
    assert (created["epochs"], created["mode"], created["hyperparameters"]) == (1, "all_reduce", {"hidden": 4})
    assert (created["batch_size"], created["max_workers"]) == (256, 1)  # 100 examples are one part
    asked = Job.objects.get(pk=created["id"])
    assert asked.model_version == done.result_version
    assert family_of(asked) != family_of(done)
    detail = cast.client(cast.bob).get(f"/api/v1/jobs/{asked.id}").json()
    assert detail["prediction"] == {"features": ["0"], "output": "npz", "examples": "all", "combine": "mean"}
    assert detail["result_file"] is None


def test_a_change_of_its_workers_is_held_to_the_bounds_of_its_submission(cast: Cast, done: Job) -> None:
    answer = ask(cast, model_of=str(done.id), batch_size=50, min_workers=2)
    assert answer.status_code == 201, answer.content
    asked = Job.objects.get(pk=answer.json()["id"])
    Job.objects.filter(pk=asked.pk).update(state=JobState.RUNNING)
    address = f"/api/v1/jobs/{asked.id}"
    assert refused_field(cast.client(cast.bob).patch(address, {"max_workers": 1})) == "min_workers"
    assert cast.client(cast.bob).patch(address, {"max_workers": 4}).json()["max_workers"] == 2  # it has two parts
    Job.objects.filter(pk=asked.pk).update(state=JobState.QUEUED)
    assert refused_field(cast.client(cast.bob).patch(address, {"min_workers": 3, "max_workers": 3})) == "min_workers"
    asked.refresh_from_db()
    assert (asked.min_workers, asked.max_workers) == (2, 2)


def test_its_pods_get_what_to_ask_and_how_inputs_are_read(cast: Cast, done: Job) -> None:
    version = other_dataset(cast, n_examples=40, classes=[5, 6], task="none", input_mean=[9.0] * 6)
    answer = ask(cast, model_of=str(done.id), dataset_version=version)
    assert answer.status_code == 201, answer.content
    asked = Job.objects.get(pk=answer.json()["id"])
    attempt = Attempt.objects.create(job=asked, number=1, mode="all_reduce", n_workers=2)
    spec = launch_spec(attempt)
    assert LaunchSpec.from_json(spec.to_json()) == spec
    assert spec.survives_lost_workers
    assert spec.prediction is not None
    assert spec.prediction.kind == "predict"
    assert spec.model.weights == "start.safetensors"
    assert spec.dataset is not None
    read_by = spec.dataset.schema
    assert (read_by["n_examples"], read_by["classes"], read_by["has_targets"]) == (40, [0, 1, 2], False)
    assert "input_mean" not in read_by  # the training's units, and it had none


@pytest.mark.slow
def test_what_can_never_run_is_refused_with_field_and_remedy(cast: Cast, done: Job) -> None:
    of = {"model_of": str(done.id)}
    code = str(builtin().id)
    running = job(cast.project_a, cast.bob, name="running")
    scripted = ModelVersion.objects.create(
        model=done.result_version.model, number=9, source="training", kind=Kind.SCRIPT, entry="x.py", state="ready",
        weights=stored(b"w"), dataset_version=done.dataset_version,
    )  # fmt: skip
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({}, 422, "model_of"),
        (of | {"model_version": code}, 422, "model_of"),
        ({"model_version": code}, 422, "model_version"),
        ({"model_version": str(scripted.id)}, 422, "model_of"),
        ({"model_of": str(running.id)}, 409, "model_of"),
        (of | {"epochs": 3}, 422, "epochs"),
        (of | {"hyperparameters": {}}, 422, "hyperparameters"),
        (of | {"output": "csv"}, 422, "output"),
        (of | {"features": ["0", "0"]}, 422, "features"),
        (of | {"kind": "evaluate", "features": ["0"]}, 422, "features"),
        (of | {"min_workers": 5, "batch_size": 32}, 422, "min_workers"),
        ({"kind": "train", "model_version": code, "examples": "all"}, 422, "examples"),
    ]
    for body, status, field in cases:
        answer = ask(cast, **body)
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["field"]) == (status, field), (body, answer.json())
        assert error.get("remedy") or field in ("epochs", "hyperparameters", "output", "examples", "model_of"), error


def test_a_dataset_that_does_not_fit_is_refused_when_it_is_submitted(cast: Cast, done: Job) -> None:
    version = other_dataset(cast, input_shape=[7])
    answer = ask(cast, model_of=str(done.id), dataset_version=version)
    assert refused_field(answer) == "dataset"
    assert "[7]" in answer.json()["detail"]
    version = other_dataset(cast, task="none")
    answer = ask(cast, kind="evaluate", model_of=str(done.id), dataset_version=version)
    assert refused_field(answer) == "dataset"
    body = {"kind": "train", "model_version": str(builtin().id), "dataset_version": version}
    assert refused_field(ask(cast, **body)) == "dataset"  # nor can anything learn from it


def test_a_prediction_is_cloned_as_one(cast: Cast, done: Job) -> None:
    first = ask(cast, model_of=str(done.id), kind="evaluate", examples="held_out", batch_size=8).json()
    again = cast.client(cast.bob).post(f"/api/v1/jobs/{first['id']}/clone", {"name": "again"})
    assert again.status_code == 201, again.content
    one, two = (Job.objects.get(pk=created["id"]) for created in (first, again.json()))
    assert (two.kind, two.prediction, two.batch_size) == (one.kind, one.prediction, one.batch_size)
    refused = cast.client(cast.bob).post(f"/api/v1/jobs/{first['id']}/clone", {"epochs": 3})
    assert refused_field(refused) == "epochs"


def test_charlie_neither_asks_the_model_nor_reads_the_answer(cast: Cast, done: Job) -> None:
    own = str(ready_dataset(cast.project_b, cast.charlie).id)
    assert ask(cast, cast.charlie, model_of=str(done.id), dataset_version=own).status_code == 404
    asked = Job.objects.get(pk=ask(cast, model_of=str(done.id)).json()["id"])
    address = f"/api/v1/jobs/{asked.id}/result"
    assert cast.client(cast.bob).get(address).status_code == 404  # not yet
    attempt = Attempt.objects.create(job=asked, number=1, mode="all_reduce", n_workers=1, outcome="succeeded")
    Artifact.objects.create(attempt=attempt, name="predictions.parquet", blob=stored(b"PAR1"))
    found = cast.client(cast.bob).get(address)
    assert (found.status_code, found.getvalue()) == (200, b"PAR1")
    assert ".parquet" in found.headers["Content-Disposition"]
    detail = cast.client(cast.bob).get(f"/api/v1/jobs/{asked.id}").json()
    assert detail["result_file"] == {"name": "predictions.parquet", "size_bytes": 4}
    assert cast.client(cast.charlie).get(address).status_code == 404
    assert cast.client(None).get(address).status_code == 401
