# SPDX-License-Identifier: Apache-2.0
"""A script trains for as long as its own options say, unless the job says otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.registry.models import Kind, ModelVersion
from tests.cast import make_cast
from tests.jobs.builders import builtin, ready_dataset

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("own", "asked", "used"),
    [
        ({"epochs": 90, "batch_size": 256}, {}, (90, 256)),
        ({"epochs": 90, "batch_size": 256}, {"epochs": 2, "batch_size": 8}, (2, 8)),
        ({"epochs": 90}, {"batch_size": 8}, (90, 8)),
        ({"epochs": 90, "batch_size": 1}, {"min_workers": 2, "max_workers": 2}, (90, 2)),
        ({"epochs": 90, "batch_size": 256}, {"hyperparameters": {"arguments": ["--epochs", "4"]}}, (4, 256)),
        ({"epochs": 90}, {"hyperparameters": {"arguments": "--epochs=4 --batch-size 8"}, "epochs": 3}, (3, 8)),
    ],
)
def test_what_the_job_leaves_out_is_the_scripts_own(
    own: dict[str, int], asked: dict[str, Any], used: tuple[int, int]
) -> None:
    cast = make_cast(max_gpus=4)
    ModelVersion.objects.filter(pk=builtin().pk).update(kind=Kind.SCRIPT, contract={"own_counts": own})
    version = ready_dataset(cast.project_a, cast.bob)
    body = {"dataset_version": str(version.id), "model_version": str(builtin().id), **asked}
    answer = cast.client(cast.bob).post("/api/v1/jobs", body, format="json")
    assert answer.status_code == 201, answer.json()
    assert (answer.json()["epochs"], answer.json()["batch_size"]) == used
