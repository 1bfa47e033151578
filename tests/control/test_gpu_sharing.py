# SPDX-License-Identifier: Apache-2.0
"""What the backend reports of sharing GPUs reaches the scheduler's snapshot; without a report nothing is shared."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from mlhub.control.snapshots import take_snapshot
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


def test_jobs_share_within_their_project_where_the_cluster_can_only_do_that(world: World) -> None:
    job = world.job()
    assert [j.shares_within for j in snapshot(within_project=True).jobs] == [str(job.project_id)]
    assert [j.shares_within for j in snapshot(within_project=False).jobs] == [""]
