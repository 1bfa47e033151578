# SPDX-License-Identifier: Apache-2.0
"""Two rooms in which the same is free: a search finds the same places in both."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import GangAllocation, JobSnapshot, Mode, NodeAllocation, NodeSnapshot
from scheduler.api.sharing_measurements import Profile
from scheduler.placement.free_resources import FreeResources

NODES = tuple(NodeSnapshot(f"n{i}", "r0", "v100", 4, 64.0, 1 << 38, 10e9, max_jobs_per_gpu=2) for i in range(2))
JOB = JobSnapshot("a", "alice", 0.0, 1000, 256, profile=Profile(0.1, 0.8, 0.1))
PLACE = GangAllocation(Mode.ALL_REDUCE, 2, 0, (NodeAllocation("n0", (0, 1)),))


def test_it_is_the_same_room_again_once_a_job_has_left() -> None:
    whole = FreeResources(NODES)
    room = whole.copy()
    room.reserve(JOB, PLACE)
    assert not room.is_same_room(whole)
    room.release(JOB, PLACE)
    assert set(room.gpus["n0"]) == {0, 1, 2, 3}
    assert whole.copy().is_same_room(whole)
    assert not FreeResources(NODES).is_same_room(whole), "nodes of another room are not compared one by one"


@pytest.mark.parametrize(
    "other", [replace(JOB, cpus_per_worker=2.0), replace(JOB, memory_per_worker_bytes=1 << 30), replace(JOB, id="b")]
)
def test_it_is_another_room_where_other_jobs_hold_the_same_gpus(other: JobSnapshot) -> None:
    room = FreeResources(NODES)
    differing = room.copy()
    room.reserve(JOB, PLACE)
    differing.reserve(other, PLACE)
    assert not room.is_same_room(differing)


def test_only_gpus_that_are_taken_have_occupants() -> None:
    room = FreeResources(NODES)
    assert room.occupants_of(PLACE) == set()
    room.reserve(JOB, PLACE)
    assert room.occupants_of(PLACE) == {"a"}
    assert room.occupants_of(GangAllocation(Mode.ALL_REDUCE, 1, 0, (NodeAllocation("n1", (0,)),))) == set()
