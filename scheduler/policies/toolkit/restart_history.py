# SPDX-License-Identifier: Apache-2.0
"""What Pollux and its successors know of a job's past: how far it was measured, and how often it began anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.snapshot import JobSnapshot
from scheduler.policies.toolkit.policy import View, n_held


def most_workers(job: JobSnapshot) -> int:
    """Returns at most twice the workers that were measured: an estimate reaches so far (Pollux, sec. 4.1)."""
    measured = max((seen.n_workers for seen in job.observations), default=0)
    return max(job.min_workers, min(job.max_workers, max(1, 2 * measured)))


@dataclass(frozen=True)
class RestartHistory:
    """Counts by job how often it began anew after its first start. since: when it began last."""

    restarts: Mapping[str, int]
    since: Mapping[str, float]

    @classmethod
    def of(cls, view: View, memory: Mapping[str, Any]) -> RestartHistory:
        """Returns what memory() of the round before left in the policy's memory, and what happened since."""
        restarts: dict[str, int] = {}
        since: dict[str, float] = {}
        for job in (*view.jobs, *view.settled):
            before = memory.get("since", {}).get(job.id)
            began_s = job.allocated_at_s if n_held(job) else None
            is_new = before is not None and began_s is not None and began_s != before
            if (n := int(memory.get("restarts", {}).get(job.id, 0)) + is_new) > 0:
                restarts[job.id] = n
            if (last_s := before if began_s is None else began_s) is not None:
                since[job.id] = last_s
        return cls(restarts, since)

    def memory(self) -> dict[str, Any]:
        """Returns JSON values for the policy's memory."""
        return {"restarts": dict(self.restarts), "since": dict(self.since)}

    def discounts(self, jobs: list[JobSnapshot], *, now_s: float, delay_s: float) -> Floats:
        """Returns what the goodput of each job is worth where it is moved, shape (J,), from 0 to 1.

        (age - restarts x delay_s) / (age + delay_s): the part of its life that it would have trained (Pollux, sec.
        4.2.1; Sia, SOSP '23).
        """
        age_J = np.array([max(0.0, now_s - job.submitted_at_s) for job in jobs])
        restarts_J = np.array([self.restarts.get(job.id, 0) for job in jobs])
        delay_s = max(delay_s, 1e-9)
        return np.asarray(np.maximum(age_J - restarts_J * delay_s, 0.0) / (age_J + delay_s))
