# SPDX-License-Identifier: Apache-2.0
"""What pods used of their machines: stored once, bounded, shown to who may see the job, removed by its rule."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from mlhub.jobs import attempts
from mlhub.jobs.models import Attempt
from mlhub.jobs.retention.retention_rules import Cutoffs
from mlhub.metrics.measurements.usage import PODS_PER_ANSWER
from mlhub.metrics.models import UsageSample
from mlhub.retention.rules import OWNED_RULES
from mlhub.wire.resource_usage import MAX_SAMPLES, RESOURCES
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.metrics.test_ingest import post

pytestmark = pytest.mark.django_db
BEGAN = 1.7e9


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def attempt(cast: Cast) -> Attempt:
    return opened(cast, n_workers=2)


def opened(cast: Cast, *, n_workers: int) -> Attempt:
    of = job(cast.project_a, cast.bob)
    of.refresh_from_db()
    found = attempts.open_attempt(
        of, mode="ps_bsp", n_workers=n_workers, n_servers=1, held=[attempts.Held("n0", (0,), 0)],
        predicted_step_s=0.1, reason="fits", now=timezone.now(),
    )  # fmt: skip
    assert found is not None
    return found


def sample(second: float, *, interval_s: float = 2.0, **values: float) -> dict[str, Any]:
    return {"at": BEGAN + second, "interval_s": interval_s, "values": values}


def usage(cast: Cast, of: Attempt, **query: Any) -> Any:
    return cast.client(cast.bob).get(f"/api/v1/jobs/{of.job_id}/usage", query)


def test_samples_are_stored_once_and_shown_by_pod(cast: Cast, attempt: Attempt) -> None:
    assert usage(cast, attempt).json() == {"attempt_number": None, "resources": [], "pods": [], "next_pod": None}
    first, second = sample(2, cpus=0.5, memory_bytes=1e9), sample(4, cpus=1.5, memory_bytes=2e9)
    assert post(attempt, 0, first, second, stream="usage").json() == {"next": 2}
    assert post(attempt, 1, second, sample(6, cpus=1), stream="usage").json() == {"next": 3}
    assert post(attempt, 0, sample(2, cpus=0.1), stream="usage", role="server").json() == {"next": 1}
    found = usage(cast, attempt).json()
    assert [resource["name"] for resource in found["resources"]] == ["cpus", "memory_bytes"]
    assert [resource["unit"] for resource in found["resources"]] == ["count", "bytes"]
    worker, server = found["pods"]
    assert (worker["role"], worker["index"], server["role"]) == ("worker", 0, "server")
    assert [point["values"] for point in worker["points"]] == [
        {"cpus": 0.5, "memory_bytes": 1e9}, {"cpus": 1.5, "memory_bytes": 2e9}, {"cpus": 1.0},
    ]  # fmt: skip
    assert worker["points"][0]["at"] == "2023-11-14T22:13:22Z"


def test_long_curves_are_means_weighted_by_time(cast: Cast, attempt: Attempt) -> None:
    lines = [sample(2 * (i + 1), cpus=i % 2, gpu_utilisation=0.5) for i in range(900)]
    lines += [sample(1800 + 4 * (i + 1), interval_s=4.0, cpus=3.0) for i in range(50)]
    post(attempt, 0, *lines, stream="usage")
    (pod,) = usage(cast, attempt, max_points=20).json()["pods"]
    assert 19 <= len(pod["points"]) <= 20
    assert all(point["values"]["cpus"] == pytest.approx(0.5, abs=0.05) for point in pod["points"][:17])
    assert pod["points"][-1]["values"] == {"cpus": 3.0}
    assert all(point["values"].get("gpu_utilisation", 0.5) == 0.5 for point in pod["points"])


@pytest.mark.parametrize(
    "line",
    [
        "no object",
        {"at": 1.0, "interval_s": 2.0},
        {"at": 1.0, "interval_s": 2.0, "values": [1]},
        {"at": 1.0, "interval_s": 0, "values": {"cpus": 1}},
        {"at": 1.0, "interval_s": -1, "values": {"cpus": 1}},
        {"at": 1.0, "interval_s": 1e300, "values": {"cpus": 1}},
        {"at": "noon", "interval_s": 1, "values": {"cpus": 1}},
        {"at": True, "interval_s": 1, "values": {"cpus": 1}},
    ],
)
def test_a_line_that_is_no_sample_is_refused_by_its_number(attempt: Attempt, line: Any) -> None:
    answer = post(attempt, 0, sample(2, cpus=1), line, stream="usage")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"].startswith("lines.1.")
    assert not UsageSample.objects.exists()


def test_values_that_are_unknown_or_cannot_be_true_are_left_out(cast: Cast, attempt: Attempt) -> None:
    line = {"at": 1e300, "interval_s": 2.0, "values": {"cpus": 1e9, "gpu_utilisation": 0.4, "warmth": 1, "a'b": 2}}
    post(attempt, 0, line, stream="usage")
    (pod,) = usage(cast, attempt).json()["pods"]
    assert [point["values"] for point in pod["points"]] == [{"gpu_utilisation": 0.4}]


def test_a_pod_stores_no_more_than_an_honest_one_sends(attempt: Attempt) -> None:
    place = post(attempt, 0, sample(2, cpus=1), stream="usage").json()["next"]
    attempt.streams.filter(stream="usage").update(next=MAX_SAMPLES - 1)
    answer = post(attempt, MAX_SAMPLES - 1, *[sample(2, cpus=1)] * 3, stream="usage")
    assert (place, answer.json()) == (1, {"next": MAX_SAMPLES + 2})
    assert UsageSample.objects.count() == 2


def test_large_gangs_are_shown_in_parts(cast: Cast) -> None:
    large = opened(cast, n_workers=20)
    for index in range(20):
        post(large, 0, sample(2, cpus=index), stream="usage", index=index)
    post(large, 0, sample(2, cpus=99), stream="usage", role="server")
    first = usage(cast, large).json()
    rest = usage(cast, large, first_pod=first["next_pod"]).json()
    named = [(pod["role"], pod["index"]) for part in (first, rest) for pod in part["pods"]]
    assert named == [*(("worker", i) for i in range(20)), ("server", 0)]
    assert (len(first["pods"]), rest["next_pod"]) == (PODS_PER_ANSWER, None)
    assert usage(cast, large, first_pod=1000).json()["pods"] == []


def test_the_newest_attempt_with_samples_is_shown_and_others_by_number(cast: Cast, attempt: Attempt) -> None:
    post(attempt, 0, sample(2, cpus=1), stream="usage")
    assert usage(cast, attempt).json()["attempt_number"] == attempt.number
    assert usage(cast, attempt, attempt=attempt.number).json()["pods"]
    assert usage(cast, attempt, attempt=attempt.number + 1).status_code == 404
    assert usage(cast, attempt, attempt=0).status_code == 422
    assert usage(cast, attempt, pods=3).status_code == 400


def test_strangers_see_nothing(cast: Cast, attempt: Attempt) -> None:
    post(attempt, 0, sample(2, cpus=1), stream="usage")
    assert cast.client(cast.charlie).get(f"/api/v1/jobs/{attempt.job_id}/usage").status_code == 404


def test_samples_of_ended_attempts_are_removed_in_batches(attempt: Attempt) -> None:
    post(attempt, 0, *(sample(i + 1, cpus=1) for i in range(7)), stream="usage")
    now = timezone.now()
    rule, kept = OWNED_RULES["usage"], Cutoffs(now, 1.0, {})
    assert rule(kept, 3) == 0
    Attempt.objects.filter(pk=attempt.pk).update(ended_at=now - timedelta(days=2))
    assert [rule(kept, 3) for _ in range(4)] == [3, 3, 1, 0]


def test_every_resource_has_a_title_and_a_meaning() -> None:
    assert all(resource.title and resource.about.endswith(".") for resource in RESOURCES.values())
