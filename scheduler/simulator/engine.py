# SPDX-License-Identifier: Apache-2.0
"""The simulator's engine: events around decide(). What happens at one instant is one round."""

from __future__ import annotations

from collections.abc import Callable, Collection

from scheduler.api.memory import RoundMemory
from scheduler.api.plan import Keep, Launch, Plan, Preempt, Resize, Wait
from scheduler.api.reasons import in_singular
from scheduler.api.snapshot import ClusterSnapshot, Phase
from scheduler.policies import Policy
from scheduler.round.cache import RoundCache
from scheduler.round.decide import decide
from scheduler.simulator.budget_meter import BudgetMeter
from scheduler.simulator.environments.environment import Arrival, Environment
from scheduler.simulator.environments.failing import FailingEnvironment
from scheduler.simulator.event_queue import EventKind, EventQueue, SimulationEvent
from scheduler.simulator.job_execution import JobExecution
from scheduler.simulator.outcome import SimulationOutcome

MOST_ROUNDS_AT_ONCE = 100  # a policy that is not quiet after so many rounds at one instant never will be
MOST_IDLE_ROUNDS = 10_000  # periodic rounds in which nothing at all happens: the jobs left can never run


def simulate(
    environment: Environment,
    *,
    policy: Policy,
    period_s: float | None = None,
    seed: int = 0,
    stopwatch: Callable[[], float] | None = None,
    on_round: Callable[[ClusterSnapshot, Plan], None] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> SimulationOutcome:
    """Simulates the environment's arrivals to the end under the policy, and returns the outcome.

    period_s: None decides at every event; otherwise at whole multiples of the period only, and things that happen in
    between are seen at the next one. stopwatch: measures rounds; without one their times are 0. on_progress: called
    with the numbers of completed and submitted jobs. Raises RuntimeError if the policy never comes to rest at one
    instant, or jobs are left that never run.
    """
    return _Engine(environment, policy, period_s, seed, stopwatch, on_round, on_progress).play()


class _Engine:
    def __init__(
        self,
        environment: Environment,
        policy: Policy,
        period_s: float | None,
        seed: int,
        stopwatch: Callable[[], float] | None,
        on_round: Callable[[ClusterSnapshot, Plan], None] | None,
        on_progress: Callable[[int, int], None] | None,
    ) -> None:
        self.environment, self.policy, self.period_s, self.seed = environment, policy, period_s, seed
        self.stopwatch, self.on_round, self.on_progress = stopwatch or (lambda: 0.0), on_round, on_progress
        self.arrivals: list[Arrival] = sorted(environment.arrivals, key=lambda arrival: arrival.at_s)
        self.agenda = EventQueue()
        self.training = JobExecution(environment, self.agenda)
        self.memory, self.cache = RoundMemory(), RoundCache()
        self.decision_s: list[float] = []
        self.n_done = 0
        self.n_idle = 0
        self.meter = BudgetMeter(tuple(environment.tenants))
        self.failing = environment if isinstance(environment, FailingEnvironment) else None
        self.n_failures, self.lost_gpu_s = 0, 0.0

    def play(self) -> SimulationOutcome:
        agenda, jobs = self.agenda, self.training.jobs
        for i, arrival in enumerate(self.arrivals):
            agenda.push(arrival.at_s, EventKind.SUBMITTED, arrival.job.id, i)
        now_s = 0.0
        self._schedule_failure()
        while agenda and (self.failing is None or self.n_done < len(self.arrivals)):
            now_s = agenda.next_at_s
            is_due = False
            if self.meter:
                self.meter.advance(now_s, self.training.jobs.values(), self.environment.nodes)
            for event in agenda.pop_instant():
                is_due |= self._happens(event)
            if is_due:
                if self.environment.is_disturbed:
                    self.training.new_speeds(now_s)
                self._rounds(now_s)
            if not agenda and jobs:
                raise RuntimeError(_never_run(jobs))
        n_rounds, decision_s = len(self.decision_s), tuple(self.decision_s)
        return SimulationOutcome(self.training.histories, n_rounds, decision_s, now_s, self.n_failures, self.lost_gpu_s)

    # events

    def _happens(self, event: SimulationEvent) -> bool:
        """Carry the event out; True if a round is due."""
        now_s, kind, job_id = event.at_s, event.kind, event.job_id
        if kind is EventKind.TICK:
            return self.period_s is not None or event.version == len(self.decision_s)
        if kind is EventKind.FAILURE:
            self._fail_nodes(now_s)
        elif kind is EventKind.SUBMITTED:
            self.training.submit(self.arrivals[event.version])
        elif self.training.is_void(job_id, event.version):
            return False
        elif kind is EventKind.SEGMENT:
            if not self.training.finish_segment(job_id):
                return False
            self._count_end()
        elif kind is EventKind.LEFT:
            self.training.leave(job_id, now_s)
        else:
            self.training.train(job_id, now_s)
            return False
        if self.period_s is None:
            return True
        multiple = -(-now_s // self.period_s)  # the next whole multiple of the period; now, if it is one
        self.agenda.push(multiple * self.period_s, EventKind.TICK)
        return False

    def _count_end(self) -> None:
        self.n_done += 1
        if self.on_progress is not None:
            self.on_progress(self.n_done, len(self.arrivals))

    # failures

    def _schedule_failure(self) -> None:
        if self.failing is not None and self.failing.next_at_s is not None:
            self.agenda.push(self.failing.next_at_s, EventKind.FAILURE)

    def _fail_nodes(self, now_s: float) -> None:
        """Nodes fail, return, or change their pace; jobs on a lost one wait again, from their last checkpoints."""
        assert self.failing is not None
        changes = self.failing.apply_due(now_s)
        self.n_failures += len(changes.lost)
        for job_id, job in list(self.training.jobs.items()):
            nodes = {share.node for share in job.allocation.shares} if job.allocation is not None else set()
            if nodes & changes.lost:
                self.lost_gpu_s += self.training.evict(job_id, now_s, self.failing)
            elif nodes & changes.changed and job.phase is Phase.RUNNING:
                self.training.new_speeds(now_s, only=job_id)
        if changes.lost:
            self.training.new_speeds(now_s)
        self._schedule_failure()

    # rounds

    def _rounds(self, now_s: float) -> None:
        for _ in range(MOST_ROUNDS_AT_ONCE):
            plan = self._decide(now_s)
            if not self._apply(plan, now_s):
                break
        else:
            raise RuntimeError(f"policy {self.policy.name!r} does not come to rest at {now_s} s")
        if self.period_s is not None and self.training.jobs:
            self.agenda.push(now_s + self.period_s, EventKind.TICK)
        elif plan.wake_at_s is not None and plan.wake_at_s > now_s:
            # void if there is a round before
            self.agenda.push(plan.wake_at_s, EventKind.TICK, version=len(self.decision_s))

    def _decide(self, now_s: float) -> Plan:
        tenants = tuple(self.environment.tenants)
        snapshot = ClusterSnapshot.of(
            self.training.seen(now_s),
            now_s=now_s,
            nodes=tuple(self.environment.nodes),
            racks=tuple(self.environment.racks),
            tenants=self.meter.tenants(tenants, now_s) if self.meter else tenants,
            seed=self.seed,
            round_number=len(self.decision_s),
            pairs=tuple(self.environment.pairs),
            input_sets=tuple(self.environment.input_sets),
        )
        began_s = self.stopwatch()
        plan = decide(
            snapshot, policy=self.policy, memory=self.memory, explain=self.on_round is not None, cache=self.cache
        )
        self.decision_s.append(self.stopwatch() - began_s)
        self.memory = plan.memory
        if self.on_round is not None:
            self.on_round(snapshot, plan)
        return plan

    def _apply(self, plan: Plan, now_s: float) -> bool:
        """Carry the plan out; True if GPUs became free at once, so that another round is due."""
        freed = False
        changed = False
        for decision in [one for one in plan.decisions if type(one) is not Wait and type(one) is not Keep]:
            changed = True
            if isinstance(decision, Launch):
                self.training.launch(decision, now_s)
            elif isinstance(decision, Resize | Preempt):
                freed |= self.training.stop(decision, now_s)
        if changed:
            self.n_idle = 0
            self.training.new_speeds(now_s)
        else:
            jobs = self.training.jobs
            is_idle = all(j.phase is Phase.WAITING for j in jobs.values()) and not self.meter.may_renew
            self.n_idle = self.n_idle + 1 if is_idle else 0
            if self.n_idle > MOST_IDLE_ROUNDS:
                raise RuntimeError(_never_run(jobs))
        return freed


def _never_run(jobs: Collection[str]) -> str:
    return in_singular(f"{len(jobs)} jobs never run, among them {next(iter(jobs))!r}")
