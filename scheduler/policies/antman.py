# SPDX-License-Identifier: Apache-2.0
"""AntMan: guaranteed jobs have GPUs of their own, opportunistic ones share them on what is left; no job is moved.

Source: Xiao et al., AntMan (OSDI '20), sec. 4, as simplified in the simulator of Muri (SIGCOMM '22).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot, Phase
from scheduler.placement.free_resources import GpuSlot
from scheduler.policies.toolkit.policy import Grant, Proposal, View, longest_run_first, n_held
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class Antman:
    """Guarantees jobs of a priority above 0, and runs the others opportunistically; inside a class in order of
    submission.

    1. those that run stay; 2. guaranteed jobs get GPUs without a guaranteed job, opportunistic ones get GPUs without an
    opportunistic one: first those with no job at all, then those with the other class.
    reserves: a guaranteed job that does not fit sets GPUs without a guaranteed one aside for itself, piece by piece: as
    many as come free on the one node that had most of them, or whole nodes, if it is larger than one. Opportunistic
    jobs may run there meanwhile.
    """

    reserves: bool = True
    name: str = "antman"
    is_opportunistic: ClassVar[bool] = True

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        case = _Case(view, budget, memory.get("reserved", {}) if self.reserves else None)
        for job in case.running:
            case.confirm(job)
        for job in case.waiting:
            case.admit(job)
        order = tuple(job.id for job in (*case.running, *case.waiting))
        kept = {} if case.reserved is None else {"reserved": case.reserved}
        return Proposal(tuple(case.grants), order, memory=kept)


class _Case:
    """One round's scratch board. slots: all GPUs, as (node, number). has: by class (is it guaranteed?), where jobs are.

    there: these jobs. reserved: by waiting guaranteed job and node; None where nothing is set aside. open: by
    node, GPUs with no guaranteed job and set aside for none.
    """

    def __init__(self, view: View, budget: Budget, reserved: Mapping[str, Mapping[str, int]] | None) -> None:
        self.view, self.budget = view, budget
        self.may_share = view.max_jobs_per_gpu > 1
        self.running = sorted((job for job in view.jobs if n_held(job)), key=longest_run_first)
        self.waiting = sorted(
            (job for job in view.jobs if not n_held(job)),
            key=lambda job: (not _is_guaranteed(job), job.submitted_at_s, job.id),
        )
        self.grants: list[Grant] = []
        self.nodes = {node.name: node.n_gpus for node in view.nodes if node.is_schedulable}
        self.type_of = {node.name: node.gpu_type for node in view.nodes}
        self.slots = [(name, gpu) for name, n in self.nodes.items() for gpu in range(n)]
        self.has: dict[bool, set[GpuSlot]] = {True: set(), False: set()}
        self.there: dict[bool, list[str]] = {True: [], False: []}
        for job in (*view.jobs, *view.settled):
            if n_held(job) and job.allocation is not None and job.phase is not Phase.STOPPING:  # those come free
                held = ((share.node, gpu) for share in job.allocation.shares for gpu in share.gpus)
                self.has[_is_guaranteed(job)].update(held)
                self.there[_is_guaranteed(job)].append(job.id)
        waiting = {job.id for job in self.waiting if _is_guaranteed(job)}
        self.reserved: dict[str, dict[str, int]] | None = None
        if reserved is not None:
            self.reserved = {
                job_id: {name: n for name, n in pieces.items() if name in self.nodes}  # others were cordoned, or left
                for job_id, pieces in reserved.items()
                if job_id in waiting
            }
        self.open = {name: n - sum(slot[0] == name for slot in self.has[True]) for name, n in self.nodes.items()}
        for pieces in (self.reserved or {}).values():
            for name in set(pieces) & set(self.open):
                self.open[name] -= pieces[name]

    def place(self, job: JobSnapshot) -> list[GpuSlot] | None:
        """GPUs of one type for a waiting job; None if it has to wait. Guaranteed: the first node where it fits."""
        n, kind = job.fixed_workers, _is_guaranteed(job)
        if kind and self.reserved is not None:
            pieces = self._set_aside(job, self.reserved.setdefault(job.id, {}))
            if sum(pieces.values()) < n:
                return None
            del self.reserved[job.id]
            free = [slot for slot in self.slots if slot not in self.has[True]]
            return [slot for name, k in pieces.items() for slot in [slot for slot in free if slot[0] == name][:k]]
        found = [gaps[:n] for gaps in self._gaps_by_type(job) if len(gaps) >= n]
        return min(found, key=lambda slots: len(self.has[not kind].intersection(slots)), default=None)

    def _gaps_by_type(self, job: JobSnapshot) -> list[list[GpuSlot]]:
        """The GPUs without a job of its class, of each type that it may use; those with no job at all come first."""
        by_type: dict[str, list[GpuSlot]] = {}
        kind = _is_guaranteed(job)
        for slot in self.slots:
            if slot not in self.has[kind] and self._may_use(job, slot[0]):
                by_type.setdefault(self.type_of[slot[0]], []).append(slot)
        if kind:
            return list(by_type.values())
        return [sorted(gaps, key=lambda slot: slot in self.has[True]) for gaps in by_type.values()]

    def _may_use(self, job: JobSnapshot, node: str) -> bool:
        return not job.gpu_types or self.type_of[node] in job.gpu_types

    def _set_aside(self, job: JobSnapshot, pieces: dict[str, int]) -> dict[str, int]:
        """What the job has set aside by now: on one node, or whole nodes of one type."""
        missing = job.fixed_workers - sum(pieces.values())
        open_now = {name: n for name, n in self.open.items() if self._may_use(job, name)}
        per_node = max((self.nodes[name] for name in open_now), default=0)
        if job.fixed_workers > per_node:
            whole = [name for name, n in open_now.items() if n == per_node]
            types = [self.type_of[name] for name in (*pieces, *whole)]
            gpu_type = types[0] if pieces else max(dict.fromkeys(types), key=types.count, default="")
            more = dict.fromkeys([n for n in whole if self.type_of[n] == gpu_type][: missing // per_node], per_node)
        else:
            fitting = next((name for name, n in open_now.items() if n >= missing), "")
            name = next(iter(pieces), fitting or max(open_now, key=lambda name: open_now[name], default=""))
            more = {name: min(missing, open_now.get(name, 0))}
        for name, n in more.items():
            if n > 0:
                pieces[name] = pieces.get(name, 0) + n
                self.open[name] -= n
        return pieces

    def confirm(self, job: JobSnapshot) -> None:
        """It stays where it is, with the jobs of the other class that are there."""
        n, why = n_held(job), (Explanation(Reason.UNCHANGED),)
        others = tuple(self.there[not _is_guaranteed(job)]) if self.may_share else ()
        if not others and self.budget.reserve(job, n):
            self.grants.append(Grant(job.id, n, self.budget.gpu_type(job), why))
        elif others and self.budget.reserve_colocated(job, n, gpu_type=""):
            self.grants.append(Grant(job.id, n, "", why, colocated_with=others, only_colocated=False))

    def admit(self, job: JobSnapshot) -> None:
        kind, n = _is_guaranteed(job), job.fixed_workers
        slots = self.place(job)
        if slots is None:
            return
        per_node = tuple((name, sum(slot[0] == name for slot in slots)) for name in dict.fromkeys(s[0] for s in slots))
        others = tuple(self.there[not kind])
        gpu_type = self.type_of[slots[0][0]]
        is_apart = not self.has[not kind].intersection(slots) and (not kind or not others)
        if is_apart and self.budget.reserve(job, n, gpu_type=gpu_type):
            fits = (Explanation(Reason.FITS, {"n_workers": n}),)
            self.grants.append(Grant(job.id, n, self.budget.gpu_type(job), fits, node_workers=per_node))
        elif others and self.may_share and job.profile is not None:
            if not self.budget.reserve_colocated(job, n, gpu_type=gpu_type):
                return
            partners = f"{len(others)} {'opportunistic' if kind else 'guaranteed'} jobs"
            why = (Explanation(Reason.COLOCATED_OPPORTUNISTIC, {"n_workers": n, "partners": partners}),)
            self.grants.append(
                Grant(job.id, n, gpu_type, why, node_workers=per_node, colocated_with=others, only_colocated=False)
            )
        else:
            return
        self.has[kind].update(slots)
        self.there[kind].append(job.id)


def _is_guaranteed(job: JobSnapshot) -> bool:
    return job.priority > 0
