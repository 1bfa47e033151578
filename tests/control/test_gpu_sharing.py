# SPDX-License-Identifier: Apache-2.0
"""What the backend reports of sharing GPUs reaches the scheduler's snapshot; without a report nothing is shared."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.test import Client

from mlhub.backends.protocol import GpuStatus
from mlhub.control.snapshots import take_snapshot
from mlhub.jobs.models import Job
from scheduler import ClusterSnapshot
from tests.cast import make_cast
from tests.control.worlds import GIB, World, node

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def world() -> World:
    return World(make_cast())


def snapshot(*, within_project: bool) -> ClusterSnapshot:
    shared = replace(
        node("n0"), max_jobs_per_gpu=2, gpu_memory_bytes=16 * GIB, shares_within_project=within_project, sharing="two"
    )
    return take_snapshot([shared, node("n1")], now=NOW, round_number=1)


def test_nodes_allow_what_their_backend_allows(world: World) -> None:
    found = snapshot(within_project=False).nodes
    assert [(n.max_jobs_per_gpu, n.gpu_memory_bytes) for n in found] == [(2, 16 * GIB), (1, 0)]


def test_a_gpu_with_a_problem_is_shown_and_not_offered(world: World, client: Client) -> None:
    there = [GpuStatus(i, f"GPU-{i}", "H200", 80 * GIB, 8 * GIB, 0.5, 61.0) for i in range(2)]
    broken = replace(there[1], problem="Processes are left on it.")
    world.backend.nodes = [replace(node("n0"), gpus=(there[0], broken))]
    first, second = world.job(), world.job()
    world.round()
    assert {job.state for job in Job.objects.filter(id__in=[first.id, second.id])} == {"starting", "queued"}
    client.force_login(world.cast.bob)
    slots = client.get("/api/v1/cluster").json()["racks"][0]["nodes"][0]["slots"]
    assert [slot["job"] is None for slot in slots] == [False, True]
    assert slots[0]["gpu"] == {
        "name": "H200", "memory_bytes": 80 * GIB, "used_bytes": 8 * GIB, "utilisation": 0.5, "temperature_c": 61.0,
        "problem": "",
    }  # fmt: skip
    assert slots[1]["gpu"]["problem"] == "Processes are left on it."


def test_jobs_share_within_their_project_where_the_cluster_can_only_do_that(world: World) -> None:
    job = world.job()
    assert [j.shares_within for j in snapshot(within_project=True).jobs] == [str(job.project_id)]
    assert [j.shares_within for j in snapshot(within_project=False).jobs] == [""]
