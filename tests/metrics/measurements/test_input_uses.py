# SPDX-License-Identifier: Apache-2.0
"""Pods say which inputs they found in their node's cache: believed of their own inputs alone, and shown."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.clusters import cached_inputs
from mlhub.clusters.cached_inputs import InputUse, record_input_use
from mlhub.clusters.models import CachedInput, Node, Rack
from mlhub.datasets.models import DatasetVersion
from mlhub.jobs.models import Attempt
from mlhub.metrics.models import RefusedMeasurement
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.metrics.test_ingest import opened, post

pytestmark = pytest.mark.django_db
GIB = 2**30
DATA, MORE, ALIEN = "d" * 64, "e" * 64, "f" * 64


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def node(name: str, *, has_own_cache: bool = True) -> Node:
    rack, _ = Rack.objects.get_or_create(name="r0", defaults={"uplink_bps": 1e10})
    return Node.objects.create(
        name=name, rack=rack, gpu_type="a100", n_slots=4, cpus=8, memory_bytes=GIB, nic_bps=1e10,
        observed_at=timezone.now(), has_own_cache=has_own_cache,
    )  # fmt: skip


@pytest.fixture
def attempt(cast: Cast) -> Attempt:
    """On n0, of a job with two files."""
    node("n0")
    found = opened(job(cast.project_a, cast.bob))
    files = [{"name": name, "sha256": sha, "size_bytes": GIB} for name, sha in (("a.npz", DATA), ("b.npz", MORE))]
    DatasetVersion.objects.update(files=files, size_bytes=2 * GIB)
    Attempt.objects.update(created_at=timezone.now() - timedelta(minutes=5))
    found.refresh_from_db()
    return found


def said(*inputs: Any) -> dict[str, Any]:
    return {"type": "phase", "at": 1.7e9, "phase": "inputs", "since_start_s": 1.0, "detail": {"inputs": list(inputs)}}


def use(sha256: str, is_found: Any, seconds: Any) -> dict[str, Any]:
    return {"sha256": sha256, "is_found": is_found, "seconds": seconds}


def startup(cast: Cast, attempt: Attempt) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cast.client(cast.bob).get(f"/api/v1/jobs/{attempt.job_id}/startup").json()["inputs"]
    return found


def caches(cast: Cast, attempt: Attempt) -> dict[str, Any]:
    address = f"/api/v1/dataset-versions/{attempt.job.dataset_version_id}/caches"
    found: dict[str, Any] = cast.client(cast.bob).get(address).json()
    return found


def test_what_was_fetched_and_found_is_on_the_pages_of_the_job_and_of_the_dataset(cast: Cast, attempt: Attempt) -> None:
    assert startup(cast, attempt) == []
    assert caches(cast, attempt)["nodes"] == []
    assert post(attempt, 0, said(use(DATA, False, 8.0), use(MORE, True, 0.0))).status_code == 200
    inputs_bytes = 2 * GIB
    assert startup(cast, attempt) == [
        {
            "node": "n0", "inputs_bytes": inputs_bytes, "found_bytes": inputs_bytes - GIB, "fetched_bytes": GIB,
            "fetch_s": 8.0,
        }
    ]  # fmt: skip
    shown = caches(cast, attempt)
    assert shown["has_node_caches"]
    assert [(one["name"], one["cached_bytes"]) for one in shown["nodes"]] == [("n0", 2 * GIB)]
    assert (shown["n_starts"], shown["inputs_bytes"], shown["found_bytes"]) == (1, 2 * GIB, GIB)


def test_another_pod_of_the_node_that_finds_what_the_first_one_fetched_counts_once(
    cast: Cast, attempt: Attempt
) -> None:
    post(attempt, 0, said(use(DATA, False, 8.0), use(MORE, False, 8.0)))
    post(attempt, 0, said(use(DATA, True, 8.0), use(MORE, True, 8.0)), index=1)
    assert [(one["fetched_bytes"], one["found_bytes"]) for one in startup(cast, attempt)] == [(2 * GIB, 0)]


def test_strangers_do_not_see_where_a_dataset_is(cast: Cast, attempt: Attempt) -> None:
    address = f"/api/v1/dataset-versions/{attempt.job.dataset_version_id}/caches"
    assert cast.client(cast.charlie).get(address).status_code == 404


@pytest.mark.parametrize(
    "nonsense",
    [
        use(ALIEN, True, 0.1),  # an input of somebody else
        use("../" + "d" * 61, True, 0.1),
        use(DATA, "yes", 0.1),
        use(DATA, True, -1),
        use(DATA, True, 1e9),  # longer than the attempt has existed
        use(DATA, True, True),
        use(DATA, False, 0.0),  # a gibibyte in no time
        use(DATA, False, None),
        ["d" * 64],
        None,
    ],
)
def test_what_cannot_be_true_is_refused_and_costs_itself_alone(cast: Cast, attempt: Attempt, nonsense: Any) -> None:
    assert post(attempt, 0, said(nonsense, use(MORE, True, 0.1))).status_code == 200
    assert [one.sha256 for one in CachedInput.objects.all()] == [MORE]
    assert RefusedMeasurement.objects.get(attempt=attempt).field.startswith("inputs")


@pytest.mark.parametrize("detail", [{}, {"inputs": "all"}, {"inputs": [use(DATA, True, 0)] * 101}])
def test_a_report_that_is_no_list_of_inputs_is_refused_and_the_pod_goes_on(
    attempt: Attempt, detail: dict[str, Any]
) -> None:
    assert post(attempt, 0, said() | {"detail": detail}).status_code == 200
    assert not CachedInput.objects.exists()
    assert RefusedMeasurement.objects.get(attempt=attempt).field == "inputs"


def test_a_server_speaks_of_its_own_node(attempt: Attempt) -> None:
    node("n1")
    Attempt.objects.filter(pk=attempt.pk).update(n_servers=1)
    attempt.allocations.create(node="n1", slots=[], n_servers=1)
    post(attempt, 0, said(use(DATA, True, 0.1)), role="server")
    assert [one.node_id for one in CachedInput.objects.all()] == ["n1"]


def test_where_nodes_have_no_caches_of_their_own_it_is_counted_and_no_node_is_said_to_hold_anything(
    cast: Cast, attempt: Attempt
) -> None:
    Node.objects.update(has_own_cache=False)
    post(attempt, 0, said(use(DATA, True, 0.1)))
    shown = caches(cast, attempt)
    assert (shown["has_node_caches"], shown["nodes"], shown["n_starts"]) == (False, [], 1)
    metrics = APIClient().get("/metrics").content.decode()
    assert 'mlhub_input_lookups_total{node="n0",outcome="hit"} 1.0' in metrics
    assert 'mlhub_input_bytes_total{node="n0",outcome="hit"} 1.073741824e+09' in metrics


def held(project: Any) -> set[str]:
    return set(CachedInput.objects.filter(project=project).values_list("sha256", flat=True))


def test_a_miss_shows_that_all_that_was_used_before_is_gone_too(cast: Cast) -> None:
    node("n0")
    now = timezone.now()
    for minute, sha256 in enumerate("abc"):
        at = now + timedelta(minutes=minute)
        record_input_use("n0", project=cast.project_a.id, uses=[InputUse(sha256, GIB, None)], now=at)
    record_input_use("n0", project=cast.project_b.id, uses=[InputUse("a", GIB, None)], now=now)
    record_input_use("n0", project=cast.project_a.id, uses=[InputUse("b", GIB, 3.0)], now=now + timedelta(hours=1))
    assert held(cast.project_a) == {"b", "c"}
    assert held(cast.project_b) == {"a"}  # whose cache is another one


def test_no_more_is_thought_to_be_there_than_a_cache_keeps(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    node("n0")
    monkeypatch.setattr(cached_inputs, "MAX_BYTES", 2 * GIB)
    now = timezone.now()
    for minute, sha256 in enumerate("abac"):
        at = now + timedelta(minutes=minute)
        record_input_use("n0", project=cast.project_a.id, uses=[InputUse(sha256, GIB, None)], now=at)
    assert held(cast.project_a) == {"a", "c"}
    monkeypatch.setattr(cached_inputs, "MOST_FILES", 1)
    record_input_use("n0", project=cast.project_a.id, uses=[InputUse("a", GIB, None)], now=now + timedelta(hours=1))
    assert held(cast.project_a) == {"a"}


def test_small_files_are_not_remembered(cast: Cast) -> None:
    node("n0")
    record_input_use("n0", project=cast.project_a.id, uses=[InputUse("a", 1000, None)], now=timezone.now())
    assert not held(cast.project_a)


def test_of_a_thousand_nodes_those_with_most_of_it_are_listed_and_all_are_counted(cast: Cast, attempt: Attempt) -> None:
    rack = Rack.objects.get(name="r0")
    common = {"gpu_type": "a100", "n_slots": 4, "cpus": 8, "memory_bytes": GIB, "nic_bps": 1e10}
    names = [f"m{at:03}" for at in range(1000)]
    Node.objects.bulk_create(
        Node(name=name, rack=rack, observed_at=timezone.now(), has_own_cache=True, **common) for name in names
    )
    CachedInput.objects.bulk_create(
        CachedInput(node_id=name, project=cast.project_a, sha256=DATA, size_bytes=GIB + at, used_at=timezone.now())
        for at, name in enumerate(names)
    )
    shown = caches(cast, attempt)
    assert shown["n_nodes"] == 1000
    assert [one["name"] for one in shown["nodes"]] == [f"m{at:03}" for at in range(999, 949, -1)]
