# SPDX-License-Identifier: Apache-2.0
"""Sharing GPUs out by marginal gain: what is granted, and what is not even asked for."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler import JobSnapshot, TenantSnapshot
from scheduler.policies.toolkit.waterfill import waterfill
from scheduler.quota.budget import Budget
from scheduler.quota.ledger import Ledger

SIZES = (1, 2, 4, 8)


class CountingBudget(Budget):
    """Remembers which sizes were asked for."""

    def __init__(self, gpus: dict[str, int]) -> None:
        super().__init__(gpus, Ledger([TenantSnapshot("a")]), present={})
        self.requests: list[int] = []

    def reserve(self, job: JobSnapshot, n_workers: int, *, gpu_type: str | None = None) -> bool:
        self.requests.append(n_workers)
        return super().reserve(job, n_workers, gpu_type=gpu_type)


def jobs(n: int) -> list[JobSnapshot]:
    return [JobSnapshot(f"j{i}", "a", float(i), 100, 32) for i in range(n)]


def linear(job: JobSnapshot, sizes: Sequence[int]) -> list[float]:
    """The earlier job's GPUs are worth more."""
    return [n * (10.0 - job.submitted_at_s) for n in sizes]


def shared_out(n_gpus: dict[str, int], n_jobs: int) -> tuple[CountingBudget, list[int]]:
    budget, present = CountingBudget(n_gpus), jobs(n_jobs)
    sizes = {job.id: SIZES for job in present}
    types = dict.fromkeys(sizes, "v100")
    waterfill(present, budget=budget, sizes=sizes, values=linear, min_gain=0.0, types=types)
    return budget, [budget.granted(job) for job in present]


def test_gpus_go_where_they_gain_most_until_none_are_left() -> None:
    budget, granted = shared_out({"v100": 11}, 3)
    assert granted == [8, 2, 1]
    assert budget.n_left() == 0


def test_no_size_is_asked_for_of_which_too_few_gpus_of_the_type_are_left() -> None:
    budget, granted = shared_out({"p100": 64, "v100": 3}, 4)
    assert granted == [2, 1, 0, 0]
    assert max(budget.requests) <= 3


def test_what_a_job_was_granted_counts_for_its_own_larger_sizes() -> None:
    budget = CountingBudget({"v100": 4})
    one, other = jobs(2)
    assert budget.reserve(one, 2, gpu_type="v100")
    assert budget.most_workers(one, "v100") == budget.most_workers(one) == 4
    assert budget.most_workers(one, "p100") == 0
    assert budget.most_workers(other, "v100") == budget.most_workers(other) == 2
