# SPDX-License-Identifier: Apache-2.0
"""What speeds are learned for: a sweep over learning rates is one family, another width or precision is another."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.jobs.execution.families import family_of
from mlhub.jobs.models import Job
from tests.cast import Cast, make_cast
from tests.jobs import builders

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast(max_gpus=4)


def submitted(cast: Cast, **fields: Any) -> Job:
    return builders.job(cast.project_a, cast.bob, **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"hyperparameters": {"learning_rate": 0.1, "width": 64}},
        {"hyperparameters": {"lr": 3.0, "weight_decay": 1e-4, "seed": 7, "width": 64}},
        {"hyperparameters": {"width": 64, "patience": 3}, "seed": 9, "epochs": 50},
        {"hyperparameters": {"width": 64}, "resources": {"memory_gib": 8}, "limits": {"stall_s": 900}},
        {"hyperparameters": {"width": 64}, "batch_size": 8, "max_workers": 2},
    ],
)
def test_what_changes_no_step_stays_in_the_family(cast: Cast, fields: dict[str, Any]) -> None:
    assert family_of(submitted(cast, **fields)) == family_of(submitted(cast, hyperparameters={"width": 64}))


@pytest.mark.parametrize(
    "fields",
    [
        {"hyperparameters": {"width": 128}},
        {"hyperparameters": {"width": 64, "precision": "bfloat16"}},
        {"hyperparameters": {"width": 64, "accumulation_steps": 4}},
        {"hyperparameters": {"width": 64}, "strategy": {"name": "ssp", "staleness": 3}},
        {"hyperparameters": {"width": 64}, "kind": "predict"},
        {"hyperparameters": {"width": 64}, "image": "registry.example.org/team/train:1.4"},
    ],
)
def test_what_changes_the_step_is_another_family(cast: Cast, fields: dict[str, Any]) -> None:
    assert family_of(submitted(cast, **fields)) != family_of(submitted(cast, hyperparameters={"width": 64}))
