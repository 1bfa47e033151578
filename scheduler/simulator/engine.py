"""The simulator's engine: an event heap around decide(). What happens at one instant is one round."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import IntEnum

from scheduler.decisions import Keep, Launch, Plan, Preempt, Resize, Wait
from scheduler.policies import Policy
from scheduler.round import decide
from scheduler.simulator.failing import FailingWorld
from scheduler.simulator.world import Arrival, Gang, Leg, World
from scheduler.snapshot import Allocation, ClusterSnapshot, JobSnapshot, Phase, PolicyMemory

MOST_ROUNDS_AT_ONCE = 100  # a policy that is not quiet after so many rounds at one instant never will be
_LATE_S = 1e-6
MOST_IDLE_ROUNDS = 10_000  # periodic rounds in which nothing at all happens: the jobs left can never run


class _Kind(IntEnum):
    """In the order in which simultaneous events happen."""

    LEG = 0
    LEFT = 1
    TRAINS = 2
    SUBMITTED = 3
    MISHAP = 4
    TICK = 5


@dataclass
class Life:
    """A job's way through the simulation. start and end in seconds; spans: (from, to, allocation) that it held."""

    job: JobSnapshot
    submitted_at_s: float
    started_at_s: float | None = None
    ended_at_s: float | None = None
    n_restarts: int = 0
    spans: list[tuple[float, float, Allocation]] = field(default_factory=list)
    leg: Leg | None = None
    leg_at_s: float = 0.0
    version: int = 0

    @property
    def jct_s(self) -> float | None:
        return None if self.ended_at_s is None else self.ended_at_s - self.submitted_at_s


@dataclass(frozen=True)
class Outcome:
    """What a simulation gave. lives by job id, in the order of submission; decision_s: seconds of every round.

    n_failures: nodes that were lost; lost_gpu_s: GPU-seconds that jobs on them held since their last checkpoints.
    """

    lives: dict[str, Life]
    n_rounds: int
    decision_s: tuple[float, ...]
    ended_at_s: float
    n_failures: int = 0
    lost_gpu_s: float = 0.0


def simulate(
    world: World,
    *,
    policy: Policy,
    period_s: float | None = None,
    seed: int = 0,
    stopwatch: Callable[[], float] | None = None,
    on_round: Callable[[ClusterSnapshot, Plan], None] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Outcome:
    """Play the world's arrivals to the end under the policy.

    period_s: None decides at every event; otherwise at whole multiples of the period only, and things that happen in
    between are seen at the next one. stopwatch: measures rounds; without one their times are 0. on_progress: called
    with the numbers of completed and submitted jobs. Raises RuntimeError if the policy never comes to rest at one
    instant, or jobs are left that never run.
    """
    return _Engine(world, policy, period_s, seed, stopwatch, on_round, on_progress).play()


class _Engine:
    def __init__(
        self,
        world: World,
        policy: Policy,
        period_s: float | None,
        seed: int,
        stopwatch: Callable[[], float] | None,
        on_round: Callable[[ClusterSnapshot, Plan], None] | None,
        on_progress: Callable[[int, int], None] | None,
    ) -> None:
        self.world, self.policy, self.period_s, self.seed = world, policy, period_s, seed
        self.stopwatch, self.on_round, self.on_progress = stopwatch or (lambda: 0.0), on_round, on_progress
        self.arrivals: list[Arrival] = sorted(world.arrivals, key=lambda arrival: arrival.at_s)
        self.lives: dict[str, Life] = {}
        self.active: dict[str, JobSnapshot] = {}
        self.heap: list[tuple[float, int, int, str, int]] = []
        self.n_pushed = 0
        self.memory = PolicyMemory()
        self.decision_s: list[float] = []
        self.n_done = 0
        self.n_idle = 0
        self.failing = world if isinstance(world, FailingWorld) else None
        self.n_failures, self.lost_gpu_s = 0, 0.0

    def play(self) -> Outcome:
        for i, arrival in enumerate(self.arrivals):
            self._push(arrival.at_s, _Kind.SUBMITTED, arrival.job.id, i)
        now_s = 0.0
        self._await_mishap()
        while self.heap and (self.failing is None or self.n_done < len(self.arrivals)):
            now_s = self.heap[0][0]
            is_due = False
            while self.heap and self.heap[0][0] == now_s:
                _, kind, _, job_id, version = heapq.heappop(self.heap)
                is_due |= self._happens(_Kind(kind), job_id, version, now_s)
            if is_due:
                if self.world.is_disturbed:
                    self._new_speeds(now_s)
                self._rounds(now_s)
            if not self.heap and self.active:
                raise RuntimeError(f"{len(self.active)} jobs never run, among them {next(iter(self.active))!r}")
        return Outcome(
            self.lives, len(self.decision_s), tuple(self.decision_s), now_s, self.n_failures, self.lost_gpu_s
        )

    # events

    def _happens(self, kind: _Kind, job_id: str, version: int, now_s: float) -> bool:
        """Carry the event out; True if a round is due."""
        if kind is _Kind.TICK:
            return self.period_s is not None or version == len(self.decision_s)
        if kind is _Kind.MISHAP:
            self._strike(now_s)
        elif kind is _Kind.SUBMITTED:
            arrival = self.arrivals[version]
            self.active[job_id] = arrival.job
            self.lives[job_id] = Life(arrival.job, arrival.at_s)
        else:
            life = self.lives[job_id]
            if life.version != version or job_id not in self.active:
                return False
            if kind is _Kind.LEG:
                if not self._finish_leg(job_id):
                    return False
            elif kind is _Kind.LEFT:
                self._leave(job_id, now_s)
            elif kind is _Kind.TRAINS:
                self._train(job_id, now_s)
                return False
        if self.period_s is None:
            return True
        self._tick(now_s)
        return False

    def _tick(self, now_s: float) -> None:
        """The next whole multiple of the period (now, if it is one)."""
        assert self.period_s is not None
        multiple = -(-now_s // self.period_s)
        self._push(multiple * self.period_s, _Kind.TICK, "", 0)

    def _end(self, job_id: str, now_s: float) -> None:
        life = self.lives[job_id]
        job = self.active.pop(job_id)
        life.ended_at_s = now_s
        life.leg = None
        self._close_span(job, now_s)
        life.job = replace(job, steps_done=float(job.steps_total))
        self.n_done += 1
        if self.on_progress is not None:
            self.on_progress(self.n_done, len(self.arrivals))
        self._new_speeds(now_s)

    def _leave(self, job_id: str, now_s: float) -> None:
        job = self.active[job_id]
        self._close_span(job, now_s)
        assert job.allocation is not None
        self.active[job_id] = replace(
            job,
            phase=Phase.WAITING,
            allocation=None,
            allocated_at_s=None,
            training_since_s=None,
            executed_gpu_s=job.executed_gpu_s + (now_s - (job.allocated_at_s or 0.0)) * job.allocation.n_workers,
        )

    def _train(self, job_id: str, now_s: float) -> None:
        self.active[job_id] = replace(self.active[job_id], phase=Phase.RUNNING, training_since_s=now_s)
        self._new_speeds(now_s, only=job_id)

    # mishaps

    def _await_mishap(self) -> None:
        if self.failing is not None and self.failing.next_at_s is not None:
            self._push(self.failing.next_at_s, _Kind.MISHAP, "", 0)

    def _strike(self, now_s: float) -> None:
        """Nodes go, come back, or change their pace; who lies on a lost one waits again, from its last checkpoint."""
        assert self.failing is not None
        struck = self.failing.strike(now_s)
        self.n_failures += len(struck.lost)
        for job_id, job in list(self.active.items()):
            nodes = {share.node for share in job.allocation.shares} if job.allocation is not None else set()
            if nodes & struck.lost:
                self._evict(job_id, self.failing, now_s)
            elif nodes & struck.changed and job.phase is Phase.RUNNING:
                self._new_speeds(now_s, only=job_id)
        if struck.lost:
            self._new_speeds(now_s)
        self._await_mishap()

    def _evict(self, job_id: str, failing: FailingWorld, now_s: float) -> None:
        """In no order: what was not saved is lost, and so is a start. Who was leaving had saved already."""
        self._interrupt(job_id, now_s)
        job, life = self.active[job_id], self.lives[job_id]
        assert job.allocation is not None
        steps, seconds = (0.0, 0.0) if job.phase is Phase.STOPPING else failing.lose(job_id)
        if job.phase is Phase.STARTING:
            seconds = now_s - (0.0 if job.allocated_at_s is None else job.allocated_at_s)
        self.lost_gpu_s += seconds * job.allocation.n_workers
        life.version += 1
        self.active[job_id] = replace(job, steps_done=max(0.0, job.steps_done - steps))
        self._leave(job_id, now_s)

    # rounds

    def _rounds(self, now_s: float) -> None:
        for _ in range(MOST_ROUNDS_AT_ONCE):
            plan = self._decide(now_s)
            if not self._apply(plan, now_s):
                break
        else:
            raise RuntimeError(f"policy {self.policy.name!r} does not come to rest at {now_s} s")
        if self.period_s is not None and self.active:
            self._push(now_s + self.period_s, _Kind.TICK, "", 0)
        elif plan.wake_at_s is not None and plan.wake_at_s > now_s:
            self._push(plan.wake_at_s, _Kind.TICK, "", len(self.decision_s))  # void if there is a round before

    def _decide(self, now_s: float) -> Plan:
        shown, waits = self.world.snapshot_of, Phase.WAITING
        seen = tuple(shown(j) if j.phase is waits else self._seen(i, j, now_s) for i, j in self.active.items())
        snapshot = ClusterSnapshot(
            now_s=now_s,
            nodes=tuple(self.world.nodes),
            racks=tuple(self.world.racks),
            jobs=seen,
            tenants=tuple(self.world.tenants),
            seed=self.seed,
            round_number=len(self.decision_s),
            pairs=tuple(self.world.pairs),
        )
        began_s = self.stopwatch()
        plan = decide(snapshot, policy=self.policy, memory=self.memory, explain=self.on_round is not None)
        self.decision_s.append(self.stopwatch() - began_s)
        self.memory = plan.memory
        if self.on_round is not None:
            self.on_round(snapshot, plan)
        return plan

    def _apply(self, plan: Plan, now_s: float) -> bool:
        """Carry the plan out; True if GPUs became free at once, so that another round is due."""
        freed = False
        changed = False
        for decision in plan.decisions:
            if isinstance(decision, Wait | Keep):
                continue
            changed = True
            if isinstance(decision, Launch):
                self._launch(decision, now_s)
            else:
                freed |= self._stop(decision, now_s)
        if changed:
            self.n_idle = 0
            self._new_speeds(now_s)
        else:
            self.n_idle = self.n_idle + 1 if all(j.phase is Phase.WAITING for j in self.active.values()) else 0
            if self.n_idle > MOST_IDLE_ROUNDS:
                raise RuntimeError(f"{len(self.active)} jobs never run, among them {next(iter(self.active))!r}")
        return freed

    def _launch(self, decision: Launch, now_s: float) -> None:
        job, life = self.active[decision.job], self.lives[decision.job]
        delay_s = self.world.start_s(job, decision.allocation, restarts=life.n_restarts)
        life.n_restarts += life.started_at_s is not None
        life.started_at_s = now_s if life.started_at_s is None else life.started_at_s
        life.version += 1
        self.active[job.id] = replace(job, phase=Phase.STARTING, allocation=decision.allocation, allocated_at_s=now_s)
        if delay_s > 0:
            self._push(now_s + delay_s, _Kind.TRAINS, job.id, life.version)
        else:
            self._train(job.id, now_s)

    def _stop(self, decision: Resize | Preempt, now_s: float) -> bool:
        job, life = self.active[decision.job], self.lives[decision.job]
        self._interrupt(job.id, now_s)
        job = self.active[job.id]
        assert job.allocation is not None
        life.version += 1
        is_resize = isinstance(decision, Resize)
        self.active[job.id] = replace(
            job,
            phase=Phase.STOPPING,
            last_resized_at_s=now_s if is_resize else job.last_resized_at_s,
            n_preemptions=job.n_preemptions + (not is_resize),
        )
        delay_s = self.world.stop_s(job, job.allocation)
        if delay_s > 0:
            self._push(now_s + delay_s, _Kind.LEFT, job.id, life.version)
            return False
        self._leave(job.id, now_s)
        return True

    # progress and speed

    def _seen(self, job_id: str, job: JobSnapshot, now_s: float) -> JobSnapshot:
        """The job as the scheduler sees it at this moment."""
        if job.phase is Phase.WAITING or job.allocation is None:
            return self.world.snapshot_of(job)
        life = self.lives[job_id]
        held_gpu_s = (now_s - (job.allocated_at_s or 0.0)) * job.allocation.n_workers
        steps = job.steps_done
        if life.leg is not None:
            steps += (now_s - life.leg_at_s) * life.leg.steps_per_s
        executed_gpu_s = job.executed_gpu_s + held_gpu_s
        return self.world.snapshot_of(job.progressed(steps_done=steps, executed_gpu_s=executed_gpu_s))

    def _finish_leg(self, job_id: str) -> bool:
        """True if that was the job's last."""
        life = self.lives[job_id]
        leg = life.leg
        assert leg is not None
        now_s = life.leg_at_s + leg.seconds
        self.world.advance(job_id, leg, elapsed_s=leg.seconds)
        self.active[job_id] = replace(self.active[job_id], steps_done=leg.steps)
        life.leg = None
        if leg.is_last:
            self._end(job_id, now_s)
            return True
        self._new_speeds(now_s, only=job_id)
        return False

    def _interrupt(self, job_id: str, now_s: float) -> None:
        """Book what was done of the present leg."""
        life = self.lives[job_id]
        if life.leg is None:
            return
        elapsed_s = now_s - life.leg_at_s
        if life.leg.is_late:  # it has not quite ended at its end
            elapsed_s = min(elapsed_s, math.nextafter(life.leg.seconds, -math.inf))
        self.world.advance(job_id, life.leg, elapsed_s=elapsed_s)
        job = self.active[job_id]
        self.active[job_id] = replace(job, steps_done=job.steps_done + elapsed_s * life.leg.steps_per_s)
        life.leg = None

    def _new_speeds(self, now_s: float, *, only: str | None = None) -> None:
        """Begin the next leg of a job; where jobs slow each other down, of all whose speed changed."""
        if self.world.is_coupled:
            only = None
        elif only is None:
            return
        training = {
            job_id: Gang(job, job.allocation)
            for job_id, job in (self.active.items() if only is None else ((only, self.active[only]),))
            if job.phase is Phase.RUNNING and job.allocation is not None
        }
        for job_id, gang in training.items():
            life = self.lives[job_id]
            self._interrupt(job_id, now_s)
            leg = self.world.leg(gang, training)
            life.leg, life.leg_at_s = leg, now_s
            self._learn(job_id, gang, leg, now_s)
            life.version += 1
            self._push(now_s + leg.seconds + leg.is_late * _LATE_S, _Kind.LEG, job_id, life.version)

    def _learn(self, job_id: str, gang: Gang, leg: Leg, now_s: float) -> None:
        seen = self.world.observe(gang, leg, now_s=now_s)
        if seen is not None:
            job = self.active[job_id]
            self.active[job_id] = replace(job, observations=(*job.observations, seen))

    def _close_span(self, job: JobSnapshot, now_s: float) -> None:
        if job.allocation is not None and job.allocated_at_s is not None:
            self.lives[job.id].spans.append((job.allocated_at_s, now_s, job.allocation))

    def _push(self, at_s: float, kind: _Kind, job_id: str, version: int) -> None:
        self.n_pushed += 1
        heapq.heappush(self.heap, (at_s, int(kind), self.n_pushed, job_id, version))
