# SPDX-License-Identifier: Apache-2.0
"""Plays rounds forward from a snapshot until a job starts: what the policy will do, if all goes as predicted.

Unlike a prediction, which counts GPUs, a rollout places gangs, resizes and preempts as the policy does in every round.
Nothing arrives in it. A job of unknown length ends where the first round that has it expects that (job_length.py): the
policy goes on knowing nothing of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from scheduler.api.memory import RoundMemory
from scheduler.api.plan import Launch, Plan, Preempt, Resize
from scheduler.api.snapshot import ClusterSnapshot, GangAllocation, JobSnapshot, Phase
from scheduler.models.job_length import JobLengthModel, with_likely_lengths
from scheduler.models.progress import steps_left
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.placement.input_fetching import InputFetching
from scheduler.placement.startup import StartupForecast
from scheduler.policies.toolkit.policy import Policy
from scheduler.round.cache import RoundCache
from scheduler.round.decide import decide

MOST_ROUNDS = 300
LEAST_STEP_S = 1e-3  # time goes on by at least so much after a round that changed nothing


@dataclass(frozen=True)
class Rollout:
    """Holds when the job starts; None where it did not until until_s, which is infinite where it never will.

    n_rounds: that were played.
    """

    start_s: float | None
    until_s: float
    n_rounds: int


def roll_out(
    snapshot: ClusterSnapshot,
    job_id: str,
    *,
    policy: Policy,
    memory: RoundMemory,
    cache: RoundCache | None = None,
    until_s: float = math.inf,
    is_over: Callable[[], bool] = lambda: False,
) -> Rollout:
    """Plays rounds until the waiting job is launched, nothing happens any more, or the clock is past until_s.

    is_over: asked before each round; True ends the rollout, because the time to compute is used up.

    1. a round; its plan is carried out; 2. the clock goes to the next event: a gang has started, left or ended, or the
    policy wants to decide again. Raises ValueError as decide() does.
    """
    cache, expected = cache or RoundCache(), dict[str, float]()
    for n_rounds in range(1, MOST_ROUNDS + 1):
        if is_over():
            return Rollout(None, min(snapshot.now_s, until_s), n_rounds - 1)
        plan = decide(snapshot, policy=policy, memory=memory, explain=False, cache=cache)  # 1
        if isinstance(plan.of(job_id), Launch):
            return Rollout(snapshot.now_s, snapshot.now_s, n_rounds)
        speeds = JobSpeeds(snapshot.nodes, snapshot.racks, cache=cache.step_times, jobs=snapshot.jobs)
        after = _carried_out(snapshot, plan)
        memory = plan.memory
        _expect(expected, snapshot, memory, speeds)
        clock = _Clock(speeds, expected, StartupForecast(InputFetching(after), memory.fetching_s))
        next_s = clock.next_event_s(after, plan)  # 2
        if math.isinf(next_s):
            return Rollout(None, math.inf, n_rounds)
        if next_s > until_s:
            return Rollout(None, until_s, n_rounds)
        snapshot = clock.advanced(after, max(next_s, snapshot.now_s + LEAST_STEP_S))
    return Rollout(None, snapshot.now_s, MOST_ROUNDS)


def _carried_out(snapshot: ClusterSnapshot, plan: Plan) -> ClusterSnapshot:
    jobs = []
    for job, decision in zip(snapshot.jobs, plan.decisions, strict=True):
        if isinstance(decision, Launch):
            job = replace(job, phase=Phase.STARTING, allocation=decision.allocation, allocated_at_s=snapshot.now_s)
        elif isinstance(decision, Resize | Preempt):
            # leaving is measured from now: allocated_at_s of a stopping job is when it was asked to leave
            job = replace(job, phase=Phase.STOPPING, allocated_at_s=snapshot.now_s)
            if isinstance(decision, Resize):
                job = replace(job, last_resized_at_s=snapshot.now_s)
            else:
                job = replace(job, n_preemptions=job.n_preemptions + 1)
        jobs.append(job)
    return replace(snapshot, jobs=tuple(jobs))


def _expect(expected: dict[str, float], snapshot: ClusterSnapshot, memory: RoundMemory, speeds: JobSpeeds) -> None:
    """Adds the steps at which jobs of unknown length that are new are expected to end."""
    new = [job.id for job in snapshot.jobs if not job.length_is_known and job.id not in expected]
    if not new:
        return
    likely = with_likely_lengths(snapshot, JobLengthModel(memory.job_lengths), speeds, jobs=snapshot.jobs).by_id
    expected.update({job_id: likely[job_id].steps_done + steps_left(likely[job_id]) for job_id in new})


@dataclass(frozen=True)
class _Clock:
    """Says what happens next, and what the jobs are then. expected: the steps at which jobs of unknown length end.
    startup: of jobs that start, as the newest round predicted it.
    """

    speeds: JobSpeeds
    expected: Mapping[str, float]
    startup: StartupForecast

    def next_event_s(self, snapshot: ClusterSnapshot, plan: Plan) -> float:
        times = [at_s for job in snapshot.jobs if (at_s := self._event_s(job, snapshot.now_s)) is not None]
        if plan.wake_at_s is not None and plan.wake_at_s > snapshot.now_s:
            times.append(plan.wake_at_s)
        times += [job.hold_until_s for job in snapshot.jobs if job.hold is not None and job.hold_until_s is not None]
        return min((at_s for at_s in times if at_s > snapshot.now_s), default=math.inf)

    def advanced(self, snapshot: ClusterSnapshot, now_s: float) -> ClusterSnapshot:
        """The snapshot at a later instant; jobs that have ended are gone."""
        elapsed_s = now_s - snapshot.now_s
        jobs = [moved for job in snapshot.jobs if (moved := self._moved(job, snapshot.now_s, elapsed_s)) is not None]
        return replace(snapshot, now_s=now_s, jobs=tuple(jobs), round_number=snapshot.round_number + 1, withdrawn=())

    def _event_s(self, job: JobSnapshot, now_s: float) -> float | None:
        """When the job has started, left or ended; None for one that waits."""
        held = job.held
        if held is None:
            return None
        since_s = now_s if job.allocated_at_s is None else job.allocated_at_s
        if job.phase is Phase.STOPPING:
            return max(now_s + LEAST_STEP_S, since_s + job.checkpoint_s)
        if job.phase is Phase.STARTING:
            return now_s + max(LEAST_STEP_S, self.startup.left_s(job, elapsed_s=now_s - since_s))
        return now_s + max(LEAST_STEP_S, self._left_s(job, held))

    def _left_s(self, job: JobSnapshot, held: GangAllocation) -> float:
        end = self.expected.get(job.id)
        return (steps_left(job) if end is None else max(0.0, end - job.steps_done)) * self.speeds.step_s_on(job, held)

    def _moved(self, job: JobSnapshot, before_s: float, elapsed_s: float) -> JobSnapshot | None:
        held, now_s = job.held, before_s + elapsed_s
        if held is None:
            return job if job.hold is None or (job.hold_until_s or math.inf) > now_s else replace(job, hold=None)
        is_over = (self._event_s(job, before_s) or math.inf) <= now_s
        served_gpu_s = job.executed_gpu_s + elapsed_s * held.n_workers
        if job.phase is Phase.STOPPING:
            if is_over:
                return replace(job, phase=Phase.WAITING, allocation=None, allocated_at_s=None, training_since_s=None)
            return job
        if job.phase is Phase.STARTING:
            phase = Phase.RUNNING if is_over else Phase.STARTING
            return replace(job, phase=phase, executed_gpu_s=served_gpu_s, training_since_s=now_s if is_over else None)
        if is_over:
            return None
        steps = job.steps_done + elapsed_s / max(self.speeds.step_s_on(job, held), 1e-12)
        return replace(job, steps_done=steps, executed_gpu_s=served_gpu_s)
