# SPDX-License-Identifier: Apache-2.0
"""Jobs of scripts whose steps are the epochs that they print."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from mlhub.jobs import attempts
from mlhub.jobs.models import Attempt
from mlhub.registry.models import Kind, ModelVersion
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, job
from tests.metrics.test_ingest import opened, post, progress

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast(max_gpus=4)


@pytest.fixture
def attempt(cast: Cast) -> Attempt:
    of = job(cast.project_a, cast.bob, epochs=20, steps_total=0)
    ModelVersion.objects.filter(pk=builtin().pk).update(kind=Kind.SCRIPT)
    return opened(of)


def shown(cast: Cast, attempt: Attempt) -> dict[str, Any]:
    found: dict[str, Any] = cast.client(cast.bob).get(f"/api/v1/jobs/{attempt.job_id}").json()
    return {name: found[name] for name in ("step_unit", "steps_done", "steps_total", "epoch", "progress")}


def epochs(done: float, total: int = 20) -> dict[str, Any]:
    return progress(int(done), 3.0) | {"epoch": done, "steps_total": total}


def test_the_progress_of_a_script_that_prints_its_epochs_is_in_epochs(cast: Cast, attempt: Attempt) -> None:
    assert shown(cast, attempt)["step_unit"] == "step"
    post(attempt, 0, epochs(2.5))
    assert shown(cast, attempt) == {
        "step_unit": "epoch", "steps_done": 2, "steps_total": 20, "epoch": 2.5, "progress": 0.125,
    }  # fmt: skip


def test_a_script_that_reports_steps_has_steps(cast: Cast, attempt: Attempt) -> None:
    post(attempt, 0, progress(50) | {"epoch": 2.5})
    assert shown(cast, attempt) | {"epoch": 0} == {
        "step_unit": "step", "steps_done": 50, "steps_total": 1000, "epoch": 0, "progress": 0.05,
    }  # fmt: skip


def test_a_script_that_stops_early_has_made_no_more_epochs_than_it_did(cast: Cast, attempt: Attempt) -> None:
    result = {"type": "result", "at": 1.7e9, "steps": 12, "metrics": {"train/loss": 0.5}}
    post(attempt, 0, epochs(11), epochs(12), result)
    attempt.refresh_from_db()
    attempts.close_succeeded(attempt, now=timezone.now())
    assert shown(cast, attempt) == {
        "step_unit": "epoch", "steps_done": 12, "steps_total": 20, "epoch": 12.0, "progress": 1.0,
    }  # fmt: skip
