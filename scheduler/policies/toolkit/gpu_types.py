# SPDX-License-Identifier: Apache-2.0
"""Assigns jobs to GPU types so that the sum of completion times is small: each type has a price. For any policy.

On machines of different speeds the sum of completion times is that of (position from the end) x (time there), over all
jobs (Horn, 1973; Bruno, Coffman and Sethi, 1974): a job that is started earlier delays all that follow it on its type.
Jobs are assigned from the longest to the shortest, each to the type where its time at the price of that type is least.
Deviation: the exact solution is a matching of jobs and positions, which gangs have none of; with jobs of one GPU the
order from the longest is exact where all types are alike. A local search after it changed mean completion times of
replayed traces by less than 2 %, in both directions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import NamedTuple

from scheduler.api.topology import NodeSnapshot


class TypeOptions(NamedTuple):
    """Holds what a job would take on each GPU type that it may use: GPUs, and seconds to its end, restart included.

    submitted_at_s: orders jobs that take equally long.
    """

    job: str
    submitted_at_s: float
    n_gpus: MutableMapping[str, int]
    left_s: MutableMapping[str, float]

    def add(self, gpu_type: str, n_gpus: int, left_s: float) -> None:
        """Adds what it would take on a type."""
        self.n_gpus[gpu_type], self.left_s[gpu_type] = n_gpus, left_s

    @property
    def least_gpu_s(self) -> float:
        """Returns the GPU-seconds on the type where they are fewest."""
        return min([self.left_s[t] * n for t, n in self.n_gpus.items()])


class TypeQueue:
    """Counts the jobs that were assigned to one type so far, which all follow the next one that is assigned."""

    def __init__(self, capacity: int) -> None:
        self._capacity = max(1, capacity)
        self._n_jobs = self._n_gpus = 0

    def price(self, n_gpus: int) -> float:
        """Returns what a second of a gang on so many GPUs costs all jobs: one for itself, and its delay of the others.

        Of b jobs on g GPUs in all (itself included) about b · (1 - C / 2g) wait for some of its n GPUs out of C, each
        for n/C of its time. For jobs of one GPU this is the smoothed position from the end, 1/2 + b/C, from C/2 on.
        """
        b, g = self._n_jobs + 1, self._n_gpus + n_gpus
        return 1.0 + n_gpus * (b / self._capacity) * max(0.0, 1.0 - self._capacity / (2 * g))

    def add(self, n_gpus: int) -> None:
        """Adds a job on so many GPUs."""
        self._n_jobs += 1
        self._n_gpus += n_gpus


def assign_types(jobs: Iterable[TypeOptions], *, capacity: Mapping[str, int]) -> dict[str, str]:
    """Returns a GPU type for each job with an option; of equally good types the first by name.

    capacity: GPUs by type.
    """
    queues = {gpu_type: TypeQueue(n) for gpu_type, n in capacity.items()}
    found: dict[str, str] = {}
    able = [job for job in jobs if job.left_s]
    for job in sorted(able, key=lambda job: (-job.least_gpu_s, -job.submitted_at_s, job.job)):
        _, gpu_type = min([(job.left_s[t] * queues[t].price(n), t) for t, n in job.n_gpus.items()])
        found[job.job] = gpu_type
        queues[gpu_type].add(job.n_gpus[gpu_type])
    return found


def capacity_by_type(nodes: Iterable[NodeSnapshot]) -> dict[str, int]:
    """Returns the GPUs of nodes that accept jobs, by type, sorted by name."""
    found: dict[str, int] = {}
    for gpu_type, n_gpus in sorted(_open_gpus(nodes)):
        found[gpu_type] = found.get(gpu_type, 0) + n_gpus
    return found


def _open_gpus(nodes: Iterable[NodeSnapshot]) -> Iterator[tuple[str, int]]:
    return ((node.gpu_type, node.n_gpus) for node in nodes if node.is_schedulable and node.n_gpus)
