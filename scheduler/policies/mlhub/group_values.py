# SPDX-License-Identifier: Apache-2.0
"""What jobs on the same GPUs are worth a second: the progress of each, and the restarts that are saved.

A job's progress is worth the more the less is left of it. A job that stays saves a restart, which counts over the time
in which a change has to pay: groups hold together as far as it costs something to part them, and no further.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode
from scheduler.models.cost import restart_cost_s
from scheduler.models.interference.colocated_speeds import CAUTION, ColocatedSpeeds
from scheduler.policies.mlhub.market import SharingUnit
from scheduler.policies.toolkit.policy import View, n_held

HASTE = 0.2  # 0: all progress is worth the same; 1: that of short jobs is worth as much more as they are shorter
LEAST_WORK_GPU_S = 100.0
HORIZON_S = 1200.0  # in which a change has to pay; about that until the next one
CHARGED = 6.0  # restarts for each that there is: a change disturbs the other jobs of a group, too
BOLDNESS = 1.0  # standard deviations by which a pair that was never measured is taken to do better, where
TRY_PAYS = 20.0  # all of it still train for so many times what a try costs
TRY_S = 60.0  # a pair that was never measured is looked at again after that

Left = Callable[[JobSnapshot, int], float]  # remaining seconds of a job at a size


class GroupValues:
    """Values groups of jobs on the same GPUs in one round. sizes: GPUs of each of these jobs; gpu_type: of all of them.

    weights: what a second of a job's progress is worth, alone. saved: what leaving a job where it is is worth in
    addition.
    """

    def __init__(
        self,
        view: View,
        colocated: ColocatedSpeeds,
        *,
        jobs: Sequence[JobSnapshot],
        left_s: Left,
        sizes: Mapping[str, int],
        gpu_type: str = "",
    ) -> None:
        self.view, self.colocated, self.left_s, self.gpu_type = view, colocated, left_s, gpu_type
        self.weights: dict[str, float] = {}
        self.saved: dict[str, float] = {}
        for job in jobs:
            n = sizes[job.id]
            job_left_s = left_s(job, n)
            worth = job.priority_weight * n / (LEAST_WORK_GPU_S + job_left_s * n) ** HASTE
            cost_s = CHARGED * restart_cost_s(job)
            self.weights[job.id] = worth
            self.saved[job.id] = worth * cost_s / max(min(HORIZON_S, job_left_s + cost_s), cost_s, 1e-9)

    def unit(self, jobs: tuple[JobSnapshot, ...], n: int) -> SharingUnit:
        """Returns the jobs as a unit on the same n GPUs: those on which leaving jobs where they are saves most."""
        norms = self.norms(jobs, n)
        if norms is None:
            return SharingUnit(jobs, n, float("-inf"))
        value = sum(self.weights[job.id] * norm for job, norm in zip(jobs, norms, strict=True))
        saved: dict[GangAllocation, float] = {}
        for job in jobs:
            if n_held(job):
                saved[place_of(job)] = saved.get(place_of(job), 0.0) + self.saved[job.id]
        return SharingUnit(jobs, n, value + max(saved.values(), default=0.0))

    def values(self, jobs: Sequence[JobSnapshot], n: int) -> Floats:
        """Returns the value of each two of the jobs together, as unit() has it, shape (J, J); -inf where they cannot
        be.

        Like jobs have the same speeds with like ones.
        """
        if len(jobs) == 1:
            return np.full((1, 1), -np.inf)
        groups: dict[tuple[Any, ...], list[JobSnapshot]] = {}
        for job in jobs:
            groups.setdefault(self._group_key(job, n), []).append(job)
        norm_SS = np.full((len(groups), len(groups)), -np.inf)
        for a, (one, *_) in enumerate(groups.values()):
            for b, (*_, other) in enumerate(list(groups.values())[: a + 1]):
                norms = self.norms((one, other), n)
                if norms is not None:
                    norm_SS[a, b], norm_SS[b, a] = norms
        number = {sort: s for s, sort in enumerate(groups)}
        sort_J = np.array([number[self._group_key(job, n)] for job in jobs])
        weight_J = np.array([self.weights[job.id] for job in jobs])
        part_JJ = weight_J[:, None] * norm_SS[np.ix_(sort_J, sort_J)]
        return np.asarray(part_JJ + part_JJ.T + self._saved_by(jobs))

    def _saved_by(self, jobs: Sequence[JobSnapshot]) -> Floats:
        """By each two of them that meet where one of them is, shape (J, J)."""
        places: dict[GangAllocation, int] = {}
        place_J = np.array([places.setdefault(place_of(job), len(places)) if n_held(job) else -1 for job in jobs])
        saved_J = np.where(place_J < 0, 0.0, np.array([self.saved[job.id] for job in jobs]))
        is_one_place_JJ = place_J[:, None] == place_J
        return np.where(is_one_place_JJ, saved_J[:, None] + saved_J, np.maximum(saved_J[:, None], saved_J))

    def norms(self, jobs: Sequence[JobSnapshot], n: int) -> tuple[float, ...] | None:
        """Returns the speeds of the jobs together.

        Unmeasured pairs with long remaining times are assumed to be good: trying is cheap for them.
        """
        alone_s = [self._alone_s(job, n) for job in jobs]
        sds = BOLDNESS if all(self._is_long(job) for job in jobs) else -CAUTION
        return self.colocated.norms(jobs, alone_s=alone_s, sds=sds)

    def _is_long(self, job: JobSnapshot) -> bool:
        left_s = self.left_s(job, n_held(job) or job.min_workers)
        return left_s > TRY_PAYS * (TRY_S + restart_cost_s(job))

    def _group_key(self, job: JobSnapshot, n: int) -> tuple[Any, ...]:
        return job.family, job.profile, self._alone_s(job, n), self._is_long(job)

    def _alone_s(self, job: JobSnapshot, n: int) -> float:
        return self.view.speeds.step_s(job, n, gpu_type=self.gpu_type)


def place_of(job: JobSnapshot) -> GangAllocation:
    """Returns a key that is the same for all jobs on the same GPUs."""
    assert job.allocation is not None
    return GangAllocation(Mode.ALL_REDUCE, job.allocation.n_workers, 0, job.allocation.shares)
