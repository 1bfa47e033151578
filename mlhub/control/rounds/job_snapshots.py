# SPDX-License-Identifier: Apache-2.0
"""One job's row, with what was learned of its family, as the scheduler sees it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mlhub.control.fault_isolation.soundness import sound_job
from mlhub.control.learning.batch_sizes import max_local_batch, noise_ahead
from mlhub.control.learning.input_caches import InputCaches
from mlhub.control.learning.learned_models import LearnedModels
from mlhub.control.learning.unsaved_work import with_unsaved_work
from mlhub.control.pods.pod_resources import (
    gpu_types,
    requested_servers,
    requested_workers,
    server_resources,
    worker_resources,
)
from mlhub.control.quotas.quota_tree import QuotaTree
from mlhub.control.rounds.admission_pause import AdmissionHold
from mlhub.jobs.models import Attempt, Job, ModeChoice, Preflight
from mlhub.jobs.progress import steps_made
from mlhub.jobs.states import JobState
from mlhub.jobs.submission.batch_ranges import batch_range_of
from mlhub.registry.models import Kind
from scheduler.api.plan import Reason
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode, NodeAllocation, Phase

PHASES = {
    JobState.QUEUED: Phase.WAITING,
    JobState.STARTING: Phase.STARTING,
    JobState.RUNNING: Phase.RUNNING,
    JobState.STOPPING: Phase.STOPPING,
}


@dataclass(frozen=True)
class JobReader:
    """Makes the snapshots of jobs from what was read of all of them at once, by job where it differs between them.

    held: on which nodes a job's live attempt holds GPUs. steps: where a curve predicts another end than the declared.
    saved_at: when each script wrote its newest checkpoint. studies: id and name of the study of a trial.
    shares_within_project: nodes let only jobs of one project share GPUs. admission: None = it is not paused. inputs:
    what nodes hold of what jobs read.
    """

    tree: QuotaTree
    learned: LearnedModels
    families: Mapping[UUID, str]
    held: Mapping[UUID, tuple[NodeAllocation, ...]]
    steps: Mapping[UUID, int]
    saved_at: Mapping[UUID, datetime]
    studies: Mapping[UUID, tuple[str, str]]
    gpu_memory_bytes: Mapping[str, int]
    shares_within_project: bool
    now: datetime
    inputs: InputCaches
    admission: AdmissionHold | None = None

    def read(self, job: Job) -> JobSnapshot:
        """Raises what a job raises that cannot be read."""
        return sound_job(
            job_snapshot(
                job,
                tenant=tenant_of(job, self.tree),
                family=self.families[job.id],
                learned=self.learned,
                held=self.held.get(job.id),
                now=self.now,
                steps_total=self.steps.get(job.id),
                saved_at=self.saved_at,
                shares_within=str(job.project_id) if self.shares_within_project else "",
                gpu_memory_bytes=self.gpu_memory_bytes,
                study=self.studies.get(job.id, ("", "")),
                user=self.tree.user_of(job),
                admission=self.admission,
                inputs=self.inputs.keys.get(job.id, ""),
            )
        )


def tenant_of(job: Job, tree: QuotaTree) -> str:
    """Raises ValueError."""
    tenant = tree.tenant_of.get(job.project_id)
    if tenant is None:
        raise ValueError("the quota of its organisation, team or project cannot be read")
    return tenant


def job_snapshot(
    job: Job,
    *,
    tenant: str,
    family: str,
    learned: LearnedModels,
    held: tuple[NodeAllocation, ...] | None,
    now: datetime,
    steps_total: int | None = None,
    saved_at: Mapping[UUID, datetime] | None = None,
    shares_within: str = "",
    gpu_memory_bytes: Mapping[str, int] | None = None,
    study: tuple[str, str] = ("", ""),
    user: str = "",
    admission: AdmissionHold | None = None,
    inputs: str = "",
) -> JobSnapshot:
    """job: also one that was never saved, which waits then. held: by its live attempt, if it has one.

    steps_total: where its curve predicts an end before the declared one. saved_at: of scripts, when each wrote its
    newest checkpoint. gpu_memory_bytes: of one GPU, by type. study: id and name of the one of which it is a trial.
    admission: None = it is not paused. inputs: the key of what it reads.
    """
    hold, hold_until_s = _hold(job, now, admission)
    attempts = list(job.attempts.all()) if not job._state.adding else []
    live = next((a for a in attempts if a.ended_at is None), None)
    worker, server = worker_resources(job), server_resources(job)
    costs = with_unsaved_work(learned.costs.of(family), job, live, saved_at=saved_at or {}, now=now)
    return JobSnapshot(
        id=str(job.id),
        name=job.name,
        tenant=tenant,
        submitted_at_s=(job.submitted_at or now).timestamp(),
        steps_total=job.steps_total if steps_total is None else steps_total,
        steps_done=steps_made(job),
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
        hold=hold,
        hold_until_s=hold_until_s,
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
        inputs=inputs,
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


def _hold(job: Job, now: datetime, admission: AdmissionHold | None) -> tuple[str | None, float | None]:
    """What keeps the job from running, and until when; a pause of admission counts before a wait that ends earlier."""
    not_before_s = None if job.not_before is None else job.not_before.timestamp()
    if job.state != JobState.QUEUED:
        return None, not_before_s
    if job.preflight == Preflight.PENDING:
        return Reason.PREFLIGHT, not_before_s
    waits_s = not_before_s if not_before_s is not None and not_before_s > now.timestamp() else None
    if admission is not None and admission.applies_to(job) and (admission.until_s or math.inf) >= (waits_s or 0.0):
        return Reason.ADMISSION_PAUSED, admission.until_s
    return (None if waits_s is None else Reason.BACKOFF), not_before_s


def _allocation(attempt: Attempt, held: tuple[NodeAllocation, ...]) -> GangAllocation:
    return GangAllocation(Mode(attempt.mode), n_workers=attempt.n_workers, n_servers=attempt.n_servers, shares=held)


def _gpu_s(attempt: Attempt, now: datetime) -> float:
    return attempt.n_workers * max(0.0, ((attempt.ended_at or now) - attempt.created_at).total_seconds())
