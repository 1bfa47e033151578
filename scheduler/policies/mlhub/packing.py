# SPDX-License-Identifier: Apache-2.0
"""GPU sharing for the default policy: which jobs are co-located, by what each GPU would do for the queue otherwise.

A job's progress is worth the more the less is left of it. A group is worth the sum over its members of the speed with
the others times that, and costs its GPUs at a price. Where nodes take two jobs a GPU, pairs are those that gain most
at the least price at which all jobs that are worth it have GPUs. Where they take more, the price is that of the best
jobs that get none, and groups are joined two by two, by a matching of maximum weight. Where nothing waits it is 0, and
no jobs share. What is not known of a pair is taken to be good if both still train for long: a try costs a minute and
teaches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode
from scheduler.models.interference.colocated_speeds import ColocatedSpeeds
from scheduler.policies.mlhub.group_values import TRY_S, GroupValues, Left, place_of
from scheduler.policies.mlhub.market import (
    LEAST_GAIN,
    Market,
    SharingUnit,
    clearing_price,
    most_valuable_first,
    price_of_left_out,
)
from scheduler.policies.toolkit.heaviest_pairs import heaviest_pairs
from scheduler.policies.toolkit.policy import Grant, Proposal, View, n_held
from scheduler.quota.budget import Budget

CARRIED_OUT_S = 30.0  # a decision stays for so long, if no job arrives or ends and nothing is learnt
MOST_UNITS = 240  # of one kind, for the matching costs their cube


class PackingSearch:
    """Searches one round's groups of co-located jobs.

    hosts: by guest. guests: jobs that share now and are not the first of their group. gpu_type: only jobs on GPUs of
    that type, or assigned to it, are looked at; "" = all, where there is one type. key: of its memory.

    memory: what applied() left in the proposal. A decision stays as it is while it is carried out, because a market
    that lacks the jobs on their way has other prices.
    """

    def __init__(
        self, view: View, *, memory: Mapping[str, Any], is_on: bool = True, gpu_type: str = "", key: str = "pairing"
    ) -> None:
        self.view, self.memory, self.gpu_type, self.key = view, memory.get(key, {}), gpu_type, key
        self.colocated = ColocatedSpeeds(view.pairs, cache=view.interference)
        self.is_on = is_on and view.max_jobs_per_gpu > 1
        self.jobs: Sequence[JobSnapshot] = view.jobs
        self.hosts: dict[str, str] = {}
        self.units: list[SharingUnit] = []
        self.decided_at_s = view.now_s
        starting = {place_of(job) for job in view.settled if job.allocation is not None and n_held(job)}
        self.bound = {job.id for job in view.jobs if n_held(job) and place_of(job) in starting}
        self.guests = self._guests() if self.is_on else set()

    def _guests(self) -> set[str]:
        seen: dict[GangAllocation, str] = {}
        guests = set()
        for job in sorted(self.view.jobs, key=lambda job: (job.allocated_at_s or 0.0, job.submitted_at_s, job.id)):
            if job.allocation is not None and n_held(job) and seen.setdefault(place_of(job), job.id) != job.id:
                guests.add(job.id)
        return guests

    def join(self, budget: Budget, jobs: Sequence[JobSnapshot], *, left_s: Left) -> None:
        """Rearranges what the budget granted to single jobs into groups of jobs, each on the GPUs of one.

        jobs: those that may be rearranged. left_s: their remaining seconds by size.
        """
        if not self.is_on:
            return
        self.jobs = jobs
        if self._is_carried_out():
            self.decided_at_s = self.memory["at_s"]
            self._recall(budget)
            return
        if all(budget.granted(job) for job in self.jobs):
            return
        n_left = budget.left_by_type().get(self.gpu_type, 0) if self.gpu_type else budget.n_left()
        n_gpus = n_left + sum(budget.granted(job) for job in self.jobs)
        sizes = {job.id: budget.granted(job) or n_held(job) or job.min_workers for job in self.jobs}
        self.groups = GroupValues(
            self.view, self.colocated, jobs=self.jobs, left_s=left_s, sizes=sizes, gpu_type=self.gpu_type
        )
        units = [self.groups.unit((job,), sizes[job.id]) for job in self.jobs]
        units, rest = self._first(units, n_gpus)
        if self.view.max_jobs_per_gpu == 2 and sum(unit.n for unit in units) > n_gpus:
            units = self._cleared(units, n_gpus)
        size = 1
        while 2 < self.view.max_jobs_per_gpu > size and (price := price_of_left_out(units, n_gpus)) > 0:
            units = self._joined(units, price)
            size *= 2
        self._serve([*units, *rest], budget)

    def _is_carried_out(self) -> bool:
        at_s = self.memory.get("at_s")
        is_recent = at_s is not None and self.view.now_s < at_s + CARRIED_OUT_S
        return at_s == self.view.now_s or (is_recent and self.memory.get("state") == self._state_key())

    def _state_key(self) -> list[int]:
        """A key that is the same as long as no job arrives or ends and no pair is measured."""
        ids = sorted(job.id for job in (*self.view.jobs, *self.view.settled))
        return [crc32(" ".join(ids).encode()), len(self.view.pairs)]

    def _first(self, units: Sequence[SharingUnit], n_gpus: int) -> tuple[list[SharingUnit], list[SharingUnit]]:
        """Those that could be served if all groups were full, the most valuable first; and the rest."""
        left = n_gpus * self.view.max_jobs_per_gpu
        first: list[SharingUnit] = []
        rest: list[SharingUnit] = []
        for unit in sorted(units, key=most_valuable_first):
            fits = unit.n <= left
            (first if fits else rest).append(unit)
            left -= unit.n * fits
        return first, rest

    def applied(self, proposal: Proposal) -> Proposal:
        """Returns the proposal with the guests co-located with their hosts, and why."""
        if not self.units:
            return proposal
        groups = {job.id: unit for unit in self.units for job in unit.jobs}
        grants: list[Grant] = []
        guests: list[Grant] = []
        notes = dict(proposal.notes)
        for grant in proposal.grants:
            unit = groups.get(grant.job)
            if unit is None or len(unit.jobs) == 1:
                grants.append(grant)
                continue
            why = self._why(grant.job, unit)
            notes[grant.job] = why
            plain = Grant(grant.job, unit.n, grant.gpu_type, why, packing=grant.packing)
            host = self.hosts.get(grant.job)
            (guests if host else grants).append(replace(plain, colocated_with=(host,)) if host else plain)
        kept = [[unit.n, *(job.id for job in unit.jobs)] for unit in self.units]
        memory = {**proposal.memory, self.key: {"at_s": self.decided_at_s, "state": self._state_key(), "groups": kept}}
        wake_at_s = self._wake_at_s(proposal.wake_at_s)
        return replace(
            proposal,
            grants=(*grants, *guests),
            notes=notes,
            memory=memory,
            wake_at_s=wake_at_s,
            places_after_preemption=True,
        )

    # joining

    def _cleared(self, units: Sequence[SharingUnit], n_gpus: int) -> list[SharingUnit]:
        """Joined at the least price of a GPU at which no more are asked for than there are."""
        classes: dict[tuple[Any, ...], list[SharingUnit]] = {}
        for unit in sorted(units, key=most_valuable_first):
            classes.setdefault(self._class(unit), []).append(unit)
        parts = (many[at : at + MOST_UNITS] for many in classes.values() for at in range(0, len(many), MOST_UNITS))
        markets = [Market(part, self.groups.values([unit.jobs[0] for unit in part], part[0].n)) for part in parts]
        price = clearing_price(markets, n_gpus)
        found: list[SharingUnit] = []
        for market in markets:
            pairs = market.pairs(price)
            paired = {i for pair in pairs for i in pair}
            found += [self.groups.unit(market.units[i].jobs + market.units[j].jobs, market.n) for i, j in pairs]
            found += [unit for i, unit in enumerate(market.units) if i not in paired]
        return found

    def _joined(self, units: Sequence[SharingUnit], price: float) -> list[SharingUnit]:
        classes: dict[tuple[Any, ...], list[SharingUnit]] = {}
        for unit in sorted(units, key=most_valuable_first):
            classes.setdefault(self._class(unit), []).append(unit)
        found: list[SharingUnit] = []
        for many in classes.values():
            found += self._matched(many[:MOST_UNITS], price) + many[MOST_UNITS:]
        return found

    def _matched(self, units: list[SharingUnit], price: float) -> list[SharingUnit]:
        gains: dict[tuple[int, int], float] = {}
        together: dict[tuple[int, int], SharingUnit] = {}
        for i, one in enumerate(units):
            for j, other in enumerate(units[:i]):
                if len(one.jobs) + len(other.jobs) > self.view.max_jobs_per_gpu:
                    continue
                both = self.groups.unit(other.jobs + one.jobs, one.n)
                gain = both.profit(price) - one.profit(price) - other.profit(price)
                if gain > LEAST_GAIN * (one.value + other.value):
                    together[j, i] = both
                    gains[j, i] = gain
        matched = heaviest_pairs(gains)
        paired = {i for pair in matched for i in pair}
        return [together[pair] for pair in matched] + [u for i, u in enumerate(units) if i not in paired]

    def _class(self, unit: SharingUnit) -> tuple[Any, ...]:
        """A key of jobs that may share: as many GPUs, the same types and circle; none where one of them just starts."""
        first = unit.jobs[0]
        may_share = all(
            job.profile is not None and job.mode is not Mode.PARAMETER_SERVER and job.id not in self.bound
            for job in unit.jobs
        )
        return unit.n, first.gpu_types, first.shares_within, "" if may_share else first.id

    # serving

    def _serve(self, units: Sequence[SharingUnit], budget: Budget) -> None:
        """The most valuable per GPU first; jobs that are left alone for now stay served before all others."""
        trial = budget.copy()
        for job in self.jobs:
            trial.release(job)
        places: set[GangAllocation] = set()
        for unit in sorted(units, key=most_valuable_first):
            host = self._host(unit, places)
            if not trial.reserve(host, unit.n, gpu_type=self.gpu_type or None):
                continue
            if n_held(host):
                places.add(place_of(host))
            served = [host]
            for job in unit.jobs:
                if job is not host and trial.reserve_colocated(job, unit.n, gpu_type=trial.gpu_type(host)):
                    self.hosts[job.id] = host.id
                    served.append(job)
            self.units.append(SharingUnit(tuple(served), unit.n, unit.value))
        budget.adopt(trial)

    def _recall(self, budget: Budget) -> None:
        """The groups as decided at this instant; starting jobs need nothing more."""
        trial = budget.copy()
        mine = {job.id for job in self.jobs}
        recalled = {job_id for _, *members in self.memory["groups"] for job_id in members}
        for job in self.view.jobs:
            if job.id in recalled or job.id in mine:
                trial.release(job)
        deciding = {job.id: job for job in self.view.jobs}
        jobs = {job.id: job for job in (*self.view.jobs, *self.view.settled)}
        for n, host, *guests in self.memory["groups"]:
            gpu_type = ""
            if host in deciding:
                if not trial.reserve(deciding[host], n, gpu_type=self.gpu_type or None):
                    continue
                gpu_type = trial.gpu_type(deciding[host])
            for guest in guests:
                if (
                    guest in deciding
                    and host in jobs
                    and trial.reserve_colocated(deciding[guest], n, gpu_type=gpu_type)
                ):
                    self.hosts[guest] = host
            members = tuple(jobs[job_id] for job_id in (host, *guests) if job_id in jobs)
            if members:
                self.units.append(SharingUnit(members, n, 0.0))
        budget.adopt(trial)

    def _host(self, unit: SharingUnit, taken: set[GangAllocation]) -> JobSnapshot:
        """One that is where most of the group are, if no other group is to be there."""
        held = [place_of(job) for job in unit.jobs if n_held(job) == unit.n]

        def key(job: JobSnapshot) -> tuple[bool, int]:
            is_there = n_held(job) == unit.n and place_of(job) not in taken
            return not is_there, -held.count(place_of(job)) if is_there else 0

        return min(unit.jobs, key=key)

    def _why(self, job_id: str, unit: SharingUnit) -> tuple[Explanation, ...]:
        alone_s = [self.view.speeds.step_s(job, unit.n, gpu_type=self.gpu_type) for job in unit.jobs]
        norms = self.colocated.norms(unit.jobs, alone_s=alone_s) or ()
        partners = ", ".join(job.id for job in unit.jobs if job.id != job_id)
        return (Explanation(Reason.COLOCATED, {"n_workers": unit.n, "partners": partners, "times": sum(norms)}),)

    def _wake_at_s(self, wake_at_s: float | None) -> float | None:
        """Soon, where a pair is tried out."""
        tried = [unit for unit in self.units if len(unit.jobs) == 2 and not self._is_known(unit)]
        soon_s = self.view.now_s + TRY_S
        return wake_at_s if not tried else soon_s if wake_at_s is None else min(wake_at_s, soon_s)

    def _is_known(self, unit: SharingUnit) -> bool:
        one, other = unit.jobs
        is_staged = all(job.profile is not None and job.profile.cpu_io_s is not None for job in unit.jobs)
        return is_staged or self.colocated.is_measured(one, other)
