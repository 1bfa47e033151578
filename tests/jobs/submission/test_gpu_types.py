# SPDX-License-Identifier: Apache-2.0
"""A job may name the types of GPU that it runs on, and the size that policies of fixed sizes give it."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from mlhub.clusters.models import Node, Rack
from mlhub.jobs.models import Job
from tests.cast import Cast, make_cast
from tests.jobs import builders

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    Rack.objects.create(name="r0", uplink_bps=1e10)
    for name, gpu_type, n in (("n0", "V100", 2), ("n1", "K80", 4)):
        Node.objects.create(
            name=name, rack_id="r0", gpu_type=gpu_type, n_slots=n, cpus=8, memory_bytes=2**35, nic_bps=1e10,
            is_ready=True, is_schedulable=True, observed_at=timezone.now(),
        )  # fmt: skip
    return make_cast()


def submit(cast: Cast, **body: Any) -> Any:
    dataset, model = builders.ready_dataset(cast.project_a, cast.bob), builders.builtin()
    request = {"dataset_version": str(dataset.id), "model_version": str(model.id), "epochs": 1, "batch_size": 8, **body}
    return cast.client(cast.bob).post("/api/v1/jobs", request, format="json")


def test_types_and_size_are_kept_and_cloned(cast: Cast) -> None:
    asked = {"gpu_types": ["V100"], "n_workers": 2}
    answer = submit(cast, resources=asked, max_workers=4)
    assert answer.status_code == 201, answer.content
    assert answer.json()["resources"] == asked
    clone = cast.client(cast.bob).post(f"/api/v1/jobs/{answer.json()['id']}/clone", {}, format="json")
    assert clone.json()["resources"] == asked


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"resources": {"gpu_types": ["A100", "V100"]}}, "Give some of: K80, V100."),
        ({"resources": {"gpu_types": ["V100"]}, "min_workers": 3}, "Give min_workers of at most 2, or more types."),
        ({"resources": {"n_workers": 5}, "max_workers": 4}, "Give a number from min_workers to max_workers."),
    ],
)
def test_what_the_cluster_can_never_give_is_refused_with_a_remedy(cast: Cast, body: dict[str, Any], words: str) -> None:
    answer = submit(cast, **body)
    assert answer.status_code == 422, answer.content
    (error,) = answer.json()["errors"]
    assert (error["field"].split(".")[0], error["remedy"]) == ("resources", words)
    assert not Job.objects.exists()
