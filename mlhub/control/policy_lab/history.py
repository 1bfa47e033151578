# SPDX-License-Identifier: Apache-2.0
"""The jobs of a period, as the simulator can run them again: when they came, what they did, how fast they were."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from statistics import median

from django.db.models import Prefetch, Q, QuerySet
from django.utils import timezone

from mlhub.clusters.models import Node
from mlhub.control.fault_isolation.soundness import sound_job
from mlhub.control.learning.learned_models import LearnedModels, learned_models_of
from mlhub.control.policy_lab.period import RecordedPeriod, recorded_period
from mlhub.control.quotas.quota_tree import tree_of
from mlhub.control.rounds.job_snapshots import job_snapshot
from mlhub.control.rounds.snapshots import READ
from mlhub.core.errors import InvalidInputError
from mlhub.experiments.models import Trial
from mlhub.jobs.execution.families import family_of
from mlhub.jobs.execution.startup import VALIDATED
from mlhub.jobs.models import Allocation, Attempt, Job, Preflight
from mlhub.jobs.states import ENDED, JobState
from scheduler.api.snapshot import JobSnapshot, TenantSnapshot
from scheduler.round.feasibility import EmptyCluster
from scheduler.simulator.environments.recorded import RecordedAttempt, RecordedJob
from scheduler.simulator.traces.clusters import Cluster

MOST_JOBS = 2000
READ_OF_ATTEMPTS = [
    "job", "number", "n_workers", "created_at", "training_at", "stop_asked_at", "ended_at", "first_step", "last_step",
]  # fmt: skip


@dataclass(frozen=True)
class RecordedHistory:
    """left_out: jobs that cannot be simulated, counted by reason."""

    period: RecordedPeriod
    cluster: Cluster
    jobs: tuple[RecordedJob, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)


def check_period(*, since: datetime, until: datetime, now: datetime) -> None:
    """Raises InvalidInputError for a period that is empty, lies ahead, or has too many jobs or none."""
    if since >= until:
        raise InvalidInputError("The period ends before it begins.", field="until", remedy="Give a later end.")
    if until > now:
        raise InvalidInputError("The period lies ahead.", field="until", remedy="Give an end that has passed.")
    n_submitted = Job.objects.filter(submitted_at__gte=since, submitted_at__lt=until).count()
    if n_submitted == 0:
        remedy = "Choose a longer or another period, or upload a trace."
        raise InvalidInputError("No job was submitted in this period.", field="since", code="empty", remedy=remedy)
    n_jobs = _jobs_of(since, until).count()
    if n_jobs > MOST_JOBS:
        message = f"{n_jobs:,} jobs were there in this period; at most {MOST_JOBS:,} can be simulated."
        raise InvalidInputError(message, field="since", code="too_many", remedy="Choose a shorter period.")


def history_of(*, since: datetime, until: datetime) -> RecordedHistory:
    """Reads the jobs that were submitted in the period, and those from before that still held or wanted GPUs in it.

    Raises InvalidInputError where no job remains that can be simulated.
    """
    period = recorded_period(since=since, until=until)
    jobs = list(_jobs_of(since, until))
    organisations = {job.project.organisation_id for job in jobs}
    tree = tree_of(organisations, now=since, budgets_of=())
    tenants = tuple(_tenant_then(tenant, period.tenants) for tenant in tree.tenants)
    families = {job.id: family_of(job) for job in jobs}
    learned = learned_models_of(set(families.values()))
    studies = Trial.objects.all().studies_of([job.id for job in jobs])
    types = dict(Node.objects.values_list("name", "gpu_type")) | {node.name: node.gpu_type for node in period.nodes}
    cluster, left_out, found = EmptyCluster(period.nodes), Counter[str](), []
    for job in jobs:
        tenant = tree.tenant_of.get(job.project_id)
        reason = _unusable(job) or ("unreadable" if tenant is None else "")
        one = None if reason else _recorded(job, tenant or "", families[job.id], learned, types, since=since)
        if one is None:
            left_out[reason or "unreadable"] += 1
        elif cluster.refusal(one.job) is not None or _is_over_quota(one.job, tenants):
            left_out["too_large"] += 1
        else:
            found.append(_of_study(one, *studies.get(job.id, ("", ""))))
    if not any(one.is_counted for one in found):
        raise InvalidInputError(
            "No job of this period can be simulated: none of them trained, or their lengths are not known.",
            field="since",
            code="empty",
            remedy="Choose a longer or another period, or upload a trace.",
        )
    return RecordedHistory(period, Cluster(period.nodes, period.racks, tenants), tuple(found), dict(left_out))


def _of_study(one: RecordedJob, study: str, name: str) -> RecordedJob:
    return replace(one, job=replace(one.job, study=study, study_name=name)) if study else one


def _jobs_of(since: datetime, until: datetime) -> QuerySet[Job]:
    attempts = Attempt.objects.only(*READ_OF_ATTEMPTS).order_by("number")
    allocations = Prefetch("allocations", Allocation.objects.order_by("id"))
    return (
        Job.objects.filter(Q(finished_at=None) | Q(finished_at__gt=since), submitted_at__lt=until)
        .exclude(finished_at=None, state__in=ENDED)
        .select_related("project__organisation", "model_version")
        .only(*READ, "finished_at", "startup", "project__organisation__name")
        .prefetch_related(Prefetch("attempts", attempts.prefetch_related(allocations)))
        .order_by("submitted_at", "id")
    )


def _unusable(job: Job) -> str:
    """Why it cannot be simulated: "" if it can."""
    if job.state in ENDED:
        return "" if job.steps_done > 0 else "never_trained"
    return "" if job.steps_total > job.steps_done else "unknown_length"


def _recorded(
    job: Job, tenant: str, family: str, learned: LearnedModels, types: Mapping[str, str], *, since: datetime
) -> RecordedJob | None:
    """None for a job whose record no model can work with."""
    attempts = list(job.attempts.all())
    steps = job.steps_done if job.state in ENDED else job.steps_total
    is_from_before = job.submitted_at < since
    try:
        snapshot = sound_job(
            job_snapshot(
                _as_submitted(job), tenant=tenant, family=family, learned=learned, held=None, now=job.submitted_at
            )
        )
    except (ValueError, TypeError):
        return None
    done = _steps_before(attempts, since) if is_from_before else 0.0
    starts = [(a.training_at - a.created_at).total_seconds() for a in attempts if a.training_at]
    return RecordedJob(
        replace(snapshot, steps_done=min(done, float(steps)), steps_total=max(snapshot.steps_total, 1)),
        at_s=max(since.timestamp(), _validated_at_s(job)),
        steps=float(steps),
        attempts=tuple(one for a in attempts if (one := _trained(a, types)) is not None),
        start_s=median(starts) if starts else None,
        organisation=job.project.organisation.name,
        ended_at_s=job.finished_at.timestamp() if job.finished_at else None,
        is_counted=not is_from_before,
    )


def _as_submitted(job: Job) -> Job:
    """A copy that waits and has done nothing, which is never saved."""
    found = copy.copy(job)
    found._state.adding = True  # its attempts are not read
    found.state, found.steps_done = JobState.QUEUED, 0
    found.preflight, found.not_before = Preflight.PASSED, None
    return found


def _validated_at_s(job: Job) -> float:
    """When the scheduler could first launch it."""
    submitted_at_s = job.submitted_at.timestamp()
    return max(submitted_at_s, float(job.startup.get(VALIDATED, submitted_at_s)))


def _trained(attempt: Attempt, types: Mapping[str, str]) -> RecordedAttempt | None:
    """The mean time of its steps, with evaluations and checkpoints between them; None where it made none."""
    until = attempt.stop_asked_at or attempt.ended_at
    n_steps = attempt.last_step - attempt.first_step
    if attempt.training_at is None or until is None or n_steps < 1:
        return None
    gpu_type = next((types.get(a.node, "") for a in attempt.allocations.all() if a.slots), "")
    step_s = (until - attempt.training_at).total_seconds() / n_steps
    return RecordedAttempt(attempt.n_workers, gpu_type, step_s) if step_s > 0 else None


def _steps_before(attempts: Sequence[Attempt], at: datetime) -> float:
    """How far the job was at that time, evenly within an attempt."""
    done = 0.0
    for attempt in attempts:
        if attempt.training_at is None or attempt.training_at >= at:
            continue
        until = attempt.ended_at or timezone.now()
        share = 1.0
        if until > at:
            share = (at - attempt.training_at) / (until - attempt.training_at)
        done = attempt.first_step + share * (attempt.last_step - attempt.first_step)
    return done


def _tenant_then(tenant: TenantSnapshot, then: Mapping[str, TenantSnapshot]) -> TenantSnapshot:
    """With the limits that it had in the period, but for budgets; where it has since moved below another owner, that
    stays."""
    old = then.get(tenant.id)
    return tenant if old is None else replace(old, parent=tenant.parent, name=tenant.name, budgets=())


def _is_over_quota(job: JobSnapshot, tenants: Sequence[TenantSnapshot]) -> bool:
    by_id = {tenant.id: tenant for tenant in tenants}
    owner = by_id.get(job.tenant)
    while owner is not None:
        if owner.max_gpus is not None and owner.max_gpus < job.min_workers:
            return True
        owner = by_id.get(owner.parent) if owner.parent else None
    return False
