# SPDX-License-Identifier: Apache-2.0
"""Apply: a Plan's decisions to rows and backend. Each decision stands alone: one that fails leaves the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import structlog

from mlhub.backends.protocol import Backend, BackendUnavailableError, ItemKind
from mlhub.clusters.models import Node
from mlhub.control.fault_isolation.isolation import FaultIsolation
from mlhub.control.observation.reconcile import DELAYED, ask_to_stop, start_all
from mlhub.control.pods.pod_resources import gpu_types
from mlhub.control.rounds.explanations import ExplanationWriter, kind_of, predicted_finish, write_explanations
from mlhub.jobs import attempts
from mlhub.jobs.attempts import Held, record_batch_decision
from mlhub.jobs.models import PREDICTIONS, Attempt, Job
from mlhub.jobs.states import JobState
from mlhub.wire.launch import BatchDecision
from scheduler.api.plan import Decision, Keep, Launch, Plan, Prediction, Preempt, Reason, Resize
from scheduler.api.snapshot import GangAllocation

logger = structlog.stdlib.get_logger(__name__)
READ = [
    "name", "kind", "project__organisation", "state", "version", "intent", "steps_done", "started_at", "explanations",
    "reason", *PREDICTIONS, "first_predicted_finish_at", "min_workers", "max_workers", "resources",
]  # fmt: skip


@dataclass(frozen=True)
class Applied:
    """What became of a plan. actions: [{job, decision, outcome}], without keeps and waits; jobs: rows by id."""

    actions: list[dict[str, str]]
    jobs: Mapping[str, Job]
    writer: ExplanationWriter


def apply_plan(plan: Plan, *, backend: Backend, now: datetime, isolation: FaultIsolation | None = None) -> Applied:
    """isolation: gets the jobs whose decision cannot be applied; those that it has already are passed over."""
    isolation = FaultIsolation() if isolation is None else isolation
    left_out = isolation.names(ItemKind.JOB)
    ids = [UUID(d.job) for d in plan.decisions if d.job not in left_out]
    rows = {str(job.id): job for job in Job.objects.select_related("project").only(*READ).filter(id__in=ids)}
    writer = ExplanationWriter.of(rows)
    decided = [(rows[d.job], d) for d in plan.decisions if d.job in rows]
    write_explanations(decided, writer, now=now, isolation=isolation)
    for job, decision in decided:
        if isinstance(decision, Keep) and decision.job in plan.batches:
            decide = partial(record_batch_decision, job, _batch(plan, decision))
            isolation.attempt(decide, kind=ItemKind.JOB, name=decision.job, default=False)
    actions: list[dict[str, str]] = []
    opened: dict[str, Attempt] = {}  # by job; launched together, which backends do faster than one after the other
    for job, decision in decided:
        if isinstance(decision, Launch | Resize | Preempt):
            with structlog.contextvars.bound_contextvars(job=decision.job, organisation=_organisation(job)):
                act = partial(_act, backend, job, decision, writer, batch=_batch(plan, decision), now=now)
                result = isolation.attempt(act, kind=ItemKind.JOB, name=decision.job, default="failed")
            if isinstance(result, Attempt):
                opened[decision.job] = result
            outcome = result if isinstance(result, str) else DELAYED
            actions.append({"job": decision.job, "decision": kind_of(decision), "outcome": outcome})
    launch = partial(start_all, backend, list(opened.values()), now=now, isolation=isolation)
    # an attempt that nothing was tried for stays STARTING, and the next round launches it
    nothing: Mapping[UUID, str] = {}
    outcomes = isolation.attempt(launch, kind=ItemKind.STEP, name="launch", default=nothing) if opened else nothing
    for action in actions:
        if action["job"] in opened:
            action["outcome"] = outcomes.get(opened[action["job"]].id, DELAYED)
    return Applied(actions, rows, writer)


def _organisation(job: Job) -> str:
    return str(job.project.organisation_id)


def _act(
    backend: Backend,
    job: Job,
    decision: Launch | Resize | Preempt,
    writer: ExplanationWriter,
    *,
    batch: BatchDecision | None,
    now: datetime,
) -> str | Attempt:
    """What came of a decision, in a word; of a launch, the attempt that is to be started."""
    if isinstance(decision, Launch | Resize) and not _fits(job, decision.allocation):
        return "moved"
    try:
        if isinstance(decision, Launch):
            return _open(job, decision, writer, batch=batch, now=now) or "moved"
        reason = "resized" if isinstance(decision, Resize) else "preempted"
        attempt = Attempt.objects.live().select_related("job").filter(job=job).first()
        if attempt is None or job.state not in (JobState.STARTING, JobState.RUNNING):
            return "moved"
        why = "" if isinstance(decision, Resize) else " ".join(_sentences(writer, job, decision))
        return reason if ask_to_stop(backend, attempt, reason=reason, why=why, now=now) else "moved"
    except BackendUnavailableError as error:
        logger.warning("apply.delayed", job=job.id, error=error)
        return DELAYED


def _sentences(writer: ExplanationWriter, job: Job, decision: Decision) -> list[str]:
    return [explanation["sentence"] for explanation in writer.for_job(job, decision.explanations)]


def _fits(job: Job, allocation: GangAllocation) -> bool:
    """Whether the job still asks for this: it may have been changed since the snapshot was taken."""
    if not job.min_workers <= allocation.n_workers <= job.max_workers:
        return False
    wanted = gpu_types(job)
    nodes = [share.node for share in allocation.shares if share.gpus]
    return not wanted or not Node.objects.filter(name__in=nodes).exclude(gpu_type__in=wanted).exists()


def _batch(plan: Plan, decision: Decision) -> BatchDecision | None:
    """What the trainer is to know; None where the batch is fixed."""
    choice = plan.batches.get(decision.job)
    if choice is None:
        return None
    why = next((e.sentence for e in decision.explanations if e.reason is Reason.BATCH_SIZE_CHANGES), "")
    if not why and choice.noise_scale:  # for a trainer that has just followed another decision
        why = f"With a gradient noise scale of {choice.noise_scale:.0f} examples, no other batch is worth a change."
    return BatchDecision(choice.batch_size, choice.noise_scale or None, why)


def _open(
    job: Job, decision: Launch, writer: ExplanationWriter, *, batch: BatchDecision | None, now: datetime
) -> Attempt | None:
    allocation = decision.allocation
    return attempts.open_attempt(
        job,
        mode=allocation.mode,
        n_workers=allocation.n_workers,
        n_servers=allocation.n_servers,
        held=[Held(s.node, s.gpus, s.n_servers) for s in allocation.shares],
        predicted_step_s=decision.prediction.step_s,
        reason=decision.explanations[0].reason,
        batch=batch,
        now=now,
        explanations=writer.for_job(job, decision.explanations),
        not_before=None,
        **_first_prediction(job, decision.prediction),
    )


def _first_prediction(job: Job, prediction: Prediction) -> dict[str, Any]:
    """Returns the columns to write. The finish predicted at the first launch is stored, to be compared later."""
    changes: dict[str, Any] = predicted_finish(job, prediction)
    if job.first_predicted_finish_at is None and changes["predicted_finish_at"] is not None:
        changes["first_predicted_finish_at"] = changes["predicted_finish_at"]
    return changes
