# SPDX-License-Identifier: Apache-2.0
"""DL2: a trained network gives GPUs away step by step; after Peng et al., DL2 (2019)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot
from scheduler.policies.dl2.network import N_FEATURES, Weights, logits, trained
from scheduler.policies.toolkit.policy import Grant, Proposal, View, by_submission, n_held
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class Dl2:
    """Grants all GPUs anew in every slot: the network picks a job, which gets its next size, until it stops.

    slot_s: inside a slot those that run stay as they are, and those that wait may take what is idle. A next size is the
    least size, then the double, up to the most. Knows lengths and speeds.
    Deviations from the paper: jobs share one set of layers and are pooled, so that their number is not fixed and their
    order means nothing; the likeliest action is taken, not a drawn one; it may not stop while a job waits that fits.
    """

    slot_s: float = 1200.0
    name: str = "dl2"
    is_elastic: ClassVar[bool] = True

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        jobs = sorted(view.jobs, key=by_submission)
        ends_s = float(memory.get("ends_s", view.now_s))
        is_new = view.now_s >= ends_s - 1e-6
        if is_new:
            ends_s = view.now_s + self.slot_s
        picked = _Giving(self, view, jobs, budget).give(anew=is_new)
        rest = [job for job in jobs if job.id not in set(picked)]
        order = [*picked, *(job.id for job in rest)]
        by_id = {job.id: job for job in jobs}
        granted = [by_id[job_id] for job_id in order if budget.granted(by_id[job_id])]
        gone = (Explanation(Reason.SLOT_ENDED),)
        return Proposal(
            tuple(_grant(job, budget) for job in granted),
            tuple(order),
            {job.id: gone for job in jobs if budget.granted(job) < n_held(job)},
            {"ends_s": ends_s},
            {job.id: sizes_of(job) for job in jobs},
            ends_s if jobs else None,
        )

    def weights(self) -> Weights:
        """Returns the trained weights of the network."""
        return trained()

    def act(self, features_JF: Floats, mask: Floats, scores: Floats) -> int:  # noqa: ARG002
        """Returns the index of the job that gets its next size, or the number of jobs to stop.

        Training draws instead.
        """
        return int(np.argmax(scores + mask))


class _Giving:
    """One round's scratch board."""

    def __init__(self, policy: Dl2, view: View, jobs: list[JobSnapshot], budget: Budget) -> None:
        self.policy, self.view, self.jobs, self.budget = policy, view, jobs, budget
        self.n_gpus = max(1, sum(node.n_gpus for node in view.nodes if node.is_schedulable))
        self.weights = policy.weights()

    def give(self, *, anew: bool) -> list[str]:
        """Ids in the order in which they got their first GPUs."""
        picked: list[str] = []
        if not anew:
            for job in self.jobs:
                if n_held(job) and self.budget.reserve(job, n_held(job)):
                    picked.append(job.id)
        able = [job for job in self.jobs if anew or not self.budget.granted(job)]
        features = np.array([self._features(job, len(able)) for job in able]).reshape(len(able), N_FEATURES)
        while able and (mask := self._mask(able)).max() == 0.0:
            features[:, 0] = self.budget.n_left() / self.n_gpus
            chosen = self.policy.act(features, mask, logits(features, self.weights))
            if chosen == len(able):
                break
            job = able[chosen]
            self.budget.reserve(job, next_size(job, self.budget.granted(job)))
            features[chosen] = self._features(job, len(able))
            if job.id not in picked:
                picked.append(job.id)
        return picked

    def _mask(self, able: Sequence[JobSnapshot]) -> Floats:
        """0 for what may be done, -inf for the rest, shape (J + 1,); all -inf if no job may get anything."""
        fits, waits = [], False
        for job in able:
            had = self.budget.granted(job)
            n_workers = next_size(job, had)
            fits.append(n_workers > had and self.budget.refusal(job, n_workers) is None)
            waits |= fits[-1] and not had
        may_stop = any(fits) and not waits
        return np.where(np.array([*fits, may_stop]), 0.0, -np.inf)

    def _features(self, job: JobSnapshot, n_jobs: int) -> list[float]:
        """What is free; sizes had, held and next; time left, and what the next size saves of it; age; priority."""
        had, held = self.budget.granted(job), n_held(job)
        least, after = sizes_of(job)[0], next_size(job, had)
        left_s = self.view.speeds.remaining_s(job, had or least)
        saved = 1.0 if not had else 1 - self.view.speeds.remaining_s(job, after) / left_s
        return [
            self.budget.n_left() / self.n_gpus,
            math.log2(1 + had) / 6,
            math.log2(1 + held) / 6,
            math.log2(1 + after - had) / 6,
            math.log1p(left_s) / 15,
            math.log1p(left_s * (had or least)) / 15,
            saved,
            math.log1p(max(0.0, self.view.now_s - job.submitted_at_s)) / 15,
            max(-8, min(8, job.priority)) / 8,
            math.log2(1 + n_jobs) / 6,
        ]


def sizes_of(job: JobSnapshot) -> tuple[int, ...]:
    """Returns the least size of the job, its doubles, and the most."""
    sizes = [job.min_workers]
    while sizes[-1] < job.max_workers:
        sizes.append(min(2 * sizes[-1], job.max_workers))
    return tuple(sizes)


def next_size(job: JobSnapshot, n_workers: int) -> int:
    """Returns the next larger size; the same if there is none."""
    return next((n for n in sizes_of(job) if n > n_workers), n_workers)


def _grant(job: JobSnapshot, budget: Budget) -> Grant:
    n_workers = budget.granted(job)
    why = Explanation(Reason.LEARNED_POLICY, {"n_workers": n_workers})
    return Grant(job.id, n_workers, budget.gpu_type(job), (why,), least_workers=job.min_workers)
