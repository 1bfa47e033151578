# SPDX-License-Identifier: Apache-2.0
"""Fair shares of what is guaranteed to no tenant: dominant shares by weight over a tree of tenants.

Words. cohort: a tenant whose children share fairly; contenders: these children, and the cohort's own jobs.
A contender's share is the largest part, over GPUs, CPUs and memory, that its use above its guarantee has of what the
cohort could have, divided by its weight. Who has the smallest share is next.
Source: dominant-resource fairness (Ghodsi et al., NSDI '11) as Kueue's fair sharing counts it (kueue.sigs.k8s.io,
"Fair Sharing"). Deviation: CPUs and memory are guaranteed with the GPUs, as many to each as the cluster has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.snapshot import JobSnapshot, TenantSnapshot
from scheduler.api.topology import NodeSnapshot
from scheduler.quota.borrowing import BorrowingLedger

RESOURCES = ("GPUs", "CPUs", "memory")
ContenderKey = tuple[str | None, str]  # cohort (None: the cluster), contender (the cohort itself: its own jobs)

_LEAST_WEIGHT = 1e-9
_HALVINGS = 80


def demand_R(job: JobSnapshot, n_workers: int) -> Floats:  # noqa: N802 (arrays wear their axes)
    """Returns what so many workers of the job take, shape (R,): GPUs, CPUs, bytes.

    Servers are left out, since placement chooses them.
    """
    return np.array([1.0, job.cpus_per_worker, float(job.memory_per_worker_bytes)]) * n_workers


def total_R(nodes: Iterable[NodeSnapshot]) -> Floats:  # noqa: N802
    """Returns what nodes that take jobs have, shape (R,)."""
    rows = [[float(node.n_gpus), node.cpus, float(node.memory_bytes)] for node in nodes if node.is_schedulable]
    return np.array(rows).sum(axis=0) if rows else np.zeros(len(RESOURCES))


def dominant_share(used_R: Floats, *, nominal_R: Floats, lendable_R: Floats) -> float:
    """Returns the largest part of what can be lent that is used above what is guaranteed; 0 within the guarantee."""
    above_R = np.maximum(used_R - nominal_R, 0.0)
    return float((above_R / np.maximum(lendable_R, 1e-9)).max())


def fair_parts(
    total: int,
    *,
    weights_C: Sequence[float],
    nominal_C: Sequence[int],
    floors_C: Sequence[int],
    demands_C: Sequence[int],
) -> list[int]:
    """Returns whole GPUs: what is above the nominal part goes by weight, none below its floor nor above its demand.

    All of total is given out, or all demands are met; floors above total are kept all the same. What rounding leaves
    over goes to those that have the least for their weight with it, first ones first.
    """
    weights, nominal = np.maximum(np.array(weights_C, float), _LEAST_WEIGHT), np.array(nominal_C, float)
    floors = np.array(floors_C, float)
    demands = np.maximum(np.array(demands_C, float), floors)
    total = int(min(max(total, floors.sum()), demands.sum()))

    def at(level: float) -> Floats:
        found: Floats = np.clip(nominal + weights * level, floors, demands)
        return found

    reach = (demands.max(initial=0.0) + nominal.max(initial=0.0) + 1.0) / weights.min(initial=1.0)
    low, high = -reach, reach
    for _ in range(_HALVINGS):
        level = (low + high) / 2
        low, high = (low, level) if at(level).sum() >= total else (level, high)
    exact = at(high)
    whole = np.maximum(np.floor(exact + 1e-6), floors).astype(int)
    for _ in range(total - int(whole.sum())):  # fewer than there are contenders
        level_C = np.where(whole < demands, (whole + 1 - nominal) / weights, np.inf)
        whole[int(np.argmin(level_C))] += 1
    return [int(n) for n in whole]


class Shares:
    """Holds what every contender uses, and its share. uses: what it is charged for the past (usage.py), by contender.

    borrowing: only its guarantees and limits count, not what is booked in it.
    """

    def __init__(
        self,
        tenants: Iterable[TenantSnapshot],
        *,
        borrowing: BorrowingLedger,
        cluster_R: Floats,
        uses: Mapping[ContenderKey, float] | None = None,
    ) -> None:
        self._tenants = {tenant.id: tenant for tenant in tenants}
        self._borrowing, self._uses = borrowing, uses or {}
        self._per_gpu_R = cluster_R / max(1.0, cluster_R[0])
        self._below: dict[str | None, list[str]] = {}
        for tenant in self._tenants.values():
            self._below.setdefault(tenant.parent, []).append(tenant.id)
        self.lines = {tenant_id: self._line(tenant_id) for tenant_id in self._tenants}
        self._used: dict[ContenderKey, Floats] = {}
        self._waiting: dict[ContenderKey, Floats] = {}

    def copy(self) -> Shares:
        """Returns a copy that is booked on independently."""
        twin = Shares.__new__(Shares)
        twin.__dict__.update(self.__dict__)
        twin._used, twin._waiting = dict(self._used), dict(self._waiting)
        return twin

    def group(self, tenant: str) -> str | None:
        """Returns the contender whose part its jobs count against: the last one above it; None = nothing is shared."""
        if not self.lines[tenant]:
            return None
        cohort, contender = self.lines[tenant][-1]
        return contender if cohort != contender else f"{contender} itself"

    def add(self, tenant: str, demand_R: Floats, *, is_new: bool = False) -> None:
        """Books a job; negative numbers are given back. is_new: it starts in this round."""
        for key in self.lines[tenant]:
            self._used[key] = self._used.get(key, 0.0) + demand_R
            if is_new:
                self._waiting[key] = self._waiting.get(key, 0.0) + demand_R

    def dominant_share(self, key: ContenderKey, more_R: Floats | float = 0.0) -> float:
        """Returns the contender's dominant share with so much more, before it is divided by its weight."""
        cohort, contender = key
        nominal = self._borrowing.guarantee(contender) if cohort != contender else 0
        lendable = self._borrowing.pool(None) if cohort is None else self._borrowing.most(cohort)
        used_R = self._used.get(key, np.zeros(len(RESOURCES))) + more_R
        return dominant_share(used_R, nominal_R=self._per_gpu_R * nominal, lendable_R=self._per_gpu_R * lendable)

    def share(self, key: ContenderKey, more_R: Floats | float = 0.0) -> float:
        """Returns the contender's dominant share by weight, with so much more."""
        return self.dominant_share(key, more_R) / self.weight(key)

    def use(self, key: ContenderKey, more_R: Floats | float = 0.0, *, entry: float = 0.0) -> float:
        """Returns what the contender is charged for the past, by weight.

        entry: the part of a start's share that is charged at once.
        """
        new = self.dominant_share(key, more_R) - self.dominant_share(
            key, -self._waiting.get(key, np.zeros(len(RESOURCES)))
        )
        return (self._uses.get(key, 0.0) + entry * new) / self.weight(key)

    def weight(self, key: ContenderKey) -> float:
        """Returns the weight of the contender."""
        return max(self._tenants[key[1]].weight, _LEAST_WEIGHT)

    def half_life_s(self, cohort: str | None) -> float:
        """Returns the half-life of usage among the children of the tenant, in seconds; 0 = past usage does not
        count.
        """
        return 0.0 if cohort is None else self._tenants[cohort].half_life_s

    def shares_fairly(self, cohort: str | None) -> bool:
        """Returns whether the children of the tenant share fairly."""
        return cohort is not None and self._tenants[cohort].shares_fairly

    def meet(self, a: str, b: str) -> tuple[ContenderKey, ContenderKey] | None:
        """Returns the contenders of one cohort that two tenants belong to; None where no cohort shares between them."""
        for mine, other in zip(self.lines[a], self.lines[b], strict=False):
            if mine != other:
                return (mine, other) if mine[0] == other[0] and self.shares_fairly(mine[0]) else None
        return None

    def parts(self, total: int, *, floors: Mapping[str, int], demands: Mapping[str, int]) -> dict[str, int]:
        """Returns the whole shared out over groups, level by level. floors, demands: GPUs by group, absent: 0."""
        groups = {group: self.lines[t] for t in self._tenants if (group := self.group(t)) is not None}
        found: dict[str, int] = {}

        def share_out(total: int, level: int, members: Collection[str]) -> None:
            below: dict[ContenderKey, list[str]] = {}
            for group in members:
                if len(groups[group]) <= level:
                    found[group] = total
                else:
                    below.setdefault(groups[group][level], []).append(group)
            keys = sorted(below, key=str)
            given = fair_parts(
                total,
                weights_C=[self.weight(key) for key in keys],
                nominal_C=[self._borrowing.guarantee(key[1]) if key[0] != key[1] else 0 for key in keys],
                floors_C=[sum(floors.get(g, 0) for g in below[key]) for key in keys],
                demands_C=[sum(demands.get(g, 0) for g in below[key]) for key in keys],
            )
            for key, n in zip(keys, given, strict=True):
                share_out(n, level + 1, below[key])

        share_out(total, 0, groups)
        return found

    def _line(self, tenant_id: str) -> tuple[ContenderKey, ...]:
        """The contenders it belongs to, from above, as far down as cohorts share fairly; empty: not at all."""
        path = [tenant_id]
        while (parent := self._tenants[path[-1]].parent) is not None:
            path.append(parent)
        line: list[ContenderKey] = []
        cohort: str | None = None
        for at in reversed(path):
            if not (self.shares_fairly(cohort) or (cohort is None and len(self._below[None]) == 1)):
                return tuple(line)
            line.append((cohort, at))
            cohort = at
        if self.shares_fairly(tenant_id) and self._below.get(tenant_id):
            line.append((tenant_id, tenant_id))
        return tuple(line)


def is_fair(tenants: Iterable[TenantSnapshot]) -> bool:
    """Returns whether any tenants share fairly."""
    return any(tenant.shares_fairly for tenant in tenants)
