# SPDX-License-Identifier: Apache-2.0
"""Whose turn it is to borrow where tenants share fairly, and who gives back for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from scheduler.api.arrays import Floats
from scheduler.api.host_resources import planned_resources
from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot, by_submission
from scheduler.quota.demand import Borrower
from scheduler.quota.entitlements import Claimant, FairEntitlement, Reservations
from scheduler.quota.fair_sharing import ContenderKey, Shares, demand_R
from scheduler.quota.guarantees import GuaranteeClaims
from scheduler.quota.ledger import name_of
from scheduler.quota.reclaim import Victim, asked_of, first_to_go
from scheduler.quota.usage import ENTRY_S, entry_penalty

_Kind = tuple[str, int, tuple[str, ...]]  # group, size, GPU types


@dataclass
class FairBorrowing:
    """Shares out what is guaranteed to no tenant.

    claims: with all claims of guarantees met. shares: with all that is held.

    1. turns: of the groups whose jobs wait, the one with the smallest share is next, level by level: the share that its
       next job would bring about; where use counts, what it was charged for the past, this job's start included. Jobs
       that find no GPUs now do not count: a large one would hide the small share of those behind it;
    2. its job takes free GPUs; else such as jobs of contenders with larger shares give back: of the largest share
       first, in it the first to go. Backwards, who turns out not to be needed stays. Only a group's first waiting job
       has others stopped: behind one that finds no GPUs, free ones are all there is, or that one would take those that
       come free, and who left would come back;
    3. safety, verified on the final victims: with the job its contender has less than each victim's had with the
       victim. So no tenant reclaims what it just returned, and shares only come closer to each other;
    4. what still runs then is guarded: other groups' jobs do not get its GPUs, whatever the policy;
    5. where policies size jobs, each group has a ceiling: its part by weight of all that can be used.
    """

    claims: GuaranteeClaims
    shares: Shares
    is_elastic: bool
    reserved: Reservations = field(default_factory=Reservations)
    guarded: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        tenants = self.claims.tenants
        self.groups = {t: group for t in tenants if (group := self.shares.group(t)) is not None}
        self.failed: set[_Kind] = set()
        self.behind: set[str] = set()  # groups whose first job found nothing

    def rights(self, protected: Iterable[str]) -> FairEntitlement:
        """Returns the entitlements. protected: running jobs within a guarantee, which are never reclaimed."""
        own = set(protected)
        self.lenders = [b for b in self.claims.running.values() if b.job.id not in own and b.n_gpus]
        queues = self._queues()
        while queues := {t: queue for t, queue in queues.items() if self._has_next(queue)}:
            tenant = self._next({t: queue[0] for t, queue in queues.items()}, 0)
            self._claim(queues[tenant].popleft())
        self._guard(own)
        weights = {self.groups[t]: self.shares.weight(self.shares.lines[t][-1]) for t in self.groups}
        ceilings = self._ceilings() if self.is_elastic else {}
        return FairEntitlement(self.groups, self.reserved, self.guarded, ceilings, weights=weights)

    # 1

    def _queues(self) -> dict[str, deque[JobSnapshot]]:
        queues: dict[str, deque[JobSnapshot]] = {}
        busy = {*self.claims.running, *self.claims.claimants, *self.claims.waiting_for_borrowed}
        for job in sorted(self.claims.demand.candidates, key=by_submission):
            if job.id not in busy and job.tenant in self.groups:
                queues.setdefault(job.tenant, deque()).append(job)
        return queues

    def _next(self, heads: Mapping[str, JobSnapshot], level: int) -> str:
        """The tenant whose next job is to be served; among tenants of one group by priority and submission."""
        below: dict[object, dict[str, JobSnapshot]] = {}
        for tenant, job in heads.items():
            line = self.shares.lines[tenant]
            below.setdefault(line[level] if level < len(line) else None, {})[tenant] = job
        winners = [members if key is None else [self._next(members, level + 1)] for key, members in below.items()]
        tenants = [tenant for members in winners for tenant in members]
        return min(tenants, key=lambda t: (self._turn(heads[t], level), by_submission(heads[t])))

    def _turn(self, job: JobSnapshot, level: int) -> tuple[float, float]:
        line = self.shares.lines[job.tenant]
        if level >= len(line):
            return 0.0, 0.0
        key, need_R = line[level], demand_R(job, self._sizes(job)[0])
        by_share = self.shares.share(key, need_R)
        half_life_s = self.shares.half_life_s(key[0])
        if not half_life_s:
            return by_share, 0.0
        return self.shares.use(key, need_R, entry=_entry(half_life_s)), by_share

    # 2

    def _has_next(self, queue: deque[JobSnapshot]) -> bool:
        """Whether anything is left that finds GPUs; who does not, will not in this round."""
        while queue and self._find(queue[0]) is None:
            self.behind.add(self.groups[queue.popleft().tenant])
        return bool(queue)

    def _claim(self, job: JobSnapshot) -> None:
        n, gpu_type, victims = self._find(job) or (0, "", [])
        for victim in victims:
            self._give_up(victim, job)
        self._book(job, n, gpu_type)

    def _find(self, job: JobSnapshot) -> tuple[int, str, list[Victim]] | None:
        """A size, a type of GPU, and who gives back for it."""
        group = self.groups[job.tenant]
        sizes = [n for n in self._sizes(job) if (group, n, job.gpu_types) not in self.failed]
        limits = self.claims.limits
        sizes = [n for n in sizes if limits.limit(job.tenant, gpus=n, host=planned_resources(job, n)) is None]
        types = sorted((t for t in self.claims.free if _may_use(job, t)), key=lambda t: (-self.claims.free[t], t))
        for n in sizes:
            for gpu_type in types:
                if self.claims.free[gpu_type] < n:
                    break
                if self.claims.booked.available(job.tenant, gpu_type=gpu_type) >= n:
                    return n, gpu_type, []
        for n in sizes if group not in self.behind else ():
            for gpu_type in types:
                victims = self._victims(job, n, gpu_type)
                if victims is not None:
                    return n, gpu_type, victims
        self.failed.update((group, n, job.gpu_types) for n in sizes)
        return None

    def _victims(self, job: JobSnapshot, n: int, gpu_type: str) -> list[Victim] | None:
        missing = n - max(0, self.claims.free[gpu_type])
        need_R, shares, books = demand_R(job, n), self.shares.copy(), self.claims.booked.copy()
        left = [b for b in self.lenders if b.gpu_type == gpu_type and b.job.id not in self.claims.caps]
        chosen: list[Victim] = []
        while sum(v.freed for v in chosen) < missing or books.available(job.tenant, gpu_type=gpu_type) < n:
            left = [b for b in left if self._may_take(shares, job, need_R, b)]
            if not left:
                return None
            asked = min(left, key=lambda b: (-shares.share(_between(shares, job, b)[1]), first_to_go(b)))
            left.remove(asked)
            short = max(missing - sum(v.freed for v in chosen), n - books.available(job.tenant, gpu_type=gpu_type))
            victim = asked_of(asked, short) if self.is_elastic else Victim(asked, 0, asked.n_gpus)
            chosen.append(victim)
            shares.add(asked.job.tenant, -demand_R(asked.job, victim.freed))
            books.reserve(asked.job.tenant, -victim.freed, gpu_type=gpu_type)
        for victim in reversed(tuple(chosen)):
            freed = sum(v.freed for v in chosen) - victim.freed
            books.reserve(victim.borrower.job.tenant, victim.freed, gpu_type=gpu_type)
            if freed >= missing and books.available(job.tenant, gpu_type=gpu_type) >= n:
                chosen.remove(victim)
                shares.add(victim.borrower.job.tenant, demand_R(victim.borrower.job, victim.freed))
            else:
                books.reserve(victim.borrower.job.tenant, -victim.freed, gpu_type=gpu_type)
        return chosen if all(self._is_safe(shares, job, need_R, victim) for victim in chosen) else None

    # 3

    def _is_safe(self, shares: Shares, job: JobSnapshot, need_R: Floats, victim: Victim) -> bool:
        """shares: without any of the victims. Each is looked at as if it alone had stayed."""
        mine, other = _between(shares, job, victim.borrower)
        with_victim_R = demand_R(victim.borrower.job, victim.freed)
        return shares.share(mine, need_R) < shares.share(other, with_victim_R) - 1e-12

    def _may_take(self, shares: Shares, job: JobSnapshot, need_R: Floats, asked: Borrower) -> bool:
        """shares: with who is asked. Where use counts, the past must not speak against it either."""
        found = shares.meet(job.tenant, asked.job.tenant)
        if found is None or shares.share(found[0], need_R) >= shares.share(found[1]) - 1e-12:
            return False
        half_life_s = shares.half_life_s(found[0][0])
        if not half_life_s:
            return True
        return shares.use(found[0], need_R, entry=_entry(half_life_s)) < shares.use(found[1])

    def _give_up(self, victim: Victim, to: JobSnapshot) -> None:
        job = victim.borrower.job
        _, other = _between(self.shares, to, victim.borrower)
        facts = {
            "tenant": name_of(self.claims.tenants[other[1]]),
            "percent": 100 * self.shares.dominant_share(other),
            "weight": self.shares.weight(other),
        }
        self.claims.release(victim, Explanation(Reason.FAIR_SHARE_RECLAIMED, facts))
        self.shares.add(job.tenant, -demand_R(job, victim.freed))

    def _book(self, job: JobSnapshot, n: int, gpu_type: str) -> None:
        key = self.shares.lines[job.tenant][-1]
        facts = {
            "tenant": name_of(self.claims.tenants[key[1]]),
            "percent": 100 * self.shares.dominant_share(key),
            "weight": self.shares.weight(key),
        }
        self.claims.booked.reserve(job.tenant, n, gpu_type=gpu_type)
        self.claims.limits.reserve(job.tenant, gpus=n, host=planned_resources(job, n))
        self.claims.free[gpu_type] -= n
        self.claims.claimants[job.id] = Claimant(n, gpu_type, Explanation(Reason.FAIR_SHARE_TURN, facts))
        self.reserved.add(self.groups[job.tenant], gpu_type, n)
        self.shares.add(job.tenant, demand_R(job, n), is_new=True)

    # 4, 5

    def _guard(self, own: set[str]) -> None:
        for borrower in self.claims.running.values():
            job = borrower.job
            if job.tenant in self.groups and job.id not in own and job.id not in self.claims.caps and borrower.n_gpus:
                self.guarded.add(job.id)
                n = min(borrower.n_gpus, job.min_workers) if self.is_elastic else borrower.n_gpus
                self.reserved.add(self.groups[job.tenant], borrower.gpu_type, n)

    def _ceilings(self) -> dict[str, int]:
        floors, demands = dict.fromkeys(self.groups.values(), 0), dict.fromkeys(self.groups.values(), 0)
        settled = self.claims.demand.settled
        for tenant, n in settled.items():
            floors[self.groups[tenant]] += n
            demands[self.groups[tenant]] += n
        for job in self.claims.demand.candidates:
            group, cap = self.groups.get(job.tenant), self.claims.caps.get(job.id)
            stays = job.id in self.claims.running and (cap is None or cap.n_workers > 0)
            if group is not None and (stays or job.id in self.claims.claimants):
                floors[group] += job.min_workers
                demands[group] += max(job.min_workers, job.max_workers)
        total = sum(settled.values()) + sum(self.claims.demand.free.values())
        return self.shares.parts(total, floors=floors, demands=demands)

    def _sizes(self, job: JobSnapshot) -> tuple[int, ...]:
        return tuple(dict.fromkeys((job.fixed_workers, job.min_workers)))


def _between(shares: Shares, job: JobSnapshot, asked: Borrower) -> tuple[ContenderKey, ContenderKey]:
    """The contenders of who comes and of who is asked, where they meet."""
    found = shares.meet(job.tenant, asked.job.tenant)
    assert found is not None
    return found


def _entry(half_life_s: float) -> float:
    return entry_penalty(1.0, half_life_s=half_life_s, entry_s=ENTRY_S)


def _may_use(job: JobSnapshot, gpu_type: str) -> bool:
    return not job.gpu_types or gpu_type in job.gpu_types
