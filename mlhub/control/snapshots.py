# SPDX-License-Identifier: Apache-2.0
"""From rows to the snapshot that a round decides on: the only place where the ORM becomes the scheduler's nouns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Prefetch

from mlhub.backends.protocol import NodeStatus
from mlhub.control.learned_models import LearnedModels, learned_models_of
from mlhub.control.pod_resources import requested_servers, server_resources, worker_resources
from mlhub.control.quota_tree import tree_of
from mlhub.control.target_prediction import expected_steps
from mlhub.jobs.families import family_of
from mlhub.jobs.models import Allocation, Attempt, Job, ModeChoice, Preflight
from mlhub.jobs.states import Intent, JobState
from mlhub.registry.models import Kind
from mlhub.tenants.models import Quota
from scheduler.api.plan import Reason
from scheduler.api.snapshot import ClusterSnapshot, JobSnapshot, Mode, NodeAllocation, Phase
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
    "profile", "kind", "prediction", "preflight", "not_before", "dataset_version_id", "project__organisation",
    "model_version__kind", "model_version__code_version",
]  # fmt: skip
READ_OF_ATTEMPTS = [
    "job", "number", "mode", "n_workers", "n_servers", "created_at", "training_at", "ended_at", "outcome",
]  # fmt: skip


def take_snapshot(
    nodes: Sequence[NodeStatus],
    *,
    now: datetime,
    round_number: int,
    hypothetical: Sequence[Job] = (),
    whole_tree: bool = False,
    remembered: Collection[str] = (),
) -> ClusterSnapshot:
    """Everything that wants GPUs or holds some, with what was measured of it and its family.

    hypothetical: jobs that were never saved, as if they had been submitted. whole_tree: teams and projects are tenants
    of their own even where they have no quota yet. remembered: jobs of earlier rounds; `withdrawn` names those that are
    gone and did not succeed.
    """
    jobs = list(
        Job.objects.filter(state__in=list(PHASES))
        .exclude(state=JobState.QUEUED, intent__in=[Intent.PAUSE, Intent.CANCEL])
        .select_related("project", "model_version")
        .only(*READ)
        .prefetch_related(Prefetch("attempts", Attempt.objects.only(*READ_OF_ATTEMPTS).order_by("number")))
        .order_by("id")
    )
    jobs += hypothetical
    held = _held()
    families = {job.id: family_of(job) for job in jobs}
    learned = learned_models_of(set(families.values()))
    steps = expected_steps(jobs)
    in_projects = any(n.shares_within_project for n in nodes)
    lenders = Quota.objects.filter(guarantee__gt=0).values_list("organisation", flat=True)
    tree = tree_of({*lenders, *(j.project.organisation_id for j in jobs)}, whole=whole_tree)
    return ClusterSnapshot(
        now_s=now.timestamp(),
        nodes=tuple(_node(n) for n in nodes),
        racks=tuple(
            RackSnapshot(name, bps) for name, bps in sorted({n.rack: n.rack_uplink_bps for n in nodes}.items())
        ),
        jobs=tuple(
            job_snapshot(
                j,
                tenant=tree.tenant_of[j.project_id],
                family=families[j.id],
                learned=learned,
                held=held.get(j.id),
                now=now,
                steps_total=steps.get(j.id),
                shares_within=str(j.project_id) if in_projects else "",
            )
            for j in jobs
        ),
        tenants=tuple(tree.tenants),
        seed=round_number,
        round_number=round_number,
        withdrawn=_withdrawn(set(remembered) - {str(job.id) for job in jobs}),
    )


def _withdrawn(gone: Collection[str]) -> tuple[str, ...]:
    """Those that did not succeed: cancelled, failed or paused, or no longer there at all."""
    if not gone:
        return ()
    succeeded = Job.objects.filter(id__in=gone, state=JobState.SUCCEEDED).values_list("id", flat=True)
    return tuple(sorted(set(gone) - {str(job_id) for job_id in succeeded}))


def _held() -> dict[UUID, tuple[NodeAllocation, ...]]:
    """By job: what its live attempt holds, node by node."""
    found: defaultdict[UUID, tuple[NodeAllocation, ...]] = defaultdict(tuple)
    rows = Allocation.objects.filter(attempt__ended_at=None, released_at=None).order_by("id")
    for job_id, node, slots, n_servers in rows.values_list("attempt__job_id", "node", "slots", "n_servers"):
        found[job_id] = (*found[job_id], NodeAllocation(node, tuple(slots), n_servers))
    return found


def _node(node: NodeStatus) -> NodeSnapshot:
    return NodeSnapshot(
        name=node.name,
        rack=node.rack,
        gpu_type=node.gpu_type,
        n_gpus=node.n_slots,
        cpus=node.cpus,
        memory_bytes=node.memory_bytes,
        nic_bps=node.nic_bps,
        is_schedulable=node.is_schedulable and node.is_ready,
        max_jobs_per_gpu=node.max_jobs_per_gpu,
        gpu_memory_bytes=node.gpu_memory_bytes,
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
) -> JobSnapshot:
    """job: also one that was never saved, which waits then. held: by its live attempt, if it has one.

    steps_total: where its curve predicts an end before the declared one.
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
    )


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
