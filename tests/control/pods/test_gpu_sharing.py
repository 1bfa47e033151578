# SPDX-License-Identifier: Apache-2.0
"""What the backend reports of sharing GPUs reaches the scheduler's snapshot; without a report nothing is shared."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.test import Client

from mlhub.backends.protocol import GpuStatus
from mlhub.control.rounds.snapshots import take_snapshot
from mlhub.jobs.execution.families import family_of
from mlhub.jobs.models import Attempt, Job
from mlhub.metrics.models import SpeedSample
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


def profiled(world: World, of: Job, *, held_bytes: int) -> None:
    """What an earlier job of the family measured alone: half of a step reads, half computes."""
    earlier = world.job(name="earlier", hyperparameters=of.hyperparameters, state="succeeded")
    attempt = Attempt.objects.create(
        job=earlier, number=1, mode="all_reduce", n_workers=1, token_hash=earlier.name, ended_at=world.now
    )
    SpeedSample.objects.create(
        attempt=attempt, family=family_of(of), mode="all_reduce", n_workers=1, n_servers=0, n_nodes=1, n_racks=1,
        gpu_type="cpu-slot", batch_size=32, step_s=0.4, compute_s=0.2, sync_s=0.0, input_s=0.2, n_steps=500,
        updated_at=world.now, measured={"gpu_memory_bytes": float(held_bytes), "gpu_utilisation": 0.4},
    )  # fmt: skip


@pytest.mark.parametrize(("held_gib", "n_launched"), [(10, 2), (60, 1)])
def test_two_jobs_are_launched_on_one_gpu_only_if_its_memory_holds_both(
    held_gib: int, n_launched: int, world: World
) -> None:
    there = replace(node("n0", n_slots=1), max_jobs_per_gpu=2, gpu_memory_bytes=80 * GIB)
    world.backend.nodes = [there]
    world.settle(policy="muri")
    jobs = [world.job(name=name, max_workers=1, hyperparameters={"kind": name}) for name in ("one", "other")]
    world.backend.nodes = [replace(there, is_schedulable=False)]
    world.round()  # the inventory knows the GPU's memory before anything starts
    for of in jobs:
        profiled(world, of, held_bytes=held_gib * GIB)
    world.backend.nodes = [there]
    world.rounds(4)
    assert len(world.backend.launches) == n_launched
