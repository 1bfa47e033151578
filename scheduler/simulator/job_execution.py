# SPDX-License-Identifier: Apache-2.0
"""The jobs that are there in a simulation: launched, trained segment by segment, stopped, thrown out, as the
environment has it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort

from scheduler.api.plan import Launch, Preempt, Resize
from scheduler.api.snapshot import JobSnapshot, Phase
from scheduler.simulator.environments.environment import Arrival, Environment, Segment, SimulatedGang
from scheduler.simulator.environments.failing import FailingEnvironment
from scheduler.simulator.event_queue import EventKind, EventQueue
from scheduler.simulator.outcome import JobHistory

_LATE_S = 1e-6


class JobExecution:
    """Executes jobs. jobs: those that are there, by id, as they were launched or stopped last; the steps of those that
    train are counted in their histories, which are of all jobs that ever were.
    """

    def __init__(self, environment: Environment, agenda: EventQueue) -> None:
        self._environment, self._agenda = environment, agenda
        self.jobs: dict[str, JobSnapshot] = {}
        self.histories: dict[str, JobHistory] = {}
        self._numbers: dict[str, int] = {}  # in the order of submission
        self._running: list[tuple[int, str]] = []  # those that train, in that order
        self._shown: dict[str, JobSnapshot] = {}  # all that are there, as last seen
        self._seen_at_s = -math.inf
        self._seen_as: dict[str, tuple[JobSnapshot, int]] = {}  # those on GPUs: what they were then, and their version
        self._newly_waiting: set[str] = set()
        self._on_gpus: set[str] = set()

    def submit(self, arrival: Arrival) -> None:
        """Adds the job as waiting."""
        self.jobs[arrival.job.id] = arrival.job
        self._numbers[arrival.job.id] = len(self.histories)
        self._shown[arrival.job.id] = arrival.job
        self._newly_waiting.add(arrival.job.id)
        self.histories[arrival.job.id] = JobHistory(arrival.job, arrival.at_s, steps_done=arrival.job.steps_done)

    def is_void(self, job_id: str, version: int) -> bool:
        """Returns whether an event of that version is outdated by something that happened to the job since."""
        return self.histories[job_id].version != version or job_id not in self.jobs

    @property
    def n_running(self) -> int:
        """Returns the number of jobs that hold GPUs."""
        return len(self._running)

    def seen(self, now_s: float) -> dict[str, JobSnapshot]:
        """Returns all jobs by id, as the scheduler sees them at this moment; a dictionary of the caller's own.

        A waiting job is the same object as before if nothing is learnt of it; one on GPUs, if nothing happened to it
        and no time has passed: about a third of the rounds follow others at the same instant.
        """
        shown, jobs, seen_as, histories = self._shown, self.jobs, self._seen_as, self.histories
        if now_s != self._seen_at_s or self._environment.is_learning:
            seen_as.clear()
        self._seen_at_s = now_s
        for job_id in jobs if self._environment.is_learning else self._newly_waiting:
            if job_id in jobs and jobs[job_id].phase is Phase.WAITING:
                shown[job_id] = self._environment.snapshot_of(jobs[job_id])
        self._newly_waiting.clear()
        for job_id in self._on_gpus:
            job, version, before = jobs[job_id], histories[job_id].version, seen_as.get(job_id)
            if before is None or before[0] is not job or before[1] != version:
                seen_as[job_id] = job, version
                shown[job_id] = self._seen(job_id, job, now_s)
        return shown.copy()

    def launch(self, decision: Launch, now_s: float) -> None:
        """Gives the job its allocation, and schedules its first step.

        The caller asks for new_speeds() when all of a round's jobs are launched: where every event changes the speeds
        of all, they are not worked out for each of them before.
        """
        job, history = self.jobs[decision.job], self.histories[decision.job]
        delay_s = self._environment.start_s(job, decision.allocation, restarts=history.n_restarts)
        history.n_restarts += history.started_at_s is not None
        history.started_at_s = now_s if history.started_at_s is None else history.started_at_s
        history.version += 1
        self._on_gpus.add(job.id)
        self.jobs[job.id] = job.moved_on(phase=Phase.STARTING, allocation=decision.allocation, allocated_at_s=now_s)
        if delay_s > 0:
            self._agenda.push(now_s + delay_s, EventKind.TRAINS, job.id, history.version)
        elif self._environment.is_coupled and self._environment.is_disturbed:
            self._begin_training(job.id, now_s)
        else:
            self.train(job.id, now_s)

    def train(self, job_id: str, now_s: float) -> None:
        """Starts the training of a launched job."""
        self._begin_training(job_id, now_s)
        self.new_speeds(now_s, only=job_id)

    def _begin_training(self, job_id: str, now_s: float) -> None:
        self.jobs[job_id] = self.jobs[job_id].moved_on(phase=Phase.RUNNING, training_since_s=now_s)
        insort(self._running, (self._numbers[job_id], job_id))

    def stop(self, decision: Resize | Preempt, now_s: float) -> bool:
        """Stops the job, and returns True if it has left at once."""
        history = self.histories[decision.job]
        self._interrupt(decision.job, now_s)
        job = self.jobs[decision.job]
        assert job.allocation is not None
        history.version += 1
        self._rests(job.id)
        is_resize = isinstance(decision, Resize)
        self.jobs[job.id] = job.moved_on(
            phase=Phase.STOPPING,
            last_resized_at_s=now_s if is_resize else job.last_resized_at_s,
            n_preemptions=job.n_preemptions + (not is_resize),
        )
        delay_s = self._environment.stop_s(job, job.allocation)
        if delay_s > 0:
            self._agenda.push(now_s + delay_s, EventKind.LEFT, job.id, history.version)
            return False
        self.leave(job.id, now_s)
        return True

    def leave(self, job_id: str, now_s: float) -> None:
        """Frees what the job held."""
        job = self.jobs[job_id]
        self._rests(job_id)
        self._on_gpus.discard(job_id)
        self._newly_waiting.add(job_id)
        self._close_span(job, now_s)
        assert job.allocation is not None
        self.jobs[job_id] = job.moved_on(
            phase=Phase.WAITING,
            allocation=None,
            allocated_at_s=None,
            training_since_s=None,
            steps_done=self.histories[job_id].steps_done,
            executed_gpu_s=job.executed_gpu_s + (now_s - (job.allocated_at_s or 0.0)) * job.allocation.n_workers,
        )

    def evict(self, job_id: str, now_s: float, failing: FailingEnvironment) -> float:
        """Ends the job's stay without a checkpoint, and returns the GPU-seconds that are lost.

        Unsaved work is lost, and a start; a job that was leaving had saved already.
        """
        self._interrupt(job_id, now_s)
        job = self.jobs[job_id]
        assert job.allocation is not None
        steps, seconds = (0.0, 0.0) if job.phase is Phase.STOPPING else failing.lose(job_id)
        if job.phase is Phase.STARTING:
            seconds = now_s - (0.0 if job.allocated_at_s is None else job.allocated_at_s)
        history = self.histories[job_id]
        history.version += 1
        history.steps_done = max(0.0, history.steps_done - steps)
        self.leave(job_id, now_s)
        return seconds * job.allocation.n_workers

    def finish_segment(self, job_id: str) -> bool:
        """Books the segment, and returns whether it was the job's last one, so that the job is gone."""
        history = self.histories[job_id]
        segment = history.segment
        assert segment is not None
        now_s = history.segment_at_s + segment.seconds
        self._environment.advance(job_id, segment, elapsed_s=segment.seconds)
        history.steps_done, history.segment = segment.steps, None
        if segment.is_last:
            self._end(job_id, now_s)
            return True
        self.new_speeds(now_s, only=job_id)
        return False

    def new_speeds(self, now_s: float, *, only: str | None = None) -> None:
        """Begins the next segment of a job; where jobs slow each other down, of all whose speed changed."""
        if self._environment.is_coupled:
            only = None
        elif only is None:
            return
        jobs, histories, environment = self.jobs, self.histories, self._environment
        ids = [only] if only is not None else [job_id for _, job_id in self._running]
        training = {
            job_id: SimulatedGang(job, job.allocation)
            for job_id, job in [(job_id, jobs[job_id]) for job_id in ids]
            if job.phase is Phase.RUNNING and job.allocation is not None
        }
        for job_id, gang in training.items():
            history = histories[job_id]
            segment, elapsed_s = history.segment, now_s - history.segment_at_s
            if segment is not None and environment.goes_on(segment, gang, training, elapsed_s=elapsed_s):
                continue
            self._interrupt(job_id, now_s)
            segment = environment.segment(gang, training)
            history.segment, history.segment_at_s = segment, now_s
            self._learn(job_id, gang, segment, now_s)
            history.version += 1
            self._agenda.push(
                now_s + segment.seconds + segment.is_late * _LATE_S, EventKind.SEGMENT, job_id, history.version
            )

    def _seen(self, job_id: str, job: JobSnapshot, now_s: float) -> JobSnapshot:
        """The job with what it has done of the present segment."""
        assert job.allocation is not None
        history = self.histories[job_id]
        held_gpu_s = (now_s - (job.allocated_at_s or 0.0)) * job.allocation.n_workers
        steps = history.steps_done
        if history.segment is not None:
            steps += (now_s - history.segment_at_s) * history.segment.steps_per_s
        steps, executed_gpu_s = self._environment.steps_seen(job_id, steps), job.executed_gpu_s + held_gpu_s
        return self._environment.snapshot_of(job.progressed(steps_done=steps, executed_gpu_s=executed_gpu_s))

    def _end(self, job_id: str, now_s: float) -> None:
        history = self.histories[job_id]
        job = self.jobs.pop(job_id)
        self._rests(job_id)
        self._on_gpus.discard(job_id)
        del self._shown[job_id]
        history.ended_at_s = now_s
        history.segment = None
        self._close_span(job, now_s)
        history.job = job.moved_on(steps_done=float(job.steps_total))
        self.new_speeds(now_s)

    def _interrupt(self, job_id: str, now_s: float) -> None:
        """Counts what was done of the present segment."""
        history = self.histories[job_id]
        if history.segment is None:
            return
        elapsed_s = now_s - history.segment_at_s
        if history.segment.is_late:  # it has not quite ended at its end
            elapsed_s = min(elapsed_s, math.nextafter(history.segment.seconds, -math.inf))
        self._environment.advance(job_id, history.segment, elapsed_s=elapsed_s)
        history.steps_done += elapsed_s * history.segment.steps_per_s
        history.segment = None

    def _rests(self, job_id: str) -> None:
        """Ends its training, if it trains."""
        entry = (self._numbers[job_id], job_id)
        place = bisect_left(self._running, entry)
        if self._running[place : place + 1] == [entry]:
            del self._running[place]

    def _learn(self, job_id: str, gang: SimulatedGang, segment: Segment, now_s: float) -> None:
        seen = self._environment.observe(gang, segment, now_s=now_s)
        if seen is not None:
            job = self.jobs[job_id]
            self.jobs[job_id] = job.moved_on(observations=(*job.observations, seen))

    def _close_span(self, job: JobSnapshot, now_s: float) -> None:
        if job.allocation is not None and job.allocated_at_s is not None:
            self.histories[job.id].spans.append((job.allocated_at_s, now_s, job.allocation))
