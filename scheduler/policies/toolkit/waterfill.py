# SPDX-License-Identifier: Apache-2.0
"""Shares GPUs out by marginal gain: each next step up in size goes where a GPU gains most. Used by elastic policies."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence

from scheduler.api.snapshot import JobSnapshot
from scheduler.quota.budget import Budget

SizeValues = Callable[[JobSnapshot, Sequence[int]], Sequence[float]]  # worth of each size of a job; 0 workers: 0


def waterfill(
    jobs: Iterable[JobSnapshot],
    *,
    budget: Budget,
    sizes: Mapping[str, Sequence[int]],
    values: SizeValues,
    min_gain: float,
    types: Mapping[str, str] | None = None,
) -> None:
    """Grants sizes out of the budget, starting from what each job was granted already.

    The best chord first: (value(m) - value(n)) / (m - n) over all larger sizes m of a job of size n, so that a hump in
    the curve is stepped over. A larger size must be worth min_gain (a share) more than the present one.
    types: the GPU type of each job; None = as the budget chooses.
    Deterministic: ties go to the earlier submission, then to the lower id.
    """
    closed: dict[str, set[int]] = {}
    heap: list[tuple[float, float, str, int]] = []
    by_id = {job.id: job for job in jobs}

    def push(job: JobSnapshot) -> None:
        n, most = budget.granted(job), budget.most_workers(job, None if types is None else types[job.id])
        refused = closed.get(job.id, ())
        larger = [m for m in sizes[job.id] if n < m <= most and m not in refused]  # there is never more than now
        if not larger:
            return
        now, *worths = values(job, (n, *larger)) if n else (0.0, *values(job, larger))
        best: tuple[float, int] | None = None
        for m, worth in zip(larger, worths, strict=True):
            gain = worth - now
            if gain <= min_gain * now or gain <= 0:
                continue
            if best is None or gain / (m - n) > best[0] * (1 + 1e-12):
                best = (gain / (m - n), m)
        if best is not None:
            heapq.heappush(heap, (-best[0], job.submitted_at_s, job.id, best[1]))

    for job in by_id.values():
        push(job)
    while heap:
        _, _, job_id, m = heapq.heappop(heap)
        job = by_id[job_id]
        if not budget.reserve(job, m, gpu_type=None if types is None else types[job_id]):
            closed.setdefault(job_id, set()).add(m)
        push(job)
