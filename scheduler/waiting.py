"""Step 5 of a round for those who wait: the most binding reason first, every number as it stands after the plan."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler.admission import Scene, held_by
from scheduler.decisions import Decision, Explanation, Reason, Wait
from scheduler.policies.policy import Proposal
from scheduler.snapshot import Allocation, JobSnapshot
from scheduler.targets import Targets

ABOUT_SHARING = {Reason.SHARING_NOT_WORTH_IT, Reason.NOT_PROFILED}


def why_it_waits(
    scene: Scene, proposal: Proposal, targets: Targets, decisions: Mapping[str, Decision]
) -> dict[str, Decision]:
    """A Wait with its reasons for each candidate that waits.

    In this order: room is being made for it; quota; too few free GPUs; no node with CPU and memory, or fragmentation;
    others before it. The last is added to any of the former.
    """
    jobs = {job.id: job for job in scene.candidates}
    queue = [job_id for job_id in proposal.order if isinstance(decisions.get(job_id), Wait)]
    in_order = set(queue)
    queue += [job_id for job_id in jobs if isinstance(decisions[job_id], Wait) and job_id not in in_order]
    waits: dict[str, Decision] = {}
    for job_id, target in scene.returning.items():
        if isinstance(decisions[job_id], Wait):
            waits[job_id] = Wait(job_id, (_room_is_made(scene, targets, target),))
    for ahead, job_id in enumerate(queue):
        awaited = targets.awaited.get(job_id)
        if awaited is not None:
            waits[job_id] = Wait(job_id, (_room_is_made(scene, targets, awaited),))
            continue
        reasons = _shortage(scene, proposal, jobs[job_id])
        reasons += tuple(note for note in proposal.notes.get(job_id, ()) if note.reason in ABOUT_SHARING)
        if ahead > 0:
            reasons += (Explanation(Reason.BEHIND_OTHERS, {"ahead": ahead, "next_job": queue[0]}),)
        waits[job_id] = Wait(job_id, reasons or (Explanation(Reason.UNCHANGED),))
    return waits


def _shortage(scene: Scene, proposal: Proposal, job: JobSnapshot) -> tuple[Explanation, ...]:
    """What is missing for the job's least size; nothing if only its turn is."""
    need = (proposal.sizes.get(job.id) or (job.fixed_workers,))[0]
    refused = scene.budget.refusal(job, need)
    if refused is not None and refused.reason is not Reason.TOO_FEW_FREE_GPUS:
        return (refused,)
    return _too_few_gpus(scene, job, need) or _no_place(scene, job, need)


def _too_few_gpus(scene: Scene, job: JobSnapshot, need: int) -> tuple[Explanation, ...]:
    nodes = [node for node in scene.snapshot.nodes if node.is_schedulable]
    types = sorted({node.gpu_type for node in nodes})
    usable = tuple(t for t in types if not job.gpu_types or t in job.gpu_types)
    total = sum(node.n_gpus for node in nodes if node.gpu_type in usable)
    free = scene.room_held.n_free(usable)
    unpromised = scene.room_now.n_free(usable)
    if unpromised >= need:
        return ()
    if free >= need:
        facts = {"free": free, "total": total, "promised": free - unpromised, "need": need}
        return (Explanation(Reason.PROMISED_GPUS, facts),)
    facts = {"free": free, "total": total, "need": need}
    if len(usable) < len(types):
        return (Explanation(Reason.NO_FREE_GPUS_OF_TYPE, {**facts, "types": ", ".join(usable)}),)
    return (Explanation(Reason.NO_FREE_GPUS if free == 0 else Reason.TOO_FEW_FREE_GPUS, facts),)


def _no_place(scene: Scene, job: JobSnapshot, need: int) -> tuple[Explanation, ...]:
    """Enough GPUs are free: do they take the gang?"""
    room = scene.room_now
    nodes = [node for node in scene.snapshot.nodes if room.gpus[node.name] and node.is_schedulable]
    usable = [node for node in nodes if not job.gpu_types or node.gpu_type in job.gpu_types]
    by_type: dict[str, int] = {}
    for node in usable:
        by_type[node.gpu_type] = by_type.get(node.gpu_type, 0) + room.workers_on(job, node)
    if max(by_type.values(), default=0) >= need:
        return ()
    if not any(by_type.values()):
        facts = {"cpus": job.cpus_per_worker, "memory_gib": job.memory_per_worker_bytes / 2**30}
        return (Explanation(Reason.NO_CPU_OR_MEMORY, facts),)
    free = sum(len(room.gpus[node.name]) for node in usable)
    return (Explanation(Reason.FRAGMENTATION, {"free": free, "need": need}),)


def _room_is_made(scene: Scene, targets: Targets, awaited: Allocation) -> Explanation:
    """leaving: jobs that hold what it is to have, or, if quota is what it waits for, all that leave."""
    wanted = {(share.node, gpu) for share in awaited.shares for gpu in share.gpus}
    in_the_way, on_their_way = 0, 0
    for job in scene.snapshot.jobs:
        held = held_by(job)
        if held is None or job.id in targets.kept:
            continue
        on_their_way += job.id in targets.leaving or job.id in targets.placed or job.id in scene.settled
        in_the_way += any((share.node, gpu) in wanted for share in held.shares for gpu in share.gpus)
    facts = {"need": awaited.n_workers, "leaving": in_the_way or on_their_way}
    return Explanation(Reason.ROOM_IS_MADE, facts)
