# SPDX-License-Identifier: Apache-2.0
"""From rows to the snapshot that a round decides on: ORM objects become the scheduler's; jobs in job_snapshots.py."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db.models import Prefetch, Q, QuerySet

from mlhub.backends.protocol import ItemKind, NodeStatus
from mlhub.clusters.models import LinkKind
from mlhub.control.fault_isolation.isolation import FaultIsolation
from mlhub.control.fault_isolation.soundness import sound_job
from mlhub.control.fault_isolation.unreadable_jobs import held_gpus, unreadable_holder
from mlhub.control.learning.batch_sizes import gpu_memory_by_type
from mlhub.control.learning.input_caches import InputCaches, input_caches
from mlhub.control.learning.learned_models import learned_models_of
from mlhub.control.learning.measured_links import slow_links
from mlhub.control.learning.target_prediction import expected_steps
from mlhub.control.learning.unsaved_work import checkpoint_times
from mlhub.control.quotas.quota_tree import QuotaTree, tree_of
from mlhub.control.rounds.admission_pause import current_hold
from mlhub.control.rounds.job_snapshots import PHASES, JobReader, job_snapshot, tenant_of
from mlhub.experiments.models import Trial
from mlhub.jobs.execution.families import family_of
from mlhub.jobs.models import Attempt, Job
from mlhub.jobs.states import Intent, JobState
from mlhub.tenants.models import Quota, UserQuota
from scheduler.api.snapshot import ClusterSnapshot, NodeAllocation, TenantSnapshot
from scheduler.api.topology import NodeSnapshot, RackSnapshot

READ = [
    "name", "state", "intent", "priority", "submitted_at", "epochs", "steps_total", "steps_done", "epoch", "batch_size",
    "min_workers", "max_workers", "mode", "strategy", "hyperparameters", "resources", "target_metric", "target_value",
    "profile", "kind", "prediction", "preflight", "not_before", "dataset_version_id", "datasets", "image",
    "created_by_id", "project__organisation", "model_version__kind", "model_version__code_version",
]  # fmt: skip
READ_OF_USERS = ["created_by_id", "project__organisation"]
READ_OF_ATTEMPTS = [
    "job", "number", "mode", "n_workers", "n_servers", "created_at", "started_at", "training_at", "ended_at", "outcome",
    "batch_size",
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
    jobs = [*_present_jobs(), *hypothetical]
    for job_id, reason in (refused or {}).items():
        isolation.add(ItemKind.JOB, job_id, reason)
    held, closed = held_gpus(isolation)
    reader = _reader_of(jobs, nodes, held=held, now=now, whole_tree=whole_tree, isolation=isolation)
    slow = isolation.attempt(slow_links, kind=ItemKind.STEP, name="links", default={})
    nodes = [replace(node, nic_bps=slow.get((LinkKind.NIC, node.name), node.nic_bps)) for node in nodes]

    found = []
    for job in jobs:
        name = str(job.id)
        is_readable = (ItemKind.JOB, name) not in isolation.found
        snapshot = isolation.attempt(partial(reader.read, job), kind=ItemKind.JOB, name=name, default=None)
        if snapshot is not None and is_readable:
            found.append(snapshot)
        elif job.id in held and job.project_id in reader.tree.tenant_of:
            tenant = reader.tree.tenant_of[job.project_id]
            found.append(unreadable_holder(job, held[job.id], tenant=tenant, now=now))
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
        tenants=tuple(reader.tree.tenants),
        coming=reader.tree.coming,
        seed=round_number,
        round_number=round_number,
        pairs=reader.learned.pairs,
        withdrawn=_withdrawn(set(remembered) - {str(job.id) for job in jobs}),
        input_sets=reader.inputs.sets,
        fetch_bps=reader.inputs.fetch_bps,
    )


def _present_jobs() -> QuerySet[Job]:
    """Jobs that want GPUs or hold some, with what a snapshot has of them and of their attempts."""
    return (
        Job.objects.filter(state__in=list(PHASES))
        .exclude(state=JobState.QUEUED, intent__in=[Intent.PAUSE, Intent.CANCEL])
        .select_related("project", "model_version")
        .only(*READ)
        .prefetch_related(Prefetch("attempts", Attempt.objects.only(*READ_OF_ATTEMPTS).order_by("number")))
        .order_by("id")
    )


def _reader_of(
    jobs: Sequence[Job],
    nodes: Sequence[NodeStatus],
    *,
    held: Mapping[UUID, tuple[NodeAllocation, ...]],
    now: datetime,
    whole_tree: bool,
    isolation: FaultIsolation,
) -> JobReader:
    families = _families(jobs, isolation)
    studies = partial(Trial.objects.all().studies_of, [job.id for job in jobs])
    lends = Q(guarantee__gt=0) | ~Q(guarantee_by_type={})
    lenders = Quota.objects.filter(lends).values_list("organisation", flat=True)
    return JobReader(
        learned=learned_models_of(set(families.values()), isolation=isolation),
        families=families,
        held=held,
        steps=expected_steps(jobs, isolation=isolation),
        saved_at=isolation.attempt(partial(checkpoint_times, jobs), kind=ItemKind.STEP, name="checkpoints", default={}),
        gpu_memory_bytes=gpu_memory_by_type(nodes),
        studies=isolation.attempt(studies, kind=ItemKind.STEP, name="studies", default={}),
        shares_within_project=any(n.shares_within_project for n in nodes),
        inputs=isolation.attempt(
            partial(input_caches, jobs), kind=ItemKind.STEP, name="input caches", default=InputCaches()
        ),
        tree=tree_of(
            {*lenders, *(j.project.organisation_id for j in jobs)},
            now=now,
            whole=whole_tree,
            users={(j.project.organisation_id, j.created_by_id) for j in jobs},
            isolation=isolation,
        ),
        now=now,
        admission=current_hold(now=now),
    )


def with_hypothetical(snapshot: ClusterSnapshot, job: Job, *, now: datetime) -> ClusterSnapshot:
    """The snapshot with a job that was never saved, as if it had been submitted. Raises ValueError where its tenant's
    quota cannot be read.
    """
    owner = job.project.organisation_id
    tree, family = tree_of({owner}, now=now, users={(owner, job.created_by_id)}), family_of(job)
    caches = input_caches([job])
    one = job_snapshot(
        job,
        tenant=tenant_of(job, tree),
        family=family,
        learned=learned_models_of({family}),
        held=None,
        now=now,
        steps_total=expected_steps([job]).get(job.id),
        user=tree.user_of(job),
        admission=current_hold(now=now),
        inputs=caches.keys.get(job.id, ""),
    )
    known = {each.key for each in snapshot.input_sets}
    tenants = {tenant.id for tenant in snapshot.tenants}
    return replace(
        snapshot,
        jobs=(*snapshot.jobs, sound_job(one)),
        tenants=_with_tenants(snapshot.tenants, tree),
        coming=(*snapshot.coming, *(one for one in tree.coming if one.tenant not in tenants)),
        input_sets=(*snapshot.input_sets, *(each for each in caches.sets if each.key not in known)),
        fetch_bps=snapshot.fetch_bps if known else caches.fetch_bps,
    )


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
