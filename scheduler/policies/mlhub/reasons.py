# SPDX-License-Identifier: Apache-2.0
"""Why each job gets what the default policy gives it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot
from scheduler.policies.mlhub.gains import ResizeGains
from scheduler.policies.mlhub.job_values import JobValues
from scheduler.policies.toolkit.policy import n_held
from scheduler.quota.budget import Budget


class SizeReasons:
    """Explains a plan (workers by job). What is the same for all jobs is worked out once."""

    def __init__(self, values: JobValues, plan: Mapping[str, int], budget: Budget) -> None:
        self._values, self._plan, self._budget = values, plan, budget
        self._all_run = all(plan.values())
        self._is_crowded = budget.n_left() == 0 or not self._all_run
        self._gains = ResizeGains(
            plan,
            view=values.view,
            sizes=values.sizes,
            capacity=values.n_gpus,
            types=partial(_gpu_types, values, plan, budget),
        )

    def why(self, job: JobSnapshot) -> Explanation:
        """Returns the reason for the job's size, or for its move to GPUs of another type."""
        n, had = self._plan[job.id], n_held(job)
        if n and had and (moved := self._why_moved(job, n)) is not None:
            return moved
        if n < had:
            gain_s = self._gains.of_others(job) if self._values.view.explains else None
            if gain_s is not None and gain_s > 0:
                return Explanation(Reason.SHRINKS_FOR_OTHERS, {"given": had - n, "gain_s": gain_s})
            return Explanation(Reason.MORE_GAIN_ELSEWHERE, {"given": had - n, "times": self._times_worth(job)})
        if n > had > 0 and self._all_run:
            gain_s = self._values.left_s(job, had) - self._values.left_s(job, n) - self._values.change_s(job, n)
            return Explanation(Reason.IDLE_GPUS, {"extra": n - had, "gain_s": gain_s, "n_workers": n})
        if n == had == 0:
            return Explanation(Reason.UNCHANGED)
        if n == had:
            return self._why_not_larger(job)
        return Explanation(Reason.SHORTENS_AVERAGE if self._is_crowded else Reason.FITS, {"n_workers": n})

    def _why_moved(self, job: JobSnapshot, n: int) -> Explanation | None:
        old_type, new_type = self._values.held_type(job), self._budget.gpu_type(job)
        if not self._values.is_mixed or old_type == new_type:
            return None
        gain_s = self._values.present_left_s(job) - self._values.left_s(job, n) - self._values.change_s(job, n)
        facts = {"n_workers": n, "gpu_type": new_type, "old_type": old_type, "gain_s": abs(gain_s)}
        return Explanation(Reason.FASTER_GPU_TYPE if gain_s > 0 else Reason.OTHER_GPU_TYPE, facts)

    def _why_not_larger(self, job: JobSnapshot) -> Explanation:
        values, had, most = self._values, n_held(job), self._budget.most_workers(job)
        larger = [n for n in values.sizes[job.id] if had < n <= most and self._budget.allows(job, n)]
        if not larger:
            return Explanation(Reason.UNCHANGED)
        best = min(larger, key=lambda n: (values.left_s(job, n), n))
        gain_s = values.left_s(job, had) - values.left_s(job, best)
        if gain_s > 0 and gain_s < (cost_s := values.change_s(job, best)):
            return Explanation(Reason.RESTART_NOT_WORTH_IT, {"gain_s": gain_s, "cost_s": cost_s})
        return Explanation(Reason.UNCHANGED)

    def _times_worth(self, job: JobSnapshot) -> float:
        """How much more a GPU is worth to jobs that grow than to the one that shrinks."""
        had, n = n_held(job), self._plan[job.id]
        lost = (self._values.value(job, had) - (self._values.value(job, n) if n else 0.0)) / (had - n)
        return self._gained_by_gpu / lost if lost > 0 and self._gained_by_gpu else 1.0

    @cached_property
    def _gained_by_gpu(self) -> float:
        """What a GPU is worth to jobs that grow; 0 if none does."""
        gained, gpus = 0.0, 0
        growing = [job for job in self._values.jobs if self._plan[job.id] > n_held(job)]
        self._values.prepare(growing)
        for job in growing:
            n, had = self._plan[job.id], n_held(job)
            gained += self._values.value(job, n) - (self._values.value(job, had) if had else 0.0)
            gpus += n - had
        return gained / gpus if gpus else 0.0


def _gpu_types(
    values: JobValues, plan: Mapping[str, int], budget: Budget
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """GPU types by job: as they are held now, and as the plan has them; those of waiting jobs as they are valued."""
    if not values.is_mixed:
        return values.gpu_type, values.gpu_type
    now = {job.id: values.held_type(job) or values.gpu_type[job.id] for job in values.jobs}
    then = {job.id: budget.gpu_type(job) if plan[job.id] else values.gpu_type[job.id] for job in values.jobs}
    return now, then
