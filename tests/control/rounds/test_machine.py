# SPDX-License-Identifier: Apache-2.0
"""The platform under every order of events that hypothesis can think of: people, gangs, nodes and crashes.

MACHINE_EXAMPLES=1000 plays as many, instead of the few of every run.
"""

from __future__ import annotations

import os
from collections import defaultdict
from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from mlhub.backends.fake import FakeBackend
from mlhub.backends.protocol import GangPhase
from mlhub.control.rounds.loop import Loop
from mlhub.core.errors import ConflictError
from mlhub.events.models import Event
from mlhub.jobs import actions
from mlhub.jobs.models import Allocation, Attempt, Job
from mlhub.jobs.states import ENDED, HOLDING_GPUS, TRANSITIONS, JobState, Trigger
from mlhub.wire.exits import Cause
from tests.cast import make_cast
from tests.control.worlds import node
from tests.jobs.builders import job

N_NODES, N_SLOTS = 2, 2
MAX_JOBS = 5
EXAMPLES = int(os.environ.get("MACHINE_EXAMPLES", "12"))  # stories


class Platform(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.savepoint = transaction.savepoint()
        self.cast = make_cast(max_gpus=3)
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.backend = FakeBackend([node(f"n{i}", n_slots=N_SLOTS) for i in range(N_NODES)], now=self.now)
        self.ended: dict[object, str] = {}
        self.crash()

    def teardown(self) -> None:
        try:
            self.end_well()
        finally:
            transaction.savepoint_rollback(self.savepoint)

    def end_well(self) -> None:
        """Left alone with gangs that succeed, every job comes to its end."""
        self.backend.is_away = self.backend.is_stubborn = self.backend.starts_slowly = False
        self.backend.nodes = [node(f"n{i}", n_slots=N_SLOTS) for i in range(N_NODES)]
        for _ in range(60):
            if not Job.objects.exclude(state__in=ENDED).exists():
                break
            for of in Job.objects.filter(state=JobState.PAUSED):  # some are still being stopped at first
                actions.resume_job(of, actor=of.created_by)
            self.let_gangs_start()
            self.round(after_s=200.0)
            for status in self.backend.observe():
                if status.phase is GangPhase.RUNNING:
                    self.backend.finish(status.attempt_id)
        left = list(Job.objects.exclude(state__in=ENDED).values_list("state", "intent", "explanations"))
        assert not left, left

    # What people do

    @precondition(lambda self: Job.objects.count() < MAX_JOBS)
    @rule(least=strategies.integers(1, 2), of_a=strategies.booleans())
    def submit(self, least: int, of_a: bool) -> None:
        project, user = (self.cast.project_a, self.cast.bob) if of_a else (self.cast.project_b, self.cast.charlie)
        job(project, user, min_workers=least)

    @precondition(lambda self: Job.objects.exists())
    @rule(which=strategies.integers(0, MAX_JOBS), verb=strategies.sampled_from(["cancel", "pause", "resume"]))
    def change_mind(self, which: int, verb: str) -> None:
        jobs = list(Job.objects.order_by("id"))
        of = jobs[which % len(jobs)]
        act = {"cancel": actions.cancel_job, "pause": actions.pause_job, "resume": actions.resume_job}[verb]
        try:
            act(of, actor=of.created_by)
        except ConflictError as refused:
            if refused.code not in ("job_ended", "job_cancelled"):
                raise

    # What happens to gangs and nodes

    @rule(which=strategies.integers(0, 9), cause=strategies.sampled_from([None, Cause.USER_CODE, Cause.KILLED]))
    def end_a_gang(self, which: int, cause: Cause | None) -> None:
        running = [] if self.backend.is_away else [s for s in self.backend.observe() if not s.phase.is_ended]
        if running:
            attempt_id = running[which % len(running)].attempt_id
            self.backend.finish(attempt_id) if cause is None else self.backend.fail(attempt_id, cause)

    @rule(which=strategies.integers(0, N_NODES - 1))
    def lose_a_node(self, which: int) -> None:
        self.backend.lose_node(f"n{which}")

    @rule()
    def bring_the_nodes_back(self) -> None:
        self.backend.nodes = [node(f"n{i}", n_slots=N_SLOTS) for i in range(N_NODES)]

    @rule(away=strategies.booleans(), stubborn=strategies.booleans(), slow=strategies.booleans())
    def change_the_backend_s_mood(self, away: bool, stubborn: bool, slow: bool) -> None:
        self.backend.is_away, self.backend.is_stubborn, self.backend.starts_slowly = away, stubborn, slow

    @rule()
    def let_gangs_start(self) -> None:
        if not self.backend.is_away:
            for status in self.backend.observe():
                if status.phase is GangPhase.STARTING:
                    self.backend.start(status.attempt_id)

    @rule()
    def forget_every_gang(self) -> None:
        self.backend.forget_everything()

    # What the platform does

    @rule()
    def crash(self) -> None:
        self.loop = Loop(self.backend, now=lambda: self.now)

    @rule(after_s=strategies.sampled_from([2.0, 40.0]))
    def round(self, after_s: float) -> None:
        self.now += timedelta(seconds=after_s)
        self.backend.now = self.now
        record = self.loop.round()
        assert record is None or not record.error, record and record.error

    @invariant()
    def no_slot_is_held_twice_and_no_quota_passed(self) -> None:
        held = [(a.node, s, a.attempt_id) for a in Allocation.objects.filter(released_at=None) for s in a.slots]
        assert len({(name, slot) for name, slot, _ in held}) == len(held)
        of_a = set(Attempt.objects.filter(job__project=self.cast.project_a).values_list("id", flat=True))
        assert sum(attempt in of_a for *_, attempt in held) <= 3

    @invariant()
    def a_job_holds_gpus_exactly_while_it_has_a_live_attempt(self) -> None:
        live = set(Attempt.objects.live().values_list("job_id", flat=True))
        holding = set(Job.objects.filter(state__in=HOLDING_GPUS).values_list("id", flat=True))
        assert live == holding
        assert not Allocation.objects.filter(released_at=None).exclude(attempt__ended_at=None).exists()
        assert not Attempt.objects.exclude(ended_at=None).filter(is_fenced=False).exists()

    @invariant()
    def an_ended_job_stays_as_it_ended(self) -> None:
        now = dict(Job.objects.filter(state__in=ENDED).values_list("id", "state"))
        assert all(now.get(job_id) == state for job_id, state in self.ended.items())
        self.ended |= now

    @invariant()
    def the_events_tell_a_story_that_the_table_admits(self) -> None:
        states: dict[object, JobState] = defaultdict(lambda: JobState.QUEUED)
        recorded = Event.objects.filter(kind="job.state").order_by("id").values_list("subject_id", "facts")
        for of, facts in recorded:
            assert facts["before"] == states[of]
            states[of] = TRANSITIONS[states[of], Trigger(facts["trigger"])]
            assert facts["after"] == states[of]
        assert all(states[of] == state for of, state in Job.objects.values_list("id", "state"))


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.timeout(0 if EXAMPLES > 25 else 1200)
def test_no_order_of_events_loses_a_job_or_gives_a_slot_twice() -> None:
    run_state_machine_as_test(
        Platform,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=25,
            deadline=None,
            derandomize=True,  # the same stories in every run; look for new ones with --hypothesis-seed and without it
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
