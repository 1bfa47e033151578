# SPDX-License-Identifier: Apache-2.0
"""Random histories to their end, under every policy: each job that fits starts within a bound, and ends.

More of them: `make bench-properties`. Guarantee G11.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from scheduler import JobSnapshot, Launch, Phase
from tests.scheduler.cases import Case
from tests.scheduler.test_properties import cases, policies, quick

ROUND_S = 30.0
# Rounds that a job may take apart from its training: to be launched, to leave, and what others' restarts cost it.
SPARE_ROUNDS = 12
# Taking turns makes each job wait for the others' turns and restarts.
TURNS = 3
LAST_ARRIVAL = 12  # the round


@dataclass(frozen=True)
class Arrival:
    """A job, when it is submitted, and the GPU-seconds that it trains, which the scheduler does not know."""

    job: JobSnapshot
    round: int
    work_s: float


@st.composite
def histories(draw: st.DrawFn) -> tuple[Case, list[Arrival]]:
    """A cluster whose jobs come one after the other."""
    case = draw(cases())
    arrivals = [
        Arrival(job, draw(st.integers(0, LAST_ARRIVAL)), draw(st.sampled_from([10.0, 60.0, 400.0])))
        for job in case.jobs
    ]
    return replace(case, jobs=()), arrivals


def fits(case: Case, job: JobSnapshot, policy: str) -> bool:
    """Alone on the cluster it is launched."""
    alone = replace(case, jobs=(replace(job, submitted_at_s=case.now_s),))
    for _ in range(4):
        plan = alone.decide(policy)
        if isinstance(plan.of(job.id), Launch):
            return True
        alone = alone.after(plan, seconds=ROUND_S)
    return False


class World:
    """The jobs of a history as they train; case: what the scheduler sees of them."""

    def __init__(self, case: Case, arrivals: list[Arrival]) -> None:
        self.case, self.work_s = case, {one.job.id: one.work_s for one in arrivals}
        self.trained_s = dict.fromkeys(self.work_s, 0.0)

    def round(self, policy: str, arrived: list[JobSnapshot]) -> None:
        """One decision, and what follows of it until the next."""
        case = self.case.waiting(*(replace(job, submitted_at_s=self.case.now_s) for job in arrived))
        case = case.after(case.decide(policy), seconds=ROUND_S)
        self.case = replace(
            case, jobs=tuple(job for job in map(self._trained, case.jobs) if not self.has_ended(job.id))
        )

    def _trained(self, job: JobSnapshot) -> JobSnapshot:
        if job.phase is not Phase.RUNNING or job.allocation is None:
            return job
        self.trained_s[job.id] += job.allocation.n_workers * ROUND_S
        share = self.trained_s[job.id] / self.work_s[job.id]
        return replace(job, steps_done=min(job.steps_total - 1, int(share * job.steps_total)))

    def has_ended(self, job_id: str) -> bool:
        return self.trained_s[job_id] >= self.work_s[job_id]


def unended(case: Case, arrivals: list[Arrival], policy: str) -> list[str]:
    """Jobs that fit and have not ended in TURNS times what it takes to train them alone, one after the other."""
    fitting = [one.job.id for one in arrivals if fits(case, one.job, policy)]
    one_by_one = sum(one.work_s / one.job.min_workers / ROUND_S + SPARE_ROUNDS for one in arrivals)
    world = World(case, arrivals)
    for number in range(LAST_ARRIVAL + 1 + int(TURNS * one_by_one)):
        world.round(policy, [one.job for one in arrivals if one.round == number])
        if all(map(world.has_ended, fitting)):
            break
    return [job_id for job_id in fitting if not world.has_ended(job_id)]


@quick
@given(histories(), policies)
def test_every_job_that_fits_ends_within_a_bound(history: tuple[Case, list[Arrival]], policy: str) -> None:
    case, arrivals = history
    assert unended(case, arrivals, policy) == []
