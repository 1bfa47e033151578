# SPDX-License-Identifier: Apache-2.0
"""A script that could not train together with others gets one worker, unless the job asks for more."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.registry.models import Kind, ModelVersion
from tests.cast import make_cast
from tests.jobs.builders import builtin, ready_dataset

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("contract", "asked", "most"),
    [
        ({"is_distributed": False}, {}, 1),
        ({"is_distributed": False}, {"mode": "auto"}, 1),
        ({"is_distributed": False}, {"max_workers": 3}, 3),
        ({"is_distributed": False}, {"min_workers": 2}, 64),
        ({"is_distributed": True}, {}, 64),
        ({}, {}, 64),  # inspected by an earlier release
    ],
)
def test_the_job_has_at_most_that_many_workers(contract: dict[str, bool], asked: dict[str, Any], most: int) -> None:
    cast = make_cast(max_gpus=4)
    ModelVersion.objects.filter(pk=builtin().pk).update(kind=Kind.SCRIPT, contract=contract)
    version = ready_dataset(cast.project_a, cast.bob)
    body = {"dataset_version": str(version.id), "model_version": str(builtin().id), **asked}
    answer = cast.client(cast.bob).post("/api/v1/jobs", body, format="json")
    assert answer.status_code == 201, answer.json()
    assert answer.json()["max_workers"] == most
