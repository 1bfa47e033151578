# SPDX-License-Identifier: Apache-2.0
"""Gandiva: jobs are packed on trial, kept together if that gains, parted if not; those that wait get time slices.

Source: Xiao et al., Gandiva (OSDI '18), sec. 3 and 4: introspection instead of models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot
from scheduler.policies.toolkit.policy import Grant, Proposal, View, by_submission, longest_run_first, n_held
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class Gandiva:
    """Time-slices GPUs and co-locates pairs, as far as measurements do not speak against it.

    1. running jobs stay, and pairs measured to do less than least_times the work of one are separated; 2. waiting jobs
    take free GPUs in order of submission; 3. the rest is co-located with running jobs of as many GPUs, the least used
    first, two per GPU, unless such a pair of families was measured and lost; 4. while a job waits, jobs that had a
    slice of slice_s make room for those that waited longest.

    Pairs are remembered by family. Source: Xiao et al., OSDI '18. Deviation: sizes do not grow and shrink, and nothing
    migrates.
    """

    slices_time: ClassVar[bool] = True

    least_times: float = 1.0
    slice_s: float = 600.0
    name: str = "gandiva"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:  # noqa: ARG002
        case = _Case(self, view, budget)
        running, waiting = case.running, case.waiting
        for job in running:
            case.stay(job)
        for job in waiting:
            case.start(job)
        for job in waiting:
            case.pack(job)
        order = tuple(job.id for job in (*running, *waiting))
        return Proposal(tuple(case.grants), order, wake_at_s=case.next_slice_s())


class _Case:
    """One round's scratch board. single: granted jobs that have their GPUs alone, by id."""

    def __init__(self, policy: Gandiva, view: View, budget: Budget) -> None:
        self.policy, self.view, self.budget = policy, view, budget
        self.times = {}
        for pair in view.pairs:
            both = pair.norm_a + pair.norm_b
            self.times[pair.family_a, pair.family_b] = self.times[pair.family_b, pair.family_a] = both
        self.waiting = sorted((job for job in view.jobs if not n_held(job)), key=by_submission)
        rank = self._rank if self.waiting else longest_run_first
        self.running = sorted((job for job in view.jobs if n_held(job)), key=rank)
        self.grants: list[Grant] = []
        self.single: dict[str, JobSnapshot] = {}
        self.reserved = self._reserved()

    def stay(self, job: JobSnapshot) -> None:
        """Packed with its partner if that gains; those whose slice is over go last, and only if there is room."""
        host = next((one for one in self.single.values() if one.allocation == job.allocation), None)
        if host is not None and self._gains(host, job):
            self._colocate(host, job)
        elif self._is_over(job) and self.budget.n_left() - n_held(job) < self.reserved:
            return
        else:
            self._alone(job, Explanation(Reason.UNCHANGED))

    def start(self, job: JobSnapshot) -> None:
        self._alone(job, Explanation(Reason.FITS, {"n_workers": job.fixed_workers}))

    def pack(self, job: JobSnapshot) -> None:
        if self.budget.granted(job) or self.view.max_jobs_per_gpu < 2 or job.profile is None:
            return
        fitting = [
            one
            for one in self.single.values()
            if _size(one) == _size(job)
            and one.shares_within == job.shares_within
            and one.profile is not None
            and self._gains(one, job)
        ]
        if fitting:
            self._colocate(min(fitting, key=lambda one: (-self._times(one, job), one.submitted_at_s, one.id)), job)

    def next_slice_s(self) -> float | None:
        """When the next slice is over, if somebody waits for one."""
        if all(self.budget.granted(job) for job in self.waiting):
            return None
        ends = [(job.allocated_at_s or 0.0) + self.policy.slice_s for job in self.running]
        return min((end for end in ends if end > self.view.now_s), default=None)

    def _alone(self, job: JobSnapshot, why: Explanation) -> None:
        if self.budget.reserve(job, _size(job)):
            self.grants.append(Grant(job.id, _size(job), self.budget.gpu_type(job), (why,)))
            self.single[job.id] = job

    def _colocate(self, host: JobSnapshot, job: JobSnapshot) -> None:
        gpu_type = self.budget.gpu_type(host)
        if not self.budget.reserve_colocated(job, _size(job), gpu_type=gpu_type):
            return
        del self.single[host.id]
        facts: dict[str, Any] = {"n_workers": _size(job), "partners": host.id}
        why = Explanation(Reason.COLOCATION_MEASURED, facts)
        if (host.family, job.family) in self.times:
            why = Explanation(Reason.COLOCATED, {**facts, "times": self._times(host, job)})
        self.grants.append(Grant(job.id, _size(job), gpu_type, (why,), colocated_with=(host.id,)))

    def _times(self, one: JobSnapshot, other: JobSnapshot) -> float:
        """The work of both, of one alone; what was never tried counts as just worth it."""
        return self.times.get((one.family, other.family), self.policy.least_times)

    def _gains(self, one: JobSnapshot, other: JobSnapshot) -> bool:
        return self._times(one, other) >= self.policy.least_times

    def _is_over(self, job: JobSnapshot) -> bool:
        since_s = self.view.now_s if job.allocated_at_s is None else job.allocated_at_s
        return self.view.now_s - since_s >= self.policy.slice_s

    def _rank(self, job: JobSnapshot) -> tuple[float, int, float, str]:
        """Jobs whose slice is over last, the longest-running ones at the very end."""
        over = self._is_over(job)
        since_s = job.allocated_at_s or 0.0
        return (-float(job.priority), int(over), -since_s if over else since_s, job.id)

    def _reserved(self) -> int:
        """GPUs that waiting jobs need."""
        return sum(job.fixed_workers for job in self.waiting)


def _size(job: JobSnapshot) -> int:
    return n_held(job) or job.fixed_workers
