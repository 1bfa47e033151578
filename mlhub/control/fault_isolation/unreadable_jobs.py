# SPDX-License-Identifier: Apache-2.0
"""Jobs that cannot be read into the snapshot: they get nothing, keep what they hold, and their pages show why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from mlhub.backends.protocol import ItemKind
from mlhub.control.fault_isolation.isolation import FaultIsolation
from mlhub.events.wakeups import job_topic, wake_on_commit
from mlhub.jobs.models import PREDICTIONS, Allocation, Job
from mlhub.jobs.states import JobState
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode, NodeAllocation, Phase


def held_gpus(isolation: FaultIsolation) -> tuple[dict[UUID, tuple[NodeAllocation, ...]], set[str]]:
    """What live attempts hold by job, node by node; and the nodes of which it is not known which GPUs are held.

    These take nothing new: a GPU that seems free may be in use.
    """
    found: defaultdict[UUID, tuple[NodeAllocation, ...]] = defaultdict(tuple)
    closed = set()
    rows = Allocation.objects.filter(attempt__ended_at=None, released_at=None).order_by("id")
    for job_id, node, slots, n_servers in rows.values_list("attempt__job_id", "node", "slots", "n_servers"):
        if isinstance(slots, list) and all(type(slot) is int and slot >= 0 for slot in slots):
            found[job_id] = (*found[job_id], NodeAllocation(node, tuple(slots), n_servers))
        else:
            closed.add(node)
            isolation.add(ItemKind.JOB, str(job_id), f"the GPUs that it holds on node {node} cannot be read")
    return dict(found), closed


def unreadable_holder(job: Job, held: Sequence[NodeAllocation], *, tenant: str, now: datetime) -> JobSnapshot:
    """The job as one that is leaving: it keeps its GPUs and counts for its tenant, and nothing is decided on it."""
    return leaving_job(str(job.id), job.name, held, tenant=tenant, submitted_at_s=now.timestamp())


def leaving_job(
    job_id: str, name: str, held: Sequence[NodeAllocation], *, tenant: str, submitted_at_s: float
) -> JobSnapshot:
    """A job of which nothing is known but what it holds."""
    n_gpus = sum(len(share.gpus) for share in held)
    allocation = GangAllocation(Mode.ALL_REDUCE, n_workers=n_gpus, n_servers=0, shares=tuple(held))
    return JobSnapshot(
        id=job_id,
        tenant=tenant,
        submitted_at_s=submitted_at_s,
        steps_total=1,
        batch_size=1,
        name=name,
        phase=Phase.STOPPING,
        allocation=allocation,
    )


def explain_unreadable(job_ids: Collection[str]) -> None:
    """Writes the reason into the rows of jobs that were left out, where it is not there yet."""
    explanation = Explanation(Reason.QUARANTINED)
    shown: list[dict[str, object]] = [
        {"reason": explanation.reason.value, "sentence": explanation.sentence, "facts": {}}
    ]
    for job in Job.objects.filter(id__in=[UUID(job_id) for job_id in job_ids]).only("state", "reason", "explanations"):
        changes: dict[str, object] = {"explanations": shown} if job.explanations != shown else {}
        if job.state == JobState.QUEUED and job.reason != explanation.reason:
            changes["reason"] = explanation.reason.value
        if changes:
            Job.objects.filter(pk=job.pk, state=job.state).update(**changes, **dict.fromkeys(PREDICTIONS))
            wake_on_commit(job_topic(job.pk))
