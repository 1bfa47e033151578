# SPDX-License-Identifier: Apache-2.0
"""Old checkpoints on projects' volumes are swept by the jobs that are known to be over, and by nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mlhub.jobs.models import Job
from tests.cast import make_cast
from tests.control.worlds import World

pytestmark = pytest.mark.django_db
DAY_S = 86400.0


@pytest.fixture
def world() -> World:
    return World(make_cast())


def ended(world: World, name: str, *, days: float) -> Job:
    found = world.job(name=name)
    at = world.now - timedelta(days=days)
    Job.objects.filter(pk=found.pk).update(state="succeeded", finished_at=at)
    return found


def test_a_project_whose_jobs_ended_a_day_ago_is_swept_but_for_what_is_young_or_lives(world: World) -> None:
    old = ended(world, "old", days=2)
    ended(world, "young", days=0.5)
    world.job(name="queued", min_workers=8, max_workers=8)
    world.round()
    [(project, over, older_than_s)] = world.backend.sweeps
    assert project == str(old.project_id)
    assert over == [str(old.id)]
    assert older_than_s == DAY_S


def test_it_is_done_once_in_a_while_and_not_for_projects_that_are_quiet(world: World) -> None:
    ended(world, "old", days=2)
    world.rounds(3)
    assert len(world.backend.sweeps) == 1
    world.round(after_s=7 * 3600)
    assert len(world.backend.sweeps) == 2
    world.round(after_s=30 * DAY_S)
    assert len(world.backend.sweeps) == 2
