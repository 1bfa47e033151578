# SPDX-License-Identifier: Apache-2.0
"""A platform for tests of the control loop, whose clock and backend are ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from mlhub.backends.fake import FakeBackend
from mlhub.backends.protocol import NodeStatus
from mlhub.control.models import Round, SchedulerSettings
from mlhub.control.rounds.loop import Loop
from mlhub.jobs.models import Job
from tests.cast import Cast
from tests.jobs.builders import job

GIB = 2**30


def node(name: str, rack: str = "r0", n_slots: int = 2) -> NodeStatus:
    return NodeStatus(name, rack, "cpu-slot", n_slots, 8.0, 32 * GIB, 1e10, 4e10)


@dataclass
class World:
    """A platform whose clock and backend are ours. Arguments of the loop come from `loop_with`."""

    cast: Cast
    backend: FakeBackend = field(default_factory=lambda: FakeBackend([node("n0"), node("n1", "r1")]))
    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    loop_with: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.loop = Loop(self.backend, now=lambda: self.now, **self.loop_with)

    def round(self, *, after_s: float = 2.0) -> Round | None:
        self.now += timedelta(seconds=after_s)
        self.backend.now = self.now
        return self.loop.round()

    def rounds(self, n: int) -> None:
        for _ in range(n):
            self.round()

    def job(self, **fields: Any) -> Job:
        found = job(self.cast.project_a, self.cast.bob, **fields)
        Job.objects.filter(pk=found.pk).update(submitted_at=self.now)
        return found

    def settle(self, **fields: Any) -> None:
        """Changes the scheduler's settings, as an administrator would."""
        chosen, _ = SchedulerSettings.objects.get_or_create(pk=1)
        SchedulerSettings.objects.filter(pk=1).update(version=chosen.version + 1, **fields)


def state(of: Job) -> str:
    of.refresh_from_db()
    return str(of.state)
