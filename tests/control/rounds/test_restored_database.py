# SPDX-License-Identifier: Apache-2.0
"""An older copy of the database over newer work: what it does not know is reported, and nothing is deleted."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from mlhub.backends.protocol import GangPhase, ItemKind, LaunchError
from mlhub.control.models import QuarantineRecord
from mlhub.jobs.models import Job
from mlhub.wire.exits import Cause
from mlhub.wire.launch import AttemptId, LaunchSpec
from tests.cast import make_cast
from tests.control.worlds import World, state

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return World(make_cast())


def forgotten(world: World) -> LaunchSpec:
    """A gang that runs for an attempt which was opened after the copy of the database was made."""
    world.job(name="known")
    world.rounds(2)
    spec = replace(world.backend.launches[0], attempt_id=AttemptId(str(uuid4())), job_id=str(uuid4()))
    world.backend.launch(spec)
    return spec


def test_gangs_of_unknown_attempts_run_on_and_are_reported(world: World) -> None:
    spec = forgotten(world)
    world.rounds(3)
    phases = {status.attempt_id: status.phase for status in world.backend.observe()}
    assert phases[spec.attempt_id] is GangPhase.RUNNING
    row = QuarantineRecord.objects.get(ended_at=None)
    assert (row.kind, row.name) == (ItemKind.GANG, spec.attempt_id)
    assert "restored from an older copy" in row.reason


def test_gangs_of_unknown_attempts_that_have_ended_are_not_dropped_either(world: World) -> None:
    spec = forgotten(world)
    world.backend.fail(str(spec.attempt_id), Cause.USER_CODE, "It raised.")
    world.rounds(2)
    assert spec.attempt_id in {status.attempt_id for status in world.backend.observe()}


def test_checkpoints_of_unknown_and_living_jobs_are_never_named(world: World) -> None:
    long_ago = world.now - timedelta(days=2)
    over, alive = world.job(name="over"), world.job(name="alive", min_workers=8, max_workers=8)
    Job.objects.filter(pk=over.pk).update(state="succeeded", finished_at=long_ago)
    newer = world.job(name="newer")
    newer.delete()  # as if it had been submitted after the copy was made
    world.round()
    [(_, named, _)] = world.backend.sweeps
    assert named == [str(over.pk)]
    assert state(alive) == "queued"


def test_a_gang_that_is_refused_costs_the_others_of_its_round_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = world.backend.launch

    def picky(spec: LaunchSpec) -> None:
        if spec.labels["job"] == "refused":
            raise LaunchError("The cluster's policy refuses the gang: no.", cause=Cause.LAUNCH_FAILED)
        if spec.labels["job"] == "broken":
            raise ZeroDivisionError("a bug")
        launch(spec)

    monkeypatch.setattr(world.backend, "launch", picky)
    jobs = {name: world.job(name=name, max_workers=1) for name in ("broken", "refused", "sound")}
    record = world.round()
    assert record is not None
    outcomes = {action["job"]: action["outcome"] for action in record.applied}
    assert {name: outcomes[str(job.pk)] for name, job in jobs.items()} == {
        "broken": "failed",
        "refused": "failed",
        "sound": "launched",
    }
