"""From rows to the snapshot that a round decides on: the only place where the ORM becomes the scheduler's nouns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from mlhub.backends.protocol import NodeStatus
from mlhub.control.needs import server_resources, worker_resources
from mlhub.jobs.models import Attempt, Job, ModeChoice, Preflight
from mlhub.jobs.states import Intent, JobState
from mlhub.metrics.models import SpeedSample
from mlhub.metrics.speeds import family_of
from mlhub.registry.models import Kind
from mlhub.tenants.models import Organisation
from scheduler.decisions import Reason
from scheduler.snapshot import (
    Allocation,
    ClusterSnapshot,
    JobSnapshot,
    Mode,
    Phase,
    Share,
    SpeedObservation,
    TenantSnapshot,
)
from scheduler.topology import Node, Rack

PHASES = {
    JobState.QUEUED: Phase.WAITING,
    JobState.STARTING: Phase.STARTING,
    JobState.RUNNING: Phase.RUNNING,
    JobState.STOPPING: Phase.STOPPING,
}
START_S = 15.0  # until there are attempts to learn from
MAX_OBSERVATIONS = 40


def take_snapshot(nodes: Sequence[NodeStatus], *, now: datetime, round_number: int) -> ClusterSnapshot:
    """Everything that wants GPUs or holds some, with what was measured of it and its family."""
    jobs = list(
        Job.objects.filter(state__in=list(PHASES))
        .exclude(state=JobState.QUEUED, intent__in=[Intent.PAUSE, Intent.CANCEL])
        .select_related("project__organisation", "model_version", "dataset_version")
        .prefetch_related("attempts__allocations")
        .order_by("id")
    )
    families = {job.id: family_of(job) for job in jobs}
    observations = _observations(set(families.values()))
    start_s = _start_s()
    organisations = Organisation.objects.filter(id__in={j.project.organisation_id for j in jobs})
    return ClusterSnapshot(
        now_s=now.timestamp(),
        nodes=tuple(_node(n) for n in nodes),
        racks=tuple(Rack(name, bps) for name, bps in sorted({n.rack: n.rack_uplink_bps for n in nodes}.items())),
        jobs=tuple(_job(j, families[j.id], observations[families[j.id]], start_s, now) for j in jobs),
        tenants=tuple(_tenant(o) for o in organisations.select_related("quota").order_by("id")),
        seed=round_number,
        round_number=round_number,
    )


def _node(node: NodeStatus) -> Node:
    return Node(
        name=node.name,
        rack=node.rack,
        gpu_type=node.gpu_type,
        n_gpus=node.n_slots,
        cpus=node.cpus,
        memory_bytes=node.memory_bytes,
        nic_bps=node.nic_bps,
        is_schedulable=node.is_schedulable and node.is_ready,
    )


def _tenant(organisation: Organisation) -> TenantSnapshot:
    quota = getattr(organisation, "quota", None)
    return TenantSnapshot(
        id=str(organisation.id),
        name=organisation.name,
        max_gpus=quota.max_gpus if quota else None,
        max_running_jobs=quota.max_running_jobs if quota else None,
    )


def _job(
    job: Job, family: str, observations: tuple[SpeedObservation, ...], start_s: float, now: datetime
) -> JobSnapshot:
    attempts = sorted(job.attempts.all(), key=lambda a: a.number)
    live = next((a for a in attempts if a.ended_at is None), None)
    worker, server = worker_resources(job), server_resources(job)
    return JobSnapshot(
        id=str(job.id),
        name=job.name,
        tenant=str(job.project.organisation_id),
        submitted_at_s=job.submitted_at.timestamp(),
        steps_total=job.steps_total,
        steps_done=job.steps_done,
        batch_size=job.batch_size,
        family=family,
        priority=job.priority,
        phase=PHASES[JobState(job.state)],
        allocation=_allocation(live) if live else None,
        allocated_at_s=live.created_at.timestamp() if live else None,
        training_since_s=live.training_at.timestamp() if live and live.training_at else None,
        mode=_mode(job),
        min_workers=job.min_workers,
        max_workers=min(job.max_workers, job.batch_size),
        cpus_per_worker=worker.cpus,
        memory_per_worker_bytes=worker.memory_bytes,
        cpus_per_server=server.cpus,
        memory_per_server_bytes=server.memory_bytes,
        parameters_bytes=int(job.profile.get("parameters_bytes") or 0),
        example_s=job.profile.get("example_s"),
        step_overhead_s=float(job.profile.get("step_overhead_s") or 0.0),
        start_s=start_s,
        observations=observations,
        executed_gpu_s=sum(_gpu_s(a, now) for a in attempts),
        last_resized_at_s=attempts[-1].created_at.timestamp() if attempts else None,
        n_preemptions=sum(a.outcome == "stopped" for a in attempts),
        hold=_hold(job, now),
        hold_until_s=None if job.not_before is None else job.not_before.timestamp(),
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


def _allocation(attempt: Attempt) -> Allocation:
    held = sorted(attempt.allocations.all(), key=lambda a: a.id)
    return Allocation(
        mode=Mode(attempt.mode),
        n_workers=attempt.n_workers,
        n_servers=attempt.n_servers,
        shares=tuple(Share(a.node, tuple(a.slots), a.n_servers) for a in held),
    )


def _gpu_s(attempt: Attempt, now: datetime) -> float:
    return attempt.n_workers * max(0.0, ((attempt.ended_at or now) - attempt.created_at).total_seconds())


def _observations(families: Iterable[str]) -> defaultdict[str, tuple[SpeedObservation, ...]]:
    """By family, oldest first, the newest MAX_OBSERVATIONS each."""
    found: defaultdict[str, tuple[SpeedObservation, ...]] = defaultdict(tuple)
    for sample in SpeedSample.objects.filter(family__in=families, n_steps__gt=0).order_by("updated_at", "id"):
        observation = SpeedObservation(
            mode=Mode(sample.mode),
            n_workers=sample.n_workers,
            n_servers=sample.n_servers,
            n_nodes=sample.n_nodes,
            n_racks=sample.n_racks,
            gpu_type=sample.gpu_type,
            batch_size=sample.batch_size,
            step_s=sample.step_s,
            compute_s=sample.compute_s,
            sync_s=sample.sync_s,
            n_steps=sample.n_steps,
            observed_at_s=sample.updated_at.timestamp(),
        )
        found[sample.family] = (*found[sample.family], observation)[-MAX_OBSERVATIONS:]
    return found


def _start_s() -> float:
    """Seconds from launch to the first step: the median of the newest attempts."""
    newest = Attempt.objects.exclude(training_at=None).order_by("-id").values_list("created_at", "training_at")[:20]
    times = sorted((training - created).total_seconds() for created, training in newest)
    return times[len(times) // 2] if times else START_S
