# SPDX-License-Identifier: Apache-2.0
"""A script reads several datasets, each under a name: inputs of its pods, and not deleted while the job is there."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.jobs.execution.families import family_of
from mlhub.jobs.execution.inputs import inputs_of, readable_blobs
from mlhub.jobs.models import Job
from mlhub.registry.models import Kind, ModelVersion
from mlhub.storage.models import Blob
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, ready_dataset

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    found = make_cast(max_gpus=4)
    ModelVersion.objects.filter(pk=builtin().pk).update(kind=Kind.SCRIPT)
    return found


def submit(cast: Cast, datasets: dict[str, Any], **fields: Any) -> Any:
    own = ready_dataset(cast.project_a, cast.bob, name="own")
    body = {"dataset_version": str(own.id), "model_version": str(builtin().id), "datasets": datasets, **fields}
    return cast.client(cast.bob).post("/api/v1/jobs", body, format="json")


def test_further_datasets_are_inputs_of_the_pods_by_name_and_come_with_a_clone(cast: Cast) -> None:
    words = ready_dataset(cast.project_a, cast.bob, name="words")
    version_files = [{"name": "words.txt", "sha256": "ab" * 32, "size_bytes": 7}]
    type(words).objects.filter(pk=words.pk).update(files=version_files)
    Blob.objects.create(sha256="ab" * 32, size_bytes=7)
    bob = cast.client(cast.bob)
    answer = submit(cast, {"words": "words", "again": str(words.id)})
    assert answer.status_code == 201, answer.json()
    shown = {"dataset": {"id": str(words.dataset_id), "name": "words"}, "version": str(words.id), "number": 1}
    assert answer.json()["datasets"] == [{"name": name, **shown} for name in ("again", "words")]
    job = Job.objects.get(pk=answer.json()["id"])
    assert [item.name for item in inputs_of(job)][-2:] == ["datasets/again/words.txt", "datasets/words/words.txt"]
    assert [blob.sha256 for blob in readable_blobs(job)] == ["ab" * 32]

    clone = bob.post(f"/api/v1/jobs/{job.id}/clone", {}, format="json").json()
    assert clone["datasets"] == answer.json()["datasets"]
    fewer = Job.objects.get(pk=job.pk)
    fewer.datasets = {"words": job.datasets["words"]}
    families = [family_of(Job.objects.get(pk=clone["id"])), family_of(job), family_of(fewer)]
    assert families[0] == families[1] != families[2]

    refused = bob.delete(f"/api/v1/datasets/{words.dataset_id}")
    assert (refused.status_code, refused.json()["code"]) == (409, "in_use")


@pytest.mark.parametrize(
    ("datasets", "status", "field"),
    [
        ({"Words!": "words"}, 422, "datasets.Words!"),
        ({"words": "nothing"}, 404, "datasets.words"),
        ({"words": "secret"}, 404, "datasets.words"),
        ({f"d{i}": "words" for i in range(21)}, 422, "datasets"),
    ],
)
def test_a_dataset_that_cannot_be_read_is_refused_by_its_name(
    cast: Cast, datasets: dict[str, str], status: int, field: str
) -> None:
    ready_dataset(cast.project_a, cast.bob, name="words")
    ready_dataset(cast.project_b, cast.charlie, name="secret")
    answer = submit(cast, datasets)
    assert answer.status_code == status, answer.json()
    assert field in str(answer.json())
    assert not Job.objects.exists()


def test_a_model_that_is_no_script_reads_one_dataset(cast: Cast) -> None:
    ModelVersion.objects.filter(pk=builtin().pk).update(kind=Kind.BUILTIN)
    ready_dataset(cast.project_a, cast.bob, name="words")
    answer = submit(cast, {"words": "words"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "datasets")
