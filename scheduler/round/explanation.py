# SPDX-License-Identifier: Apache-2.0
"""Step 6 of a round: why jobs wait or leave, the most binding reason first, with the numbers after the plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from scheduler.api.plan import Decision, Explanation, Launch, Preempt, Reason, Wait
from scheduler.api.proposal import Proposal
from scheduler.api.snapshot import GangAllocation, JobSnapshot
from scheduler.placement.state import PlacementTargets, gpus_of
from scheduler.round.diff import STAYING
from scheduler.round.state import RoundState

# what others would have to give: true, and no use, for a job that its own tenant leaves too few GPUs
ABOUT_BORROWING = {
    Reason.NOTHING_TO_BORROW,
    Reason.NOT_LENT,
    Reason.NOTHING_TO_BORROW_OF_TYPE,
    Reason.NOT_LENT_OF_TYPE,
}
ABOUT_SHARING = {Reason.COLOCATION_NOT_WORTH_IT, Reason.NOT_PROFILED}


def why_it_waits(
    state: RoundState, proposal: Proposal, targets: PlacementTargets, decisions: Mapping[str, Decision]
) -> dict[str, Decision]:
    """Returns a Wait with its reasons for each candidate that waits.

    In this order: GPUs are being released for it; quota; too few free GPUs; no node with CPU and memory, or
    fragmentation; others before it. The last is added to any of the former.
    """
    jobs = {job.id: job for job in state.candidates}
    queue = [job_id for job_id in proposal.order if isinstance(decisions.get(job_id), Wait)]
    in_order = set(queue)
    queue += [job_id for job_id in jobs if isinstance(decisions[job_id], Wait) and job_id not in in_order]
    shortages, leaving = _Shortages(state), _Leaving(state, targets)
    waits: dict[str, Decision] = {}
    for job_id, target in state.resuming.items():
        if isinstance(decisions[job_id], Wait):
            waits[job_id] = Wait(job_id, (leaving.waits_for(target),))
    for ahead, job_id in enumerate(queue):
        awaited = targets.awaited.get(job_id)
        if awaited is not None:
            waits[job_id] = Wait(job_id, (leaving.waits_for(awaited),))
            continue
        need = (proposal.sizes.get(job_id) or (jobs[job_id].fixed_workers,))[0]
        reasons = shortages.of(jobs[job_id], need)
        if job_id in targets.harmful and job_id in targets.refused:
            reasons = (Explanation(Reason.NETWORK_CONTENTION), *reasons)
        reasons += tuple(note for note in proposal.notes.get(job_id, ()) if note.reason in ABOUT_SHARING)
        if job_id in state.limits.narrowed:
            reasons += (state.limits.narrowed[job_id],)
        if ahead > 0:
            reasons += (Explanation(Reason.BEHIND_OTHERS, {"ahead": ahead, "next_job": queue[0]}),)
        waits[job_id] = Wait(job_id, reasons or (Explanation(Reason.UNCHANGED),))
    return waits


def why_it_is_smaller(
    decisions: Mapping[str, Decision], reduced: Mapping[str, Explanation]
) -> dict[str, Launch | Wait]:
    """Returns the decisions on waiting jobs whose requested workers were reduced, with that among their reasons."""
    changed: dict[str, Launch | Wait] = {}
    for job_id, why in reduced.items():
        decision = decisions[job_id]
        if isinstance(decision, Launch | Wait):
            changed[job_id] = replace(decision, explanations=(*decision.explanations, why))
    return changed


# why quota takes back what a running job holds, for others
TAKEN_BACK = {
    Reason.RECLAIMED,
    Reason.RECLAIMED_OF_TYPE,
    Reason.RESERVED_FOR_OWNER,
    Reason.BORROW_LIMIT,
    Reason.NOTHING_TO_BORROW,
    Reason.NOT_LENT,
    Reason.NOTHING_TO_BORROW_OF_TYPE,
    Reason.BORROW_LIMIT_OF_TYPE,
    Reason.NOT_LENT_OF_TYPE,
    Reason.FAIR_SHARE_RECLAIMED,
    Reason.FAIR_SHARE_REACHED,
    Reason.STUDY_SHARE_REACHED,
    Reason.RESERVED_FOR_FAIR_SHARE,
}


def why_it_leaves(state: RoundState, proposal: Proposal, targets: PlacementTargets) -> dict[str, Decision]:
    """Returns why jobs leave: what quota says where it forbids the job to stay; else the policy's reason; else which
    jobs come instead.
    """
    gainers = [g.job for g in proposal.grants if g.job in targets.placed or g.job in targets.awaited]
    decisions: dict[str, Decision] = {}
    for job in state.candidates:
        held = targets.leaving.get(job.id)
        if held is None:
            continue
        excess = state.ledger_before.excess(job.tenant, user=job.user)
        why = proposal.notes.get(job.id, ())
        refused = state.budget.refusal(job, held.n_workers)
        if refused is not None and refused.reason in TAKEN_BACK:
            why = (refused,)
        elif excess is not None and refused is not None:
            why = (excess,)
        elif not why or why[0].reason in STAYING:
            facts = {"ahead": len(gainers), "next_job": gainers[0] if gainers else ""}
            why = (Explanation(Reason.BEHIND_OTHERS, facts),)
        decisions[job.id] = Preempt(job.id, why)
    return decisions


class _Shortages:
    """What is missing for a job. Nothing changes any more: types are counted once, kinds of jobs looked up once."""

    def __init__(self, state: RoundState) -> None:
        self._state, self._free_now = state, state.free_now
        self._total: dict[str, int] = {}
        for node in state.snapshot.nodes:
            if node.is_schedulable:
                self._total[node.gpu_type] = self._total.get(node.gpu_type, 0) + node.n_gpus
        self._free = {t: state.physically_free.n_free((t,)) for t in self._total}
        self._unpromised = {t: state.free_now.n_free((t,)) for t in self._total}
        self._takes: dict[tuple[object, ...], list[int]] = {}

    def of(self, job: JobSnapshot, need: int) -> tuple[Explanation, ...]:
        """For so many workers; nothing if only its turn is."""
        refused = self._state.budget.refusal(job, need)
        usable = tuple(sorted(t for t in self._total if not job.gpu_types or t in job.gpu_types))
        if refused is not None and refused.reason is not Reason.TOO_FEW_FREE_GPUS:
            is_too_large = refused.reason in ABOUT_BORROWING and not self._could_have(job, usable, need)
            return (self._too_few_gpus(usable, need) if is_too_large else ()) or (refused,)
        return self._too_few_gpus(usable, need) or self._no_place(job, usable, need)

    @cached_property
    def _held(self) -> Counter[tuple[str, str]]:
        """GPUs of schedulable nodes that jobs hold, by tenant and type; a shared one counts for the first job's."""
        type_of = {node.name: node.gpu_type for node in self._state.snapshot.nodes if node.is_schedulable}
        holder: dict[tuple[str, int], str] = {}
        for job in self._state.snapshot.jobs:
            for slot in gpus_of(job.held) if job.held is not None else ():
                holder.setdefault(slot, job.tenant)
        return Counter((tenant, type_of[name]) for (name, _), tenant in holder.items() if name in type_of)

    def _could_have(self, job: JobSnapshot, usable: tuple[str, ...], need: int) -> bool:
        """Whether so many would be there next to what its own tenant holds, if all others left."""
        held = sum(self._held[job.tenant, t] for t in usable)
        return held + need <= sum(self._total[t] for t in usable)

    def _too_few_gpus(self, usable: tuple[str, ...], need: int) -> tuple[Explanation, ...]:
        total = sum(self._total[t] for t in usable)
        free = sum(self._free[t] for t in usable)
        unpromised = sum(self._unpromised[t] for t in usable)
        if unpromised >= need:
            return ()
        if free >= need:
            facts = {"free": free, "total": total, "promised": free - unpromised, "need": need}
            return (Explanation(Reason.RESERVED_GPUS, facts),)
        facts = {"free": free, "total": total, "need": need}
        if len(usable) < len(self._total):
            return (Explanation(Reason.NO_FREE_GPUS_OF_TYPE, {**facts, "types": ", ".join(usable)}),)
        return (Explanation(Reason.NO_FREE_GPUS if free == 0 else Reason.TOO_FEW_FREE_GPUS, facts),)

    def _no_place(self, job: JobSnapshot, usable: tuple[str, ...], need: int) -> tuple[Explanation, ...]:
        """Enough GPUs are free: do they take the gang?"""
        kind = (job.cpus_per_worker, job.memory_per_worker_bytes, usable)
        if kind not in self._takes:
            self._takes[kind] = [int(self._free_now.capacity_by_node(job, t)[1].sum()) for t in usable]
        takes = self._takes[kind]
        if max(takes, default=0) >= need:
            return ()
        if not any(takes):
            facts = {"cpus": job.cpus_per_worker, "memory_gib": job.memory_per_worker_bytes / 2**30}
            return (Explanation(Reason.NO_CPU_OR_MEMORY, facts),)
        free = sum(self._unpromised[t] for t in usable)
        return (Explanation(Reason.FRAGMENTATION, {"free": free, "need": need}),)


class _Leaving:
    """The jobs that release GPUs in this round, and these GPUs."""

    def __init__(self, state: RoundState, targets: PlacementTargets) -> None:
        self._n_leaving = 0
        self._who: dict[tuple[str, int], set[str]] = {}
        for job in state.snapshot.jobs:
            held = job.held
            if held is None or job.id in targets.kept:
                continue
            self._n_leaving += job.id in targets.leaving or job.id in targets.placed or job.id in state.settled
            for slot in gpus_of(held):
                self._who.setdefault(slot, set()).add(job.id)

    def waits_for(self, awaited: GangAllocation) -> Explanation:
        """leaving: jobs that hold what it is to have, or, if quota is what it waits for, all that leave."""
        in_the_way = {job_id for slot in gpus_of(awaited) for job_id in self._who.get(slot, ())}
        facts = {"need": awaited.n_workers, "leaving": len(in_the_way) or self._n_leaving}
        return Explanation(Reason.WAITS_FOR_PREEMPTION, facts)
