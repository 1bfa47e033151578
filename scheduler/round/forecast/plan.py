# SPDX-License-Identifier: Apache-2.0
"""When the jobs of a round start and end if the plan is carried out: from their speeds, quota and the queue's order."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from scheduler.api.host_resources import held_resources
from scheduler.api.plan import NO_PREDICTION, Decision, Keep, Launch, Prediction, Preempt, Reason, Resize, Wait
from scheduler.api.proposal import Proposal
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Phase
from scheduler.models.forecast.arrivals import ArrivalEffects
from scheduler.models.forecast.books import LeavingGang
from scheduler.models.forecast.forward_simulation import ForwardSimulation, Interruption, JobProgress
from scheduler.models.progress import p90_s, remaining_s, steps_left
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.quota.ledger import Ledger
from scheduler.round.forecast.quota_changes import books_later
from scheduler.round.state import RoundState

QUEUE_ERROR = 0.6  # relative error of a time that depends on the ends of others


class TimeSpan(NamedTuple):
    """Holds seconds from now, P50 and P90."""

    p50_s: float
    p90_s: float


class RoundForecast:
    """Makes the predictions for one round's decisions; times are on the snapshot's clock."""

    def __init__(self, state: RoundState, proposal: Proposal, speeds: JobSpeeds) -> None:
        self.interruptions: dict[str, Interruption] = {}  # of running jobs, as found by predictions()
        self._state, self._proposal, self._speeds = state, proposal, speeds
        self._now_s = state.snapshot.now_s
        self._there = {node.gpu_type for node in state.snapshot.nodes}
        self._limited: dict[str, str] = {}
        self._types = {**proposal.gpu_types, **{grant.job: grant.gpu_type for grant in proposal.grants}}

    def predictions(self, decisions: Mapping[str, Decision]) -> dict[str, Prediction]:
        """Returns the prediction of every job by its id, without jobs that arrive later."""
        found = {}
        for job in self._state.snapshot.jobs:
            prediction = self._of_holder(job, decisions[job.id])
            if prediction is not None:
                found[job.id] = prediction
        progress = self._progress(decisions, found)
        for job_id, one in progress.items():
            if one.interruption is not None and job_id in found:
                self.interruptions[job_id] = one.interruption
                found[job_id] = self._interrupted(found[job_id], one)
            elif job_id not in found:
                found[job_id] = self._queued(one)
        return {job.id: found.get(job.id, NO_PREDICTION) for job in self._state.snapshot.jobs}

    def with_arrivals(
        self,
        starts: Mapping[str, TimeSpan],
        ends: Mapping[str, TimeSpan],
        arrivals: ArrivalEffects,
        *,
        known: Collection[str],
    ) -> tuple[dict[str, TimeSpan], dict[str, TimeSpan]]:
        """Returns the starts and ends with the P90 as later arrivals may delay it.

        The P50 stays: by how much arrivals delay it is learnt from outcomes, more exactly than it could be derived.
        known: jobs of earlier rounds; all others are recorded as arrivals at their places in the policy's order.
        """
        depths = self._depths()
        total = max(sum(own for _, own in depths.values()), 1e-9)
        new = [depths[job_id] for job_id in ends if job_id not in known]
        arrivals.record(((_share(before, total - own), own) for before, own in new), now_s=self._now_s)
        before = {job_id: _share(depths[job_id][0], total) for job_id in starts}
        middle = {job_id: _share(depths[job_id][0] + depths[job_id][1] / 2, total) for job_id in ends}
        return self._delayed(starts, before, arrivals), self._delayed(ends, middle, arrivals)

    def _delayed(
        self, spans: Mapping[str, TimeSpan], depths: Mapping[str, float], arrivals: ArrivalEffects
    ) -> dict[str, TimeSpan]:
        if not spans:
            return {}
        half_J, most_J = np.array(list(spans.values())).T
        depth_J = np.array([depths[job_id] for job_id in spans])
        _, late_J = arrivals.delayed(half_J, most_J, depth_J, n_gpus=self._n_gpus, now_s=self._now_s)
        return {
            job_id: TimeSpan(span.p50_s, late_s)
            for (job_id, span), late_s in zip(spans.items(), late_J.tolist(), strict=True)
        }

    def _depths(self) -> dict[str, tuple[float, float]]:
        """By job: GPU-seconds of those before it, and its own; who is not the policy's to order comes first."""
        jobs = self._state.snapshot.by_id
        order = dict.fromkeys(job_id for job_id in self._proposal.order if job_id in jobs)
        found, before = {}, 0.0
        for job_id in (*(job_id for job_id in jobs if job_id not in order), *order):
            job = jobs[job_id]
            n_workers = job.allocation.n_workers if job.allocation is not None else job.fixed_workers
            own = steps_left(job) * self._speeds.step_s(job, n_workers, gpu_type=self._gpu_type(job)) * n_workers
            found[job_id] = (before, own)
            before += own
        return found

    @property
    def _n_gpus(self) -> int:
        return sum(node.n_gpus for node in self._state.snapshot.nodes if node.is_schedulable)

    def _of_holder(self, job: JobSnapshot, decision: Decision) -> Prediction | None:
        """The prediction of a job that holds GPUs, or that some are promised to; None for all others."""
        promised = self._state.pending_resizes.get(job.id) or self._state.resuming.get(job.id)
        startup = self._state.startup
        if isinstance(decision, Launch):
            delay_s = startup.start_s(job, decision.allocation)
            return self._on(job, decision.allocation, delay_s=delay_s, starts_now=True)
        if isinstance(decision, Resize):
            return self._on(job, decision.allocation, delay_s=startup.restart_s(job, decision.allocation))
        if promised is not None and isinstance(decision, Keep | Wait):
            return self._on(job, promised, delay_s=startup.restart_s(job, promised))
        if isinstance(decision, Keep) and job.phase is not Phase.STOPPING and (held := job.held) is not None:
            elapsed_s = self._now_s - (job.allocated_at_s or self._now_s)
            return self._on(job, held, delay_s=startup.left_s(job, elapsed_s=elapsed_s))
        return None

    def _on(
        self, job: JobSnapshot, allocation: GangAllocation, *, delay_s: float, starts_now: bool = False
    ) -> Prediction:
        step_s = self._speeds.step_s_on(job, allocation)
        left_s, now_s = remaining_s(job, step_s=step_s), self._now_s
        error_s = math.hypot(delay_s * job.start_error, left_s * self._speeds.error_on(job, allocation))
        start_s = now_s if starts_now else None
        late_s = p90_s(delay_s + left_s, error=error_s / max(delay_s + left_s, 1e-9))
        return Prediction(start_s, start_s, now_s + delay_s + left_s, now_s + late_s, step_s)

    def _queued(self, progress: JobProgress) -> Prediction:
        """Of a job that waits, as the simulation has it."""
        start_s, finish_s = progress.start_s, progress.finish_s
        starts_s = self._now_s + start_s, self._now_s + p90_s(start_s, error=QUEUE_ERROR)
        if math.isinf(finish_s):  # it starts, and has to leave
            return Prediction(*starts_s)
        return Prediction(*starts_s, self._now_s + finish_s, self._now_s + p90_s(finish_s, error=QUEUE_ERROR))

    def _interrupted(self, predicted: Prediction, progress: JobProgress) -> Prediction:
        """Of a job that holds GPUs, and is stopped or made smaller on the way."""
        if math.isinf(progress.finish_s):
            return predicted._replace(finish_p50_s=None, finish_p90_s=None)
        p50_s, late_s = progress.finish_s, p90_s(progress.finish_s, error=QUEUE_ERROR)
        return predicted._replace(finish_p50_s=self._now_s + p50_s, finish_p90_s=self._now_s + late_s)

    def _progress(self, decisions: Mapping[str, Decision], found: Mapping[str, Prediction]) -> dict[str, JobProgress]:
        """What becomes of all jobs, by playing the ends of those that train forward in the policy's order. Empty where
        neither a waiting candidate nor a change of quota makes it worth while.
        """
        held = [j for j, each in decisions.items() if _has_reason(each, Reason.QUOTA_CHANGES_SOON)]  # not proposed
        order = (*self._proposal.order, *held)
        in_line = [j for j in order if isinstance(decisions.get(j), Wait | Preempt) and j not in found]
        changes = books_later(self._state.snapshot)
        if not in_line and not any(change.lowers for change in changes):
            return {}
        in_line.sort(key=lambda j: not _is_awaiting(decisions[j]))  # GPUs are being released for these
        jobs = self._state.snapshot.by_id
        running = self._running(decisions, found)
        leaving = [
            LeavingGang(
                job.tenant,
                job.held.n_workers,
                max(0.0, job.checkpoint_s),
                job.user,
                self._limited_type(job),
                held_resources(job, job.held),
            )
            for job in self._state.snapshot.jobs
            if job.held is not None and job.id not in found
        ]
        n_held = sum(n_workers for _, n_workers, _ in running) + sum(gang.n_gpus for gang in leaving)
        sizes = self._proposal.sizes
        forecast = ForwardSimulation(
            self._speeds,
            sizes=lambda job: sizes.get(job.id) or (job.fixed_workers,),
            gpu_type=self._gpu_type,
            regrow=False,
            strict_order=self._proposal.strict_order,
            quota=self._quota(),
            limited_type=self._limited_type,
            start_s=self._state.startup.start_s,
        )
        queue = [jobs[j] for j in in_line]
        awaiting = {jobs[j].tenant for j in in_line if _is_awaiting(decisions[j])}
        free = max(0, self._n_gpus - n_held)
        return forecast.run(
            running,
            queue,
            free=free,
            leaving=leaving,
            awaiting=awaiting,
            starts_now=False,
            changes=changes,
        )

    def _running(
        self, decisions: Mapping[str, Decision], found: Mapping[str, Prediction]
    ) -> list[tuple[JobSnapshot, int, float]]:
        """By job that holds GPUs from now on, or was promised some: workers, and seconds until it trains."""
        running = []
        for job in self._state.snapshot.jobs:
            finish_s = found[job.id].finish_p50_s if job.id in found else None
            if finish_s is None:
                continue
            decision = decisions[job.id]
            promised = self._state.pending_resizes.get(job.id) or self._state.resuming.get(job.id)
            allocation = decision.allocation if isinstance(decision, Launch | Resize) else promised or job.held
            if allocation is None:
                continue
            left_s = self._speeds.remaining_s(job, allocation.n_workers, gpu_type=self._gpu_type(job))
            running.append((job, allocation.n_workers, finish_s - self._now_s - left_s))
        return running

    def _gpu_type(self, job: JobSnapshot) -> str:
        """The type that the plan has for the job: granted, meant by the policy, or held; "" where it says nothing."""
        found = self._types.get(job.id)
        if found is None:
            held = job.held
            found = "" if held is None else self._speeds.topology.layout_of(held).gpu_type
            self._types[job.id] = found
        return found

    def _limited_type(self, job: JobSnapshot) -> str:
        """The type that limits of single types count for: that of the plan, else the only one that the job may use; ""
        where it may use several.
        """
        found = self._limited.get(job.id)
        if found is None:
            usable = self._there.intersection(job.gpu_types) if job.gpu_types else self._there
            found = self._gpu_type(job) or (min(usable) if len(usable) == 1 else "")
            self._limited[job.id] = found
        return found

    def _quota(self) -> Ledger | None:
        """Empty books; None where no tenant has a limit, nor will have one."""
        ledger = self._state.empty_ledger
        return ledger.copy() if ledger.has_limits or self._state.snapshot.coming else None


def _share(before: float, of_all: float) -> float:
    """1 where there is nothing else: the only job is the last one, too."""
    return min(before / of_all, 1.0) if of_all > 1e-6 else 1.0


def _is_awaiting(decision: Decision) -> bool:
    return _has_reason(decision, Reason.WAITS_FOR_PREEMPTION)


def _has_reason(decision: Decision, reason: Reason) -> bool:
    """Whether it is the first that is named."""
    return any(one.reason is reason for one in decision.explanations[:1])
