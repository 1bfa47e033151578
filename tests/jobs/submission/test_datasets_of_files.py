# SPDX-License-Identifier: Apache-2.0
"""Datasets of files of any kind, and tables without targets: for code that reads its data by itself."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.registry.models import Kind, ModelVersion
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, ready_dataset

pytestmark = pytest.mark.django_db
FILES = {"task": "files", "n_files": 2, "n_bytes": 7}
NO_TARGETS = {"task": "none", "n_examples": 9}


def submit(cast: Cast, *, kind: str, schema: dict[str, Any]) -> Any:
    ModelVersion.objects.filter(pk=builtin().pk).update(kind=kind)
    version = ready_dataset(cast.project_a, cast.bob)
    type(version).objects.filter(pk=version.pk).update(schema=schema, format="files")
    body = {"dataset_version": str(version.id), "model_version": str(builtin().id)}
    return cast.client(cast.bob).post("/api/v1/jobs", body, format="json")


@pytest.mark.parametrize("schema", [FILES, NO_TARGETS])
def test_scripts_train_on_what_mlhub_knows_no_examples_of(schema: dict[str, Any]) -> None:
    answer = submit(make_cast(max_gpus=4), kind=Kind.SCRIPT, schema=schema)
    assert answer.status_code == 201, answer.json()


@pytest.mark.parametrize(("schema", "says"), [(FILES, "only scripts"), (NO_TARGETS, "without targets")])
@pytest.mark.parametrize("kind", [Kind.BUILTIN, Kind.PACKAGE])
def test_models_that_mlhub_trains_are_refused_with_the_remedy(kind: str, schema: dict[str, Any], says: str) -> None:
    answer = submit(make_cast(max_gpus=4), kind=kind, schema=schema)
    assert answer.status_code == 422, answer.json()
    (problem,) = answer.json()["errors"] if "errors" in answer.json() else [answer.json()]
    assert problem["field"] == "dataset"
    assert says in str(problem)
