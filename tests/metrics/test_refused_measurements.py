# SPDX-License-Identifier: Apache-2.0
"""What a pod reports and cannot be true is named on the job's page, and nothing is decided from it."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from mlhub.clusters.models import Node, Rack
from mlhub.jobs.models import Attempt, Checkpoint, Job
from mlhub.metrics.models import MetricPoint, SpeedSample
from mlhub.wire.profiles import ProfileRequest
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.metrics.test_ingest import metric, opened, post, progress

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    Rack.objects.create(name="r0", uplink_bps=1e10)
    Node.objects.create(
        name="n0", rack_id="r0", gpu_type="V100", n_slots=2, cpus=8, memory_bytes=2**33, nic_bps=1e10,
        is_ready=True, is_schedulable=True, observed_at=timezone.now(), gpu_memory_bytes=2**34,
    )  # fmt: skip
    return make_cast()


@pytest.fixture
def attempt(cast: Cast) -> Attempt:
    return opened(job(cast.project_a, cast.bob))


def shown(cast: Cast, of: Job) -> dict[str, dict[str, Any]]:
    answer = cast.client(cast.bob).get(f"/api/v1/jobs/{of.id}/speed").json()
    return {row["field"]: row for row in answer["refused"]}


@pytest.mark.parametrize(
    ("nonsense", "field"),
    [
        ({"step_s": -0.1}, "step_s"),
        ({"step_s": 1e9, "compute_s": 1e9, "sync_s": 0}, "step_s"),
        ({"step_s": 1e-12, "compute_s": 1e-12, "sync_s": 0}, "step_s"),
        ({"compute_s": -5.0}, "compute_s"),
        ({"sync_s": 100.0}, "step_s"),
        ({"steps_done": 5000}, "steps_done"),
        ({"steps_total": 2**53}, "steps_total"),
        ({"wait_s": 1e300}, "wait_s"),
        ({"epoch": 1e300}, "epoch"),
        ({"epoch": -1.0}, "epoch"),
    ],
)
def test_times_and_steps_that_cannot_be_teach_nothing(
    attempt: Attempt, cast: Cast, nonsense: dict[str, Any], field: str
) -> None:
    post(attempt, 0, progress(10), progress(30), progress(50))
    assert post(attempt, 3, progress(70) | nonsense, progress(70) | nonsense).status_code == 200
    (row,) = shown(cast, attempt.job).values()
    assert (row["field"], row["n"], row["attempt_number"]) == (field, 2, 1)
    sample = SpeedSample.objects.get()
    assert (sample.n_steps, sample.step_s) == (40, pytest.approx(0.1))
    attempt.job.refresh_from_db()
    assert attempt.job.step_s == pytest.approx(0.1)
    assert attempt.job.steps_done <= 70
    assert (attempt.job.steps_total, 0 <= attempt.job.epoch <= 7) == (1000, True)


@pytest.mark.parametrize(
    "beyond",
    [
        progress(10**12) | {"step_s": 0, "compute_s": 0, "sync_s": 0, "input_s": 0},
        {"type": "result", "at": 1.7e9, "steps": 10**12, "metrics": {"accuracy": 0.5}},
    ],
)
@pytest.mark.parametrize("is_recorded", [False, True])
def test_a_step_beyond_the_end_moves_nothing_however_it_is_reported(
    attempt: Attempt, cast: Cast, beyond: dict[str, Any], is_recorded: bool
) -> None:
    post(attempt, 0, progress(10), progress(30))
    recorded = ProfileRequest(str(attempt.pk), 5, (0,), None, ()).to_dict() if is_recorded else {}
    Attempt.objects.filter(pk=attempt.pk).update(profile_request=recorded)
    assert post(attempt, 2, beyond).status_code == 200
    attempt.job.refresh_from_db()
    attempt.refresh_from_db()
    assert (attempt.job.steps_done, attempt.last_step) == (30, 30)
    assert shown(cast, attempt.job)["steps_done"]["value"] == 10**12


@pytest.mark.parametrize(
    ("measured", "field"),
    [
        ({"gpu_memory_bytes": 2.0**35}, "gpu_memory_bytes"),
        ({"peak_memory_bytes": 2.0**34}, "peak_memory_bytes"),
        ({"noise_scale": 0.0}, "noise_scale"),
        ({"noise_scale": 1e300}, "noise_scale"),
    ],
)
def test_a_measurement_beyond_the_hardware_is_left_out_and_the_others_count(
    attempt: Attempt, cast: Cast, measured: dict[str, float], field: str
) -> None:
    values = {"gpu_utilisation": 0.5, **measured}
    assert post(attempt, 0, *(progress(n) | {"measured": values} for n in (10, 30, 50))).status_code == 200
    assert list(shown(cast, attempt.job)) == [field]
    sample = SpeedSample.objects.get()
    assert (sample.n_steps, sample.measured) == (40, {"gpu_utilisation": 0.5})


@pytest.mark.parametrize(("field", "nonsense"), [("write_s", 1e300), ("stall_s", -5.0), ("stall_s", 3600.0)])
def test_times_of_a_checkpoint_that_cannot_be_are_named_and_the_checkpoint_counts(
    attempt: Attempt, cast: Cast, field: str, nonsense: float
) -> None:
    report = {"type": "checkpoint", "at": 1.7e9, "step": 5, "name": "step-5", "size_bytes": 8}
    assert post(attempt, 0, report | {"write_s": 0.2, "stall_s": 0.1} | {field: nonsense}).status_code == 200
    row = Checkpoint.objects.get()
    assert {"write_s": row.write_s, "stall_s": row.stall_s} == {"write_s": 0.2, "stall_s": 0.1} | {field: 0.0}
    assert shown(cast, attempt.job)[field]["value"] == nonsense


@pytest.mark.parametrize("phase", ["resumed", "training"])
def test_a_start_from_a_step_that_the_training_does_not_have_moves_nothing(
    attempt: Attempt, cast: Cast, phase: str
) -> None:
    post(attempt, 0, progress(10), progress(30))
    mark = {"type": "phase", "phase": phase, "at": 1.7e9, "since_start_s": 1.0, "detail": {"step": 2**53}}
    assert post(attempt, 2, mark).status_code == 200
    attempt.job.refresh_from_db()
    attempt.refresh_from_db()
    assert (attempt.job.steps_done, attempt.last_step) == (30, 30)
    assert list(shown(cast, attempt.job)) == ["steps_done"]


def test_a_clock_that_is_ahead_gives_points_of_now(attempt: Attempt) -> None:
    before = timezone.now()
    assert post(attempt, 0, metric(1, loss=1.0) | {"at": 4e9}).status_code == 200
    assert before <= MetricPoint.objects.get().at <= timezone.now()
