# SPDX-License-Identifier: Apache-2.0
"""A job's own container image: allowed by the administrator's list on Kubernetes, refused in words elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.control.pods.launch_specs import launch_spec
from mlhub.jobs.models import Attempt, Job
from mlhub.jobs.submission.differences import setting_differences
from mlhub.wire.launch import LaunchSpec
from tests.cast import Cast, make_cast
from tests.jobs import builders

pytestmark = pytest.mark.django_db
IMAGE = "registry.example.org/team/train:1.4"


@pytest.fixture
def cast() -> Cast:
    return make_cast(max_gpus=4)


@pytest.fixture
def cluster(settings: Any) -> Any:
    settings.BACKEND, settings.KUBERNETES = "kubernetes", {"images": "registry.example.org/team/,other.example.org/a:1"}
    return settings


def submit(cast: Cast, **body: Any) -> Any:
    dataset, model = builders.ready_dataset(cast.project_a, cast.bob), builders.builtin()
    request = {"dataset_version": str(dataset.id), "model_version": str(model.id), "epochs": 1, "batch_size": 8, **body}
    return cast.client(cast.bob).post("/api/v1/jobs", request, format="json")


def clone(cast: Cast, job: dict[str, Any], **body: Any) -> Any:
    return cast.client(cast.bob).post(f"/api/v1/jobs/{job['id']}/clone", body, format="json")


def refusal(answer: Any) -> str:
    assert answer.status_code == 422, answer.content
    [error] = answer.json()["errors"]
    assert error["field"] == "image"
    return f"{error['message']} {error['remedy']}"


def test_an_allowed_image_is_stored_shown_cloned_and_taken_back(cast: Cast, cluster: Any) -> None:
    answer = submit(cast, image=IMAGE)
    assert answer.status_code == 201, answer.content
    made = answer.json()
    shown = cast.client(cast.bob).get(f"/api/v1/jobs/{made['id']}").json()
    assert (made["image"], shown["image"]) == (IMAGE, IMAGE)
    assert clone(cast, made).json()["image"] == IMAGE
    assert clone(cast, made, image="other.example.org/a:1").json()["image"] == "other.example.org/a:1"
    plain = clone(cast, made, image="").json()
    assert plain["image"] == submit(cast).json()["image"] == ""
    before, after = (Job.objects.get(pk=one["id"]) for one in (plain, made))
    assert [(d.name, d.before, d.after) for d in setting_differences(before, after)] == [("image", "", IMAGE)]


@pytest.mark.parametrize("wrong", ["https://registry.example.org/team/train", "registry.example.org/team/Train", "a b"])
def test_what_is_no_reference_is_refused_with_the_remedy(cast: Cast, cluster: Any, wrong: str) -> None:
    said = refusal(submit(cast, image=wrong))
    assert "is no reference of a container image" in said
    assert "registry.example.org/team/train:1.4" in said


def test_what_the_administrator_does_not_allow_is_refused_with_what_is(cast: Cast, cluster: Any) -> None:
    said = refusal(submit(cast, image="registry.example.org/teamwork/train:1"))
    assert "registry.example.org/team/, other.example.org/a:1" in said
    assert "MLHUB_KUBE_IMAGES" in said
    made = submit(cast, image=IMAGE).json()
    cluster.KUBERNETES = {}
    said = refusal(clone(cast, made))
    assert "No job may bring an image" in said
    assert "ask a platform administrator to allow images (MLHUB_KUBE_IMAGES)" in said
    assert clone(cast, made, image="").status_code == 201


def test_other_backends_refuse_every_image_and_say_why(cast: Cast, settings: Any) -> None:
    settings.KUBERNETES = {"images": "*"}
    said = refusal(submit(cast, image=IMAGE))
    assert "Pods of the backend local run in no container" in said
    assert "requirements.txt" in said


def test_trials_of_a_study_run_in_the_image_of_its_job(cast: Cast, cluster: Any) -> None:
    dataset, model = builders.ready_dataset(cast.project_a, cast.bob), builders.builtin()
    job = {"dataset_version": str(dataset.id), "model_version": str(model.id), "image": "evil.example.org/miner:1"}
    body = {
        "name": "s", "algorithm": "random", "metric": "eval/accuracy", "direction": "maximize",
        "space": {"learning_rate": {"log_uniform": [0.001, 0.1]}}, "job": job,
    }  # fmt: skip
    client = cast.client(cast.bob)
    refusal(client.post("/api/v1/studies", body, format="json"))
    answer = client.post("/api/v1/studies", {**body, "job": {**job, "image": IMAGE}}, format="json")
    assert answer.status_code == 201, answer.content
    assert answer.json()["settings"]["image"] == IMAGE


def test_the_backend_gets_the_image_of_the_job(cast: Cast) -> None:
    job = builders.job(cast.project_a, cast.bob, image=IMAGE)
    spec = launch_spec(Attempt.objects.create(job=job, number=1, mode="all_reduce", n_workers=1))
    assert spec.image == IMAGE
    assert LaunchSpec.from_json(spec.to_json()) == spec
