# SPDX-License-Identifier: Apache-2.0
"""A job before it is submitted: what the live policy would make of it, and what other sizes would gain or save."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mlhub.control.advice.whatif import LIMIT_S, NOTICEABLE_S, decided, nodes_as_recorded, with_job
from mlhub.control.deciding.deciders import DecisionError
from mlhub.control.deciding.decision_process import DecisionRequest
from mlhub.control.deciding.policy_selection import choose
from mlhub.control.models import SchedulerSettings, SchedulerState
from mlhub.control.rounds.explanations import ExplanationWriter, kind_of, moment
from mlhub.control.rounds.snapshots import take_snapshot, with_hypothetical
from mlhub.core.errors import InvalidInputError
from mlhub.events.models import Event
from mlhub.jobs.models import Job
from mlhub.tenants.models import Organisation, User
from scheduler import ClusterSnapshot, Plan, Policy
from scheduler.api.plan import Decision, Launch
from scheduler.api.snapshot import JobSnapshot
from scheduler.counterfactuals import workers_to_start

KEPT_S = 5.0  # a snapshot serves all previews of so many seconds, unless something happens
NOTICEABLE = 0.02  # an alternative must be better by this part


@dataclass(frozen=True)
class PlannedRun:
    """What would become of the job. gpu_hours: it would hold, from its start to its end; None where unknown."""

    decision: str
    mode: str
    n_workers: int
    n_servers: int
    gpu_type: str
    nodes: list[str]
    start_at: datetime | None
    start_p90_at: datetime | None
    finish_at: datetime | None
    finish_p90_at: datetime | None
    gpu_hours: float | None
    explanations: list[dict[str, Any]]


@dataclass(frozen=True)
class Alternative:
    """The job at a fixed size. goal: earliest or cheapest. deltas: to the plan as submitted; negative = less."""

    goal: str
    run: PlannedRun
    finish_delta_s: float
    gpu_hours_delta: float


@dataclass(frozen=True)
class QuotaEffect:
    """GPUs of the organisation in use now, and with the job; its limit and guarantee; None = it has none.

    For outsiders of it, GPUs that jobs hold which they see.
    """

    used_gpus: int
    used_gpus_with_job: int
    max_gpus: int | None
    guarantee: int | None


@dataclass(frozen=True)
class JobPreview:
    """n_delayed: other jobs of the organisation that would end later."""

    policy: str
    as_of: datetime
    decide_ms: float
    plan: PlannedRun
    quota: QuotaEffect
    n_delayed: int
    alternatives: list[Alternative]


class SnapshotCache:
    """Keeps the newest snapshot of the present state: forms ask at every change, and little happens in between."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: tuple[tuple[object, ...], float, ClusterSnapshot] | None = None

    def present(self, *, now: datetime) -> ClusterSnapshot:
        """Returns a snapshot that is at most KEPT_S old, and after which no round was made and no event written."""
        seen = (
            SchedulerState.objects.filter(pk=1).values_list("round_at", flat=True).first(),
            Event.objects.order_by("-id").values_list("id", flat=True).first(),
        )
        with self._lock:
            if self._kept is None or self._kept[0] != seen or time.monotonic() - self._kept[1] > KEPT_S:
                snapshot = take_snapshot(nodes_as_recorded(), now=now, round_number=0)
                self._kept = (seen, time.monotonic(), snapshot)
            return self._kept[2]


present_snapshot = SnapshotCache().present


def preview(job: Job, *, now: datetime, finish_by: datetime | None = None) -> JobPreview:
    """Decides on the present state without the job, with it, and with it at other sizes: at most five decisions.

    finish_by: when it shall have finished; one more alternative is then the cheapest size that is in time.
    Nothing is stored. Raises InvalidInputError when the policy cannot answer.
    """
    settings, _ = SchedulerSettings.objects.get_or_create(pk=1)
    state, _ = SchedulerState.objects.get_or_create(pk=1)
    chosen = choose(settings, state, now=now)
    job_id = str(job.id)
    try:
        present = present_snapshot(now=now)
        snapshot = with_hypothetical(present, job, now=now)
        policy = chosen.policy()

        def request(of: ClusterSnapshot) -> DecisionRequest:
            return DecisionRequest(of, policy, chosen.memory, LIMIT_S)

        (before, before_s), (plan, took_s) = decided([request(present), request(snapshot)])
        read = _Reader(snapshot, job, job.created_by, policy)
        planned = read.run(plan.of(job_id), snapshot.jobs[-1])
        variants = [with_job(job_id, min_workers=n, max_workers=n)(snapshot) for n in _other_sizes(planned, snapshot)]
        others = decided([request(variant) for variant in variants])
    except (DecisionError, ValueError, TypeError) as error:
        raise InvalidInputError(f"The scheduler has no answer: {error}", code="no_answer") from error
    runs = [read.run(found.of(job_id), variant.jobs[-1]) for variant, (found, _) in zip(variants, others, strict=True)]
    took_s += before_s + sum(each_s for _, each_s in others)
    return JobPreview(
        plan.policy,
        now,
        1000 * took_s,
        planned,
        read.quota(planned),
        read.n_delayed(before, plan),
        alternatives(planned, runs, finish_by=finish_by),
    )


def _other_sizes(planned: PlannedRun, snapshot: ClusterSnapshot) -> list[int]:
    """One worker, half as many, and twice as many, within what the job and the cluster allow."""
    job, n = snapshot.jobs[-1], planned.n_workers
    most = min(job.max_workers, job.batch_size, sum(node.n_gpus for node in snapshot.nodes))
    return sorted({size for size in (1, n // 2, 2 * n) if 1 <= size <= most and size != n})


def alternatives(
    planned: PlannedRun, runs: Sequence[PlannedRun], *, finish_by: datetime | None = None
) -> list[Alternative]:
    """Of these runs, the one that ends first and the one with the fewest GPU-hours, where better than the plan; and of
    those that have ended by `finish_by` in nine cases of ten the one with the fewest GPU-hours, unless it is the plan.
    """
    known = [run for run in runs if run.finish_at is not None and run.gpu_hours is not None]
    if planned.finish_at is None or planned.start_at is None or planned.gpu_hours is None or not known:
        return []
    found = [("earliest", min(known, key=_finish)), ("cheapest", min(known, key=_gpu_hours))]
    made = [_alternative(goal, run, planned) for goal, run in found]
    left_s = (planned.finish_at - planned.start_at).total_seconds()
    better = [
        one
        for one in made
        if (one.goal == "earliest" and -one.finish_delta_s > NOTICEABLE * left_s)
        or (one.goal == "cheapest" and -one.gpu_hours_delta > NOTICEABLE * planned.gpu_hours)
    ]
    in_time = [run for run in (planned, *known) if finish_by is not None and _is_surely_by(run, finish_by)]
    frugal = min(in_time, key=_gpu_hours, default=planned)
    return better if frugal is planned else [*better, _alternative("by_date", frugal, planned)]


def _is_surely_by(run: PlannedRun, finish_by: datetime) -> bool:
    latest = run.finish_p90_at or run.finish_at
    return latest is not None and latest <= finish_by


def _alternative(goal: str, run: PlannedRun, planned: PlannedRun) -> Alternative:
    return Alternative(goal, run, _finish(run) - _finish(planned), _gpu_hours(run) - _gpu_hours(planned))


def _finish(run: PlannedRun) -> float:
    return run.finish_at.timestamp() if run.finish_at is not None else float("inf")


def _gpu_hours(run: PlannedRun) -> float:
    return run.gpu_hours if run.gpu_hours is not None else float("inf")


class _Reader:
    """Reads decisions on the job as who asks may."""

    def __init__(self, snapshot: ClusterSnapshot, job: Job, user: User, policy: Policy) -> None:
        self._policy = policy
        self._snapshot, self._organisation = snapshot, str(job.project.organisation_id)
        self._gpu_types = {node.name: node.gpu_type for node in snapshot.nodes}
        self._sees_all = Organisation.objects.visible_to(user).filter(pk=job.project.organisation_id).exists()
        present = Job.objects.visible_to(user).filter(id__in=[one.id for one in snapshot.jobs[:-1]])
        ours = present.filter(project__organisation=job.project.organisation_id).values_list("id", "name")
        self._ours = {str(id): (name, self._organisation) for id, name in ours}
        names = {one.id: self._ours.get(one.id, ("", "")) for one in snapshot.jobs}
        self._writer = ExplanationWriter({**names, str(job.id): (job.name, self._organisation)})

    def run(self, decision: Decision, job: JobSnapshot) -> PlannedRun:
        predicted = decision.prediction
        allocation = decision.allocation if isinstance(decision, Launch) else None
        n_workers = allocation.n_workers if allocation else workers_to_start(self._snapshot, job, self._policy)
        held_s = None
        if predicted.start_p50_s is not None and predicted.finish_p50_s is not None:
            held_s = predicted.finish_p50_s - predicted.start_p50_s
        shares = allocation.shares if allocation else ()
        return PlannedRun(
            decision=kind_of(decision),
            mode=str(allocation.mode) if allocation else "",
            n_workers=n_workers,
            n_servers=allocation.n_servers if allocation else 0,
            gpu_type=next((self._gpu_types.get(share.node, "") for share in shares if share.gpus), ""),
            nodes=[share.node for share in shares],
            start_at=moment(predicted.start_p50_s),
            start_p90_at=moment(predicted.start_p90_s),
            finish_at=moment(predicted.finish_p50_s),
            finish_p90_at=moment(predicted.finish_p90_s),
            gpu_hours=None if held_s is None else n_workers * held_s / 3600,
            explanations=self._writer.for_readers(self._organisation, decision.explanations),
        )

    def n_delayed(self, before: Plan, after: Plan) -> int:
        """Returns how many jobs of the organisation end noticeably later with the job than without it."""
        ends = {one.job: one.prediction.finish_p50_s for one in before.decisions if one.job in self._ours}
        later = 0
        for one in after.decisions:
            end_s, was_s = one.prediction.finish_p50_s, ends.get(one.job)
            later += end_s is not None and was_s is not None and end_s - was_s > NOTICEABLE_S
        return later

    def quota(self, planned: PlannedRun) -> QuotaEffect:
        parents = {tenant.id: tenant.parent for tenant in self._snapshot.tenants}

        def is_ours(tenant: str | None) -> bool:
            return tenant is not None and (tenant == self._organisation or is_ours(parents[tenant]))

        ours = (job for job in self._snapshot.jobs if job.held and is_ours(job.tenant))
        if not self._sees_all:
            used = sum(job.held.n_workers for job in ours if job.held and job.id in self._ours)
            return QuotaEffect(used, used + planned.n_workers, None, None)
        used = sum(job.held.n_workers for job in ours if job.held)
        owner = next(tenant for tenant in self._snapshot.tenants if tenant.id == self._organisation)
        return QuotaEffect(used, used + planned.n_workers, owner.max_gpus, owner.guarantee)
