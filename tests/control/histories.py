# SPDX-License-Identifier: Apache-2.0
"""A day of the platform as rows: jobs that ran one after the other on one node of two GPUs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from mlhub.clusters.models import Node, Rack
from mlhub.control.models import Round
from mlhub.jobs.models import Allocation, Attempt, Job
from mlhub.jobs.states import JobState
from scheduler.api.records import snapshot_to_json
from scheduler.api.snapshot import ClusterSnapshot, TenantSnapshot
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from tests.cast import Cast
from tests.jobs.builders import job

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
END = BEGIN + timedelta(days=1)
GIB = 2**30


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def node_row(name: str = "n0", *, n_slots: int = 2) -> Node:
    rack, _ = Rack.objects.get_or_create(name="r0", defaults={"uplink_bps": 4e10})
    size = {"cpus": 8.0, "memory_bytes": 32 * GIB, "nic_bps": 1e10}
    return Node.objects.create(name=name, rack=rack, gpu_type="gpu", n_slots=n_slots, observed_at=END, **size)


def round_row(seconds: float, *, nodes: tuple[str, ...] = ("n0",), tenants: tuple[TenantSnapshot, ...] = ()) -> Round:
    """A stored round that saw these nodes, of two GPUs each."""
    snapshot = ClusterSnapshot(
        now_s=at(seconds).timestamp(),
        nodes=tuple(NodeSnapshot(name, "r0", "gpu", 2, 8.0, 32 * GIB, 1e10) for name in nodes),
        racks=(RackSnapshot("r0", 4e10),),
        jobs=(),
        tenants=tenants,
    )
    return Round.objects.create(at=at(seconds), policy="fifo", snapshot=snapshot_to_json(snapshot))


def ended_job(
    cast: Cast, name: str, *, submitted_s: float, began_s: float, ended_s: float, n_workers: int = 2, **fields: Any
) -> Job:
    """A job of exactly n_workers that trained in one attempt, one step a second, and succeeded."""
    steps = int(ended_s - began_s)
    found = job(
        fields.pop("project", cast.project_a),
        cast.bob,
        name=name,
        min_workers=n_workers,
        max_workers=n_workers,
        steps_done=steps,
        steps_total=steps,
        **fields,
    )
    changes = {"submitted_at": at(submitted_s), "finished_at": at(ended_s), "state": JobState.SUCCEEDED}
    Job.objects.filter(pk=found.pk).update(**changes)
    attempt_row(found, began_s=began_s, ended_s=ended_s, n_workers=n_workers)
    found.refresh_from_db()
    return found


def attempt_row(
    of: Job, *, began_s: float, ended_s: float | None, n_workers: int, node: str = "n0", number: int = 1, **fields: Any
) -> Attempt:
    ended = {} if ended_s is None else {"ended_at": at(ended_s), "outcome": "succeeded"}
    steps = 0 if ended_s is None else int(ended_s - began_s)
    found = Attempt.objects.create(
        job=of, number=number, mode="all_reduce", n_workers=n_workers, last_step=steps, **{**ended, **fields}
    )
    Attempt.objects.filter(pk=found.pk).update(created_at=at(began_s), training_at=at(began_s))
    released = {} if ended_s is None else {"released_at": at(ended_s)}
    Allocation.objects.create(attempt=found, node=node, slots=list(range(n_workers)), **released)
    found.refresh_from_db()
    return found


def day_of_three(cast: Cast) -> list[Job]:
    """First come, first served: 2000 s, 200 s and 20 s, all of both GPUs."""
    node_row()
    round_row(1)
    return [
        ended_job(cast, "long", submitted_s=0, began_s=0, ended_s=2000),
        ended_job(cast, "middle", submitted_s=10, began_s=2000, ended_s=2200),
        ended_job(cast, "short", submitted_s=20, began_s=2200, ended_s=2220),
    ]
