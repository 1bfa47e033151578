# SPDX-License-Identifier: Apache-2.0
"""Who used a dataset version: jobs, also as a further dataset, studies, and the model versions trained on it."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.experiments.models import Study
from mlhub.jobs.models import FurtherDataset
from mlhub.registry.models import ModelVersion
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, job, ready_dataset

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def names(cast: Cast, path: str, *, reader: Any = None, **query: Any) -> list[str]:
    answer = cast.client(reader or cast.victor).get(path, query)
    assert answer.status_code == 200, answer.json()
    return [row.get("name") or row["number"] for row in answer.json()["results"]]


def test_the_users_of_a_version_are_listed_and_those_of_another_are_not(cast: Cast) -> None:
    used, other = (ready_dataset(cast.project_a, cast.bob, name=name) for name in ("blobs", "other"))
    job(cast.project_a, cast.bob, name="direct")
    further = job(cast.project_a, cast.bob, name="further")
    further.dataset_version = other
    further.save()
    FurtherDataset.objects.create(job=further, name="words", dataset_version=used)
    assert names(cast, "/api/v1/jobs", dataset_version=used.id) == ["further", "direct"]
    assert names(cast, "/api/v1/jobs", dataset_version=other.id) == ["further"]
    assert names(cast, "/api/v1/jobs", reader=cast.charlie, dataset_version=used.id) == []
    for version in (used, other):
        Study.objects.create(
            project=cast.project_a, name=version.dataset.name, created_by=cast.bob, dataset_version=version,
            model_version=builtin(), space={"lr": {"choice": [0.1, 0.2]}}, metric="eval/loss", direction="minimize",
            algorithm="random", rungs=[1],
            max_parallel=1, max_trials=1,
        )  # fmt: skip
    assert names(cast, "/api/v1/studies", dataset_version=used.id) == ["blobs"]


def test_trained_versions_come_in_pages_and_only_to_those_who_see_the_dataset(cast: Cast) -> None:
    used, other = (ready_dataset(cast.project_a, cast.bob, name=name) for name in ("blobs", "other"))
    for number, on in ((2, used), (3, other), (4, used)):
        ModelVersion.objects.create(
            model=builtin().model,
            number=number,
            source="training",
            kind="builtin",
            entry="mlp",
            state="ready",
            dataset_version=on,
        )
    path = f"/api/v1/dataset-versions/{used.id}/trained"
    first = cast.client(cast.victor).get(path, {"limit": 1}).json()
    assert [row["number"] for row in first["results"]] == [4]
    following = cast.client(cast.victor).get(first["next"]).json()
    assert ([row["number"] for row in following["results"]], following["next"]) == ([2], None)
    assert cast.client(cast.charlie).get(path).status_code == 404
