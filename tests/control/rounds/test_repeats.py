# SPDX-License-Identifier: Apache-2.0
"""What a round finds undone is given to the backend at once: launches that were delayed, and gangs that must go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from mlhub.backends.fake import FakeBackend
from mlhub.backends.protocol import BackendUnavailableError, LaunchError
from mlhub.jobs.models import Attempt, Job
from mlhub.jobs.states import Intent
from mlhub.wire.launch import AttemptId, LaunchSpec
from tests.cast import make_cast
from tests.control.worlds import World, node, state

pytestmark = pytest.mark.django_db


class RecordingBackend(FakeBackend):
    """Records how many gangs each call was given; n_delayed launches find the backend away."""

    def __init__(self) -> None:
        super().__init__([node("n0", n_slots=4)])
        self.n_launched: list[int] = []
        self.n_stopped: list[int] = []
        self.n_delayed = 0
        self.broken: set[AttemptId] = set()

    def launch_all(self, specs: Sequence[LaunchSpec]) -> Mapping[AttemptId, LaunchError | BackendUnavailableError]:
        self.n_launched.append(len(specs))
        if self.n_delayed:
            self.n_delayed -= 1
            return {spec.attempt_id: BackendUnavailableError("away") for spec in specs}
        return super().launch_all(specs)

    def stop_all(self, stops: Mapping[AttemptId, float]) -> Mapping[AttemptId, BackendUnavailableError]:
        self.n_stopped.append(len(stops))
        return super().stop_all(stops)

    def stop(self, attempt_id: AttemptId, *, grace_s: float) -> None:
        if attempt_id in self.broken:
            raise RuntimeError("This gang cannot be read.")
        super().stop(attempt_id, grace_s=grace_s)


def running(n: int) -> tuple[World, RecordingBackend, list[Job]]:
    backend = RecordingBackend()
    world = World(make_cast(), backend=backend)
    jobs = [world.job(name=f"job {number}", max_workers=1) for number in range(n)]
    backend.n_delayed = 1
    world.round()
    assert backend.n_launched == [n]
    world.rounds(2)
    return world, backend, jobs


def test_delayed_launches_are_repeated_together() -> None:
    _, backend, jobs = running(3)
    assert backend.n_launched == [3, 3]
    assert [state(job) for job in jobs] == ["running"] * 3


@pytest.mark.slow
def test_gangs_that_must_go_are_removed_together() -> None:
    world, backend, jobs = running(3)
    Job.objects.update(intent=Intent.CANCEL)
    world.rounds(3)
    assert [state(job) for job in jobs] == ["cancelled"] * 3
    assert backend.n_stopped == [3, 3]  # asked to leave, and dropped
    assert backend.observe() == []


@pytest.mark.slow
def test_a_gang_that_cannot_be_stopped_keeps_no_other_one() -> None:
    world, backend, jobs = running(3)
    broken = Attempt.objects.get(job=jobs[0])
    backend.broken.add(AttemptId(str(broken.pk)))
    Job.objects.update(intent=Intent.CANCEL)
    world.rounds(3)
    assert [state(job) for job in jobs] == ["stopping", "cancelled", "cancelled"]
    backend.broken.clear()
    world.rounds(3)
    assert state(jobs[0]) == "cancelled"
