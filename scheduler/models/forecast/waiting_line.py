# SPDX-License-Identifier: Apache-2.0
"""The waiting jobs of a forecast in their order, by tenant, kind and least size, so that the next one that fits is
found quickly.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence

from scheduler.api.snapshot import JobSnapshot

MOST_REFUSED = 200  # groups that quota refuses at one instant; those behind them wait for the next one

_Group = tuple[str, int, Hashable]  # tenant ("" where quota does not matter), least size, and kind


class WaitingLine:
    """Holds waiting jobs in groups of one tenant, kind and least size, each in order: where its first job may not
    start, no other of the group may.

    strict_order: no job overtakes one for which too few GPUs are free; one that its quota refuses holds up none.
    kind: by job and least size, equal where quota treats jobs of a tenant alike; None = quota does not count.
    """

    def __init__(
        self,
        queue: Sequence[JobSnapshot],
        sizes: Callable[[JobSnapshot], Sequence[int]],
        *,
        strict_order: bool,
        kind: Callable[[JobSnapshot, int], Hashable] | None,
    ) -> None:
        self._strict_order, self._sizes, self._kind = strict_order, sizes, kind
        self._n_jobs = 0
        self._by_size: dict[int, dict[_Group, deque[tuple[int, JobSnapshot]]]] = {}
        for job in queue:
            self.append(job)

    def __bool__(self) -> bool:
        return bool(self._by_size)

    def append(self, job: JobSnapshot) -> None:
        """Puts a job at the end of the line."""
        least = self._sizes(job)[0]
        group = ("", least, None) if self._kind is None else (job.tenant, least, self._kind(job, least))
        self._by_size.setdefault(least, {}).setdefault(group, deque()).append((self._n_jobs, job))
        self._n_jobs += 1

    def take(
        self,
        free: Callable[[], int],
        is_allowed: Callable[[JobSnapshot, int], bool],
        *,
        tenants: Collection[str] | None = None,
    ) -> Iterator[JobSnapshot]:
        """Takes the jobs that may start out of the line, in order. free: the GPUs that are left, asked for each job.

        Between two of them only more is taken: a group that was refused once is refused until the end.
        tenants: only jobs of these; None = of all.
        """
        heads = self._heads(free(), tenants)
        heapq.heapify(heads)
        n_refused = 0
        while heads and n_refused < MOST_REFUSED and (left := free()) > 0:
            _, key = heads[0]
            least = key[1]
            group = self._by_size[least][key]
            if least > left and self._strict_order:
                return
            if least > left or not is_allowed(group[0][1], least):
                n_refused += least <= left
                heapq.heappop(heads)
                continue
            _, job = group.popleft()
            if group:
                heapq.heapreplace(heads, (group[0][0], key))
            else:
                heapq.heappop(heads)
                self._forget(key)
            yield job

    def _forget(self, key: _Group) -> None:
        del self._by_size[key[1]][key]
        if not self._by_size[key[1]]:
            del self._by_size[key[1]]

    def _heads(self, n_free: int, tenants: Collection[str] | None) -> list[tuple[int, _Group]]:
        """The first places of the groups of these tenants that may start; what does not fit only matters where it holds
        up others.
        """
        if n_free <= 0:
            return []
        return [
            (group[0][0], key)
            for least, groups in self._by_size.items()
            if least <= n_free or self._strict_order
            for key, group in groups.items()
            if tenants is None or key[0] in tenants
        ]
