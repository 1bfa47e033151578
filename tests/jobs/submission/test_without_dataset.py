# SPDX-License-Identifier: Apache-2.0
"""A script may run without any dataset; every other model needs one."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.utils import timezone

from mlhub.control.pods.launch_specs import launch_spec
from mlhub.jobs import attempts
from mlhub.jobs.execution.families import family_of
from mlhub.jobs.execution.inputs import inputs_of
from mlhub.jobs.execution.validations import key_of
from mlhub.jobs.models import Artifact, Job
from mlhub.registry.models import Kind, Model, ModelVersion
from mlhub.storage.models import Blob
from mlhub.storage.stores import blob_store
from mlhub.wire.launch import LaunchSpec
from tests.cast import Cast, make_cast
from tests.jobs.builders import PROFILE, builtin, job

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast(max_gpus=4)


@pytest.fixture
def script(cast: Cast) -> ModelVersion:
    model = Model.objects.create(project=cast.project_a, name="train", created_by=cast.bob)
    package = Blob.objects.create(sha256="cd" * 32, size_bytes=9)
    version: ModelVersion = ModelVersion.objects.create(
        model=model, number=1, source="upload", kind=Kind.SCRIPT, entry="train.py", state="ready", package=package
    )
    return version


def submit(cast: Cast, *, path: str = "/api/v1/jobs", **body: Any) -> Any:
    return cast.client(cast.bob).post(path, body, format="json")


def tried(found: Job) -> Job:
    Job.objects.filter(pk=found.pk).update(preflight="passed", profile=PROFILE)
    return Job.objects.get(pk=found.pk)


def test_a_script_runs_without_a_dataset_from_submission_to_its_model(cast: Cast, script: ModelVersion) -> None:
    answer = submit(cast, project="vision", model="train", epochs=3)
    assert answer.status_code == 201, answer.json()
    assert (answer.json()["dataset_version"], answer.json()["name"]) == (None, "train")
    of = tried(Job.objects.get(pk=answer.json()["id"]))
    assert [item.name for item in inputs_of(of)] == ["package.zip"]
    attempt = attempts.open_attempt(
        of, mode="all_reduce", n_workers=1, n_servers=0, held=[attempts.Held("n0", (0,), 0)], predicted_step_s=None,
        reason="fits", now=timezone.now(),
    )  # fmt: skip
    assert attempt is not None
    spec = launch_spec(attempts.attempt_to_launch(attempt.pk))
    assert LaunchSpec.from_json(spec.to_json()).dataset is None

    kept = blob_store().write(io.BytesIO(b"weights"), limit_bytes=2**20)
    weights = Blob.objects.create(sha256=kept.sha256, size_bytes=kept.size_bytes)
    Artifact.objects.create(attempt=attempt, name=attempts.WEIGHTS, blob=weights)
    now = timezone.now()
    attempts.record_running(attempt, now=now)
    attempts.close_succeeded(attempt, now=now)
    result = Job.objects.get(pk=of.pk).result_version
    assert result is not None
    assert (result.model, result.dataset_version) == (script.model, None)


def test_its_clone_and_preview_have_none_either(cast: Cast, script: ModelVersion) -> None:
    body = {"project": str(cast.project_a.id), "model_version": str(script.id)}
    preview = submit(cast, path="/api/v1/jobs/preview", **body)
    assert preview.status_code == 200, preview.json()
    made = submit(cast, **body).json()
    clone = submit(cast, path=f"/api/v1/jobs/{made['id']}/clone")
    assert (clone.status_code, clone.json()["dataset_version"]) == (201, None)
    first, second = Job.objects.order_by("id")
    assert (family_of(first), key_of(first)) == (family_of(second), key_of(second))
    with_one = job(cast.project_a, cast.bob)
    Job.objects.filter(pk=with_one.pk).update(model_version=script)
    assert family_of(Job.objects.get(pk=with_one.pk)) != family_of(first)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"project": "vision", "model": "mlp"}, "dataset"),
        ({"model": "train"}, "dataset"),
        ({"project": "vision", "model": "train", "kind": "evaluate"}, "dataset"),
    ],
)
def test_what_is_no_training_by_a_script_of_a_project_needs_a_dataset(
    cast: Cast, script: ModelVersion, body: dict[str, str], field: str
) -> None:
    builtin()
    answer = submit(cast, **body)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field), answer.json()
    assert "Give either dataset or dataset_version" in str(answer.json())
    assert not Job.objects.exists()


def test_a_study_reads_one_dataset_at_most(cast: Cast, script: ModelVersion) -> None:
    job(cast.project_a, cast.bob)
    asked = {"project": "vision", "model": "train", "dataset": "blobs", "datasets": {"words": "blobs"}}
    space = {"lr": {"uniform": [0.1, 0.2]}}
    answer = submit(
        cast, path="/api/v1/studies", name="s", job=asked, space=space, metric="eval/loss", direction="minimize",
        steps=9,
    )  # fmt: skip
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "job.datasets"), answer.json()
