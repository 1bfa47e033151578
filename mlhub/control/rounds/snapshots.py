# SPDX-License-Identifier: Apache-2.0
"""From rows to the snapshot that a round decides on: the only place where the ORM becomes the scheduler's nouns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db.models import Prefetch, Q

from mlhub.backends.protocol import ItemKind, NodeStatus
from mlhub.clusters.models import LinkKind
from mlhub.control.fault_isolation.isolation import FaultIsolation
from mlhub.control.fault_isolation.soundness import sound_job
from mlhub.control.fault_isolation.unreadable_jobs import held_gpus, unreadable_holder
from mlhub.control.learning.batch_sizes import gpu_memory_by_type, max_local_batch, noise_ahead
from mlhub.control.learning.learned_models import LearnedModels, learned_models_of
from mlhub.control.learning.measured_links import slow_links
from mlhub.control.learning.target_prediction import expected_steps
from mlhub.control.pods.pod_resources import (
    gpu_types,
    requested_servers,
    requested_workers,
    server_resources,
    worker_resources,
)
from mlhub.control.quotas.quota_tree import QuotaTree, tree_of
from mlhub.experiments.models import Trial
from mlhub.jobs.execution.families import family_of
from mlhub.jobs.models import Attempt, Job, ModeChoice, Preflight
from mlhub.jobs.states import Intent, JobState
from mlhub.jobs.submission.batch_ranges import batch_range_of
from mlhub.registry.models import Kind
from mlhub.tenants.models import Quota, UserQuota
from scheduler.api.plan import Reason
from scheduler.api.snapshot import ClusterSnapshot, JobSnapshot, Mode, NodeAllocation, Phase, TenantSnapshot
from scheduler.api.snapshot import GangAllocation as Holding
from scheduler.api.topology import NodeSnapshot, RackSnapshot

PHASES = {
    JobState.QUEUED: Phase.WAITING,
    JobState.STARTING: Phase.STARTING,
    JobState.RUNNING: Phase.RUNNING,
    JobState.STOPPING: Phase.STOPPING,
}
READ = [
    "name", "state", "intent", "priority", "submitted_at", "epochs", "steps_total", "steps_done", "batch_size",
    "min_workers", "max_workers", "mode", "strategy", "hyperparameters", "resources", "target_metric", "target_value",
    "profile", "kind", "prediction", "preflight", "not_before", "dataset_version_id", "datasets", "created_by_id",
    "project__organisation", "model_version__kind", "model_version__code_version",
]  # fmt: skip
READ_OF_USERS = ["created_by_id", "project__organisation"]
READ_OF_ATTEMPTS = [
    "job", "number", "mode", "n_workers", "n_servers", "created_at", "training_at", "ended_at", "outcome", "batch_size",
]  # fmt: skip


def take_snapshot(
    nodes: Sequence[NodeStatus],
    *,
    now: datetime,
    round_number: int,
    hypothetical: Sequence[Job] = (),
    whole_tree: bool = False,
    remembered: Collection[str] = (),
    isolation: FaultIsolation | None = None,
    refused: Mapping[str, str] | None = None,
) -> ClusterSnapshot:
    """Everything that wants GPUs or holds some, with what was measured of it and its family.

    hypothetical: jobs that were never saved, as if they had been submitted. whole_tree: teams and projects are tenants
    of their own even where they have no quota yet. remembered: jobs of earlier rounds; `withdrawn` names those that are
    gone and did not succeed. isolation: gets the jobs and nodes that cannot be read; they are left out, but for what
    such a job holds. refused: by job, why it is to be left out, too.
    """
    isolation = FaultIsolation() if isolation is None else isolation
    jobs = list(
        Job.objects.filter(state__in=list(PHASES))
        .exclude(state=JobState.QUEUED, intent__in=[Intent.PAUSE, Intent.CANCEL])
        .select_related("project", "model_version")
        .only(*READ)
        .prefetch_related(Prefetch("attempts", Attempt.objects.only(*READ_OF_ATTEMPTS).order_by("number")))
        .order_by("id")
    )
    jobs += hypothetical
    for job_id, reason in (refused or {}).items():
        isolation.add(ItemKind.JOB, job_id, reason)
    held, closed = held_gpus(isolation)
    families = _families(jobs, isolation)
    learned = learned_models_of(set(families.values()), isolation=isolation)
    steps = expected_steps(jobs, isolation=isolation)
    gpu_memory_bytes = gpu_memory_by_type(nodes)
    studies = isolation.attempt(
        partial(Trial.objects.all().studies_of, [job.id for job in jobs]),
        kind=ItemKind.STEP,
        name="studies",
        default={},
    )
    in_projects = any(n.shares_within_project for n in nodes)
    lends = Q(guarantee__gt=0) | ~Q(guarantee_by_type={})
    lenders = Quota.objects.filter(lends).values_list("organisation", flat=True)
    tree = tree_of(
        {*lenders, *(j.project.organisation_id for j in jobs)},
        now=now,
        whole=whole_tree,
        users={(j.project.organisation_id, j.created_by_id) for j in jobs},
        isolation=isolation,
    )

    slow = isolation.attempt(slow_links, kind=ItemKind.STEP, name="links", default={})
    nodes = [replace(node, nic_bps=slow.get((LinkKind.NIC, node.name), node.nic_bps)) for node in nodes]

    def read(job: Job) -> JobSnapshot:
        return sound_job(
            job_snapshot(
                job,
                tenant=_tenant_of(job, tree),
                family=families[job.id],
                learned=learned,
                held=held.get(job.id),
                now=now,
                steps_total=steps.get(job.id),
                shares_within=str(job.project_id) if in_projects else "",
                gpu_memory_bytes=gpu_memory_bytes,
                study=studies.get(job.id, ("", "")),
                user=tree.user_of(job),
            )
        )

    found = []
    for job in jobs:
        name = str(job.id)
        is_readable = (ItemKind.JOB, name) not in isolation.found
        snapshot = isolation.attempt(partial(read, job), kind=ItemKind.JOB, name=name, default=None)
        if snapshot is not None and is_readable:
            found.append(snapshot)
        elif job.id in held and job.project_id in tree.tenant_of:
            found.append(unreadable_holder(job, held[job.id], tenant=tree.tenant_of[job.project_id], now=now))
        else:
            closed |= {share.node for share in held.get(job.id, ())}
    return ClusterSnapshot(
        now_s=now.timestamp(),
        nodes=tuple(node_snapshot(n, is_closed=n.name in closed) for n in nodes),
        racks=tuple(
            RackSnapshot(name, slow.get((LinkKind.UPLINK, name), bps))
            for name, bps in sorted({n.rack: n.rack_uplink_bps for n in nodes}.items())
        ),
        jobs=tuple(found),
        tenants=tuple(tree.tenants),
        seed=round_number,
        round_number=round_number,
        pairs=learned.pairs,
        withdrawn=_withdrawn(set(remembered) - {str(job.id) for job in jobs}),
    )


def with_hypothetical(snapshot: ClusterSnapshot, job: Job, *, now: datetime) -> ClusterSnapshot:
    """The snapshot with a job that was never saved, as if it had been submitted. Raises ValueError where its tenant's
    quota cannot be read.
    """
    owner = job.project.organisation_id
    tree, family = tree_of({owner}, now=now, users={(owner, job.created_by_id)}), family_of(job)
    one = job_snapshot(
        job,
        tenant=_tenant_of(job, tree),
        family=family,
        learned=learned_models_of({family}),
        held=None,
        now=now,
        steps_total=expected_steps([job]).get(job.id),
        user=tree.user_of(job),
    )
    return replace(snapshot, jobs=(*snapshot.jobs, sound_job(one)), tenants=_with_tenants(snapshot.tenants, tree))


def with_user_quotas(
    snapshot: ClusterSnapshot, rows: Sequence[UserQuota], *, hypothetical: Sequence[Job] = (), now: datetime
) -> ClusterSnapshot:
    """The snapshot with limits of users that were never saved, as if they had been. Teams and projects that they are of
    are among its tenants. hypothetical: jobs of the snapshot that were never saved."""
    organisations = {row.organisation_id for row in rows}
    stored = Job.objects.filter(project__organisation__in=organisations, state__in=list(PHASES))
    stored = stored.select_related("project").only(*READ_OF_USERS)
    jobs = {str(job.id): job for job in (*stored, *hypothetical)}
    users = {(job.project.organisation_id, job.created_by_id) for job in jobs.values()}
    tree = tree_of(organisations, now=now, whole=True, users=users, supposed=rows)
    limits = {tenant.id: tenant.user_limits for tenant in tree.tenants}
    return replace(
        snapshot,
        jobs=tuple(replace(job, user=tree.user_of(jobs[job.id])) if job.id in jobs else job for job in snapshot.jobs),
        tenants=tuple(replace(one, user_limits=limits.get(one.id, one.user_limits)) for one in snapshot.tenants),
    )


def _with_tenants(known: Sequence[TenantSnapshot], tree: QuotaTree) -> tuple[TenantSnapshot, ...]:
    """Those known, with limits of users whom they did not know; and those of the tree that are new."""
    read = {tenant.id: tenant for tenant in tree.tenants}
    found = []
    for tenant in known:
        users = {limit.user for limit in tenant.user_limits}
        more = read[tenant.id].user_limits if tenant.id in read else ()
        new = tuple(limit for limit in more if limit.user not in users)
        found.append(replace(tenant, user_limits=(*tenant.user_limits, *new)) if new else tenant)
    ids = {tenant.id for tenant in known}
    return (*found, *(tenant for tenant in tree.tenants if tenant.id not in ids))


def _families(jobs: Sequence[Job], isolation: FaultIsolation) -> dict[UUID, str]:
    found = {}
    for job in jobs:
        family = isolation.attempt(partial(family_of, job), kind=ItemKind.JOB, name=str(job.id), default=None)
        if family is not None:
            found[job.id] = family
    return found


def _tenant_of(job: Job, tree: QuotaTree) -> str:
    """Raises ValueError."""
    tenant = tree.tenant_of.get(job.project_id)
    if tenant is None:
        raise ValueError("the quota of its organisation, team or project cannot be read")
    return tenant


def _withdrawn(gone: Collection[str]) -> tuple[str, ...]:
    """Those that did not succeed: cancelled, failed or paused, or no longer there at all."""
    if not gone:
        return ()
    succeeded = Job.objects.filter(id__in=gone, state=JobState.SUCCEEDED).values_list("id", flat=True)
    return tuple(sorted(set(gone) - {str(job_id) for job_id in succeeded}))


def node_snapshot(node: NodeStatus, *, is_closed: bool) -> NodeSnapshot:
    return NodeSnapshot(
        name=node.name,
        rack=node.rack,
        gpu_type=node.gpu_type,
        n_gpus=node.n_slots,
        cpus=node.cpus,
        memory_bytes=node.memory_bytes,
        nic_bps=node.nic_bps,
        is_schedulable=node.is_schedulable and node.is_ready and not is_closed,
        max_jobs_per_gpu=node.max_jobs_per_gpu,
        gpu_memory_bytes=node.gpu_memory_bytes,
        unusable_gpus=tuple(gpu.index for gpu in node.gpus if gpu.problem),
    )


def job_snapshot(
    job: Job,
    *,
    tenant: str,
    family: str,
    learned: LearnedModels,
    held: tuple[NodeAllocation, ...] | None,
    now: datetime,
    steps_total: int | None = None,
    shares_within: str = "",
    gpu_memory_bytes: Mapping[str, int] | None = None,
    study: tuple[str, str] = ("", ""),
    user: str = "",
) -> JobSnapshot:
    """job: also one that was never saved, which waits then. held: by its live attempt, if it has one.

    steps_total: where its curve predicts an end before the declared one. gpu_memory_bytes: of one GPU, by type.
    study: id and name of the one of which it is a trial.
    """
    attempts = list(job.attempts.all()) if not job._state.adding else []
    live = next((a for a in attempts if a.ended_at is None), None)
    worker, server = worker_resources(job), server_resources(job)
    costs = learned.costs.of(family)
    return JobSnapshot(
        id=str(job.id),
        name=job.name,
        tenant=tenant,
        submitted_at_s=(job.submitted_at or now).timestamp(),
        steps_total=job.steps_total if steps_total is None else steps_total,
        steps_done=job.steps_done,
        batch_size=job.batch_size,
        family=family,
        priority=job.priority,
        phase=PHASES[JobState(job.state)],
        allocation=_allocation(live, held or ()) if live else None,
        allocated_at_s=live.created_at.timestamp() if live else None,
        training_since_s=live.training_at.timestamp() if live and live.training_at else None,
        mode=_mode(job),
        min_workers=job.min_workers,
        max_workers=min(job.max_workers, job.batch_size, max(job.profile.get("workers_possible") or [job.max_workers])),
        cpus_per_worker=worker.cpus,
        memory_per_worker_bytes=worker.memory_bytes,
        cpus_per_server=server.cpus,
        memory_per_server_bytes=server.memory_bytes,
        parameters_bytes=int(job.profile.get("parameters_bytes") or 0),
        example_s=job.profile.get("example_s"),
        step_overhead_s=float(job.profile.get("step_overhead_s") or 0.0),
        start_s=costs.start.seconds,
        start_error=costs.start.log_error,
        checkpoint_s=costs.leave.seconds,
        lost_s=costs.loss.seconds,
        observations=learned.observations.get(family, ()),
        executed_gpu_s=sum(_gpu_s(a, now) for a in attempts),
        last_resized_at_s=attempts[-1].created_at.timestamp() if attempts else None,
        n_preemptions=sum(a.outcome == "stopped" for a in attempts),
        hold=_hold(job, now),
        hold_until_s=None if job.not_before is None else job.not_before.timestamp(),
        profile=learned.profiles.get(family),
        noise_scale=learned.noise_scales.get(family),
        shares_within=shares_within,
        requested_servers=requested_servers(job),
        gpu_types=gpu_types(job),
        requested_workers=requested_workers(job),
        length_is_known=_length_is_known(job),
        max_local_batch=max_local_batch(job, learned.memory_by_example.get(family), gpu_memory_bytes or {}),
        noise_ahead=noise_ahead(job, learned.noise_curves.get(family, ())),
        max_batch_size=batch_range_of(job),
        used_batch_size=next((a.batch_size for a in reversed(attempts) if a.batch_size), None),
        counts_examples=True,
        study=study[0],
        study_name=study[1],
        user=user,
    )


def _length_is_known(job: Job) -> bool:
    """Epochs declare the length of a training; a script has as many steps as it reports, once it does."""
    return job.model_version.kind != Kind.SCRIPT or job.steps_total > 0


def _mode(job: Job) -> Mode | None:
    """Pinned by the user; or by the model, when it can only train by all-reduce."""
    if job.mode != ModeChoice.AUTO:
        return Mode(job.mode)
    if job.model_version.kind == Kind.SCRIPT or not job.profile.get("servers_possible", True):
        return Mode.ALL_REDUCE
    return None


def _hold(job: Job, now: datetime) -> str | None:
    if job.state != JobState.QUEUED:
        return None
    if job.preflight == Preflight.PENDING:
        return Reason.PREFLIGHT
    if job.not_before is not None and job.not_before > now:
        return Reason.BACKOFF
    return None


def _allocation(attempt: Attempt, held: tuple[NodeAllocation, ...]) -> Holding:
    return Holding(Mode(attempt.mode), n_workers=attempt.n_workers, n_servers=attempt.n_servers, shares=held)


def _gpu_s(attempt: Attempt, now: datetime) -> float:
    return attempt.n_workers * max(0.0, ((attempt.ended_at or now) - attempt.created_at).total_seconds())
