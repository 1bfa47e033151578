# SPDX-License-Identifier: Apache-2.0
"""Snapshots of jobs as they go on: the quick ways of copying them give what replace gives."""

from __future__ import annotations

from dataclasses import replace

from scheduler import GangAllocation, Mode, NodeAllocation, NodeSnapshot, Phase, RackSnapshot, SpeedObservation
from scheduler.models.speed.job_speeds import JobSpeeds
from tests.scheduler.cases import job

ON_ONE = GangAllocation(Mode.ALL_REDUCE, 2, 0, (NodeAllocation("n0", (0, 1)),))


def test_a_job_that_moved_on_is_what_replace_makes_of_it() -> None:
    waiting = job("a", gpus=2)
    assert waiting.held is None
    assert waiting.is_sound
    changes = {"phase": Phase.RUNNING, "allocation": ON_ONE, "allocated_at_s": 5.0}
    moved = waiting.moved_on(**changes)
    assert moved == replace(waiting, **changes)
    assert moved.held is ON_ONE
    assert not waiting.moved_on(phase=Phase.RUNNING).is_sound
    assert moved.moved_on(phase=Phase.WAITING).held is None
    later = moved.progressed(steps_done=7.0, executed_gpu_s=9.0)
    assert later == replace(moved, steps_done=7.0, executed_gpu_s=9.0)


def test_what_was_measured_since_changes_the_step_on_a_place_that_is_remembered() -> None:
    speeds = JobSpeeds((NodeSnapshot("n0", "r0", "gpu", 4, 64.0, 1 << 38, 10e9),), (RackSnapshot("r0", 10e9),))
    one = replace(job("a", gpus=2), phase=Phase.RUNNING, allocation=ON_ONE)
    before_s = speeds.step_s_on(one, ON_ONE)
    assert speeds.step_s_on(one, ON_ONE) == before_s
    seen = SpeedObservation(Mode.ALL_REDUCE, 2, 0, 1, 1, "gpu", one.batch_size, 3.0, 2.5, 0.5, n_steps=500)
    assert speeds.step_s_on(replace(one, observations=(seen,)), ON_ONE) != before_s


def test_what_was_worked_out_of_a_job_is_not_that_of_the_one_that_moved_on() -> None:
    small = job("a", gpus=2)
    assert small.is_sound
    assert (small.fixed_workers, small.needs.min_workers) == (2, 2)
    larger = small.moved_on(min_workers=4, max_workers=4)
    assert (larger.fixed_workers, larger.needs.min_workers) == (4, 4)
    assert not small.progressed(steps_done=-1.0, executed_gpu_s=0.0).is_sound
