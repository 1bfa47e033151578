"""Sharing for the default policy: who is placed beside whom, by what each GPU would do for the queue otherwise.

A job's progress is worth the more the less is left of it. A group is worth the sum over its members of speed beside
the others times that, and costs its GPUs at a price. Where nodes take two jobs a GPU, couples are those that gain most
at the least price at which all who are worth it have GPUs. Where they take more, the price is that of the best who get
none, and groups are joined two by two, by a matching of maximum weight. Where nothing waits it is 0, and nobody shares.
What is not known of a couple is taken to be good if both still train for long: a try costs a minute and teaches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import networkx
import numpy as np

from scheduler.budget import Budget
from scheduler.decisions import Explanation, Reason
from scheduler.models.companions import CAUTION, Companions
from scheduler.models.cost import restart_cost_s
from scheduler.policies.couples import Floats
from scheduler.policies.market import LEAST_GAIN, Market, Unit, clearing_price, most_valuable_first, price_of_left_out
from scheduler.policies.policy import Grant, Proposal, View, n_held
from scheduler.snapshot import Allocation, JobSnapshot, Mode

HASTE = 0.2  # 0: all progress is worth the same; 1: that of short jobs is worth as much more as they are shorter
LEAST_WORK_GPU_S = 100.0
STICKINESS = 0.1  # what it is worth to leave those together that are, where a restart costs something
MOST_UNITS = 240  # of one kind, for the matching costs their cube
BOLDNESS = 1.0  # standard deviations by which a pair that was never measured is taken to do better, where
TRY_PAYS = 20.0  # all of it still train for so many times what a try costs
TRY_S = 60.0  # a pair that was never measured is looked at again after that

Left = Callable[[JobSnapshot, int], float]  # remaining seconds of a job at a size


class Pairing:
    """One round's groups. hosts: by guest. riders: jobs that share now, and are not the first of those that do.

    memory: what applied() left in the proposal's; what was decided at one instant stays so while it is carried out.
    """

    def __init__(self, view: View, *, left_s: Left, memory: Mapping[str, Any], is_on: bool = True) -> None:
        self.view, self.left_s, self.memory = view, left_s, memory
        self.companions = Companions(view.pairs)
        self.is_on = is_on and view.max_jobs_per_gpu > 1
        self.hosts: dict[str, str] = {}
        self.units: list[Unit] = []
        self.weights: dict[str, float] = {}
        starting = {_place(job) for job in view.settled if job.allocation is not None and n_held(job)}
        self.bound = {job.id for job in view.jobs if n_held(job) and _place(job) in starting}
        self.riders = self._riders() if self.is_on else set()

    def _riders(self) -> set[str]:
        seen: dict[Allocation, str] = {}
        riders = set()
        for job in sorted(self.view.jobs, key=lambda job: (job.allocated_at_s or 0.0, job.submitted_at_s, job.id)):
            if job.allocation is not None and n_held(job) and seen.setdefault(_place(job), job.id) != job.id:
                riders.add(job.id)
        return riders

    def join(self, budget: Budget) -> None:
        """Rearrange what the budget granted to single jobs: groups of jobs, each on the GPUs of one."""
        if not self.is_on:
            return
        if self.memory.get("at_s") == self.view.now_s:
            self._recall(budget)
            return
        if all(budget.granted(job) for job in self.view.jobs):
            return
        n_gpus = budget.n_left() + sum(budget.granted(job) for job in self.view.jobs)
        sizes = {job.id: budget.granted(job) or n_held(job) or job.min_workers for job in self.view.jobs}
        self._weigh(sizes)
        units = [self._unit((job,), sizes[job.id]) for job in self.view.jobs]
        units, rest = self._first(units, n_gpus)
        if self.view.max_jobs_per_gpu == 2 and sum(unit.n for unit in units) > n_gpus:
            units = self._cleared(units, n_gpus)
        size = 1
        while 2 < self.view.max_jobs_per_gpu > size and (price := price_of_left_out(units, n_gpus)) > 0:
            units = self._joined(units, price)
            size *= 2
        self._serve([*units, *rest], budget)

    def _first(self, units: Sequence[Unit], n_gpus: int) -> tuple[list[Unit], list[Unit]]:
        """Those that could be served if all groups were full, the most valuable first; and the rest."""
        left = n_gpus * self.view.max_jobs_per_gpu
        first: list[Unit] = []
        rest: list[Unit] = []
        for unit in sorted(units, key=most_valuable_first):
            fits = unit.n <= left
            (first if fits else rest).append(unit)
            left -= unit.n * fits
        return first, rest

    def applied(self, proposal: Proposal) -> Proposal:
        """The proposal with the guests beside their hosts, and why."""
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
            (guests if host else grants).append(replace(plain, beside=(host,)) if host else plain)
        kept = [[unit.n, *(job.id for job in unit.jobs)] for unit in self.units]
        memory = {**proposal.memory, "pairing": {"at_s": self.view.now_s, "groups": kept}}
        wake_at_s = self._wake_at_s(proposal.wake_at_s)
        return replace(
            proposal, grants=(*grants, *guests), notes=notes, memory=memory, wake_at_s=wake_at_s, is_final=True
        )

    # values

    def _weigh(self, sizes: Mapping[str, int]) -> None:
        work = {job.id: self.left_s(job, sizes[job.id]) * sizes[job.id] for job in self.view.jobs}
        for job in self.view.jobs:
            worth = sizes[job.id] / (LEAST_WORK_GPU_S + work[job.id]) ** HASTE
            self.weights[job.id] = worth * job.priority_weight

    def _unit(self, jobs: tuple[JobSnapshot, ...], n: int) -> Unit:
        norms = self._norms(jobs, n)
        if norms is None:
            return Unit(jobs, n, float("-inf"))
        value = sum(self.weights[job.id] * norm for job, norm in zip(jobs, norms, strict=True))
        places = [_place(job) for job in jobs if n_held(job)]
        restarts_cost = any(job.start_s + job.checkpoint_s > 0 for job in jobs)
        if restarts_cost and len(places) == len(jobs) and len(set(places)) == 1:
            value *= 1 + STICKINESS
        elif len(set(places)) > 1 and restarts_cost:
            value *= 1 - STICKINESS
        return Unit(jobs, n, value)

    def _norms(self, jobs: Sequence[JobSnapshot], n: int) -> tuple[float, ...] | None:
        """Of those who still have long to train, what is not known is taken to be good: trying is cheap for them."""
        alone_s = [self.view.speeds.step_s(job, n) for job in jobs]
        sds = BOLDNESS if all(self._is_long(job) for job in jobs) else -CAUTION
        return self.companions.norms(jobs, alone_s=alone_s, sds=sds)

    def _is_long(self, job: JobSnapshot) -> bool:
        left_s = self.left_s(job, n_held(job) or job.min_workers)
        return left_s > TRY_PAYS * (TRY_S + restart_cost_s(job))

    def _cleared(self, units: Sequence[Unit], n_gpus: int) -> list[Unit]:
        """Joined at the least price of a GPU at which no more are asked for than there are."""
        kinds: dict[tuple[Any, ...], list[Unit]] = {}
        for unit in sorted(units, key=most_valuable_first):
            kinds.setdefault(self._kind(unit), []).append(unit)
        parts = (many[at : at + MOST_UNITS] for many in kinds.values() for at in range(0, len(many), MOST_UNITS))
        markets = [Market(part, self._values([unit.jobs[0] for unit in part], part[0].n)) for part in parts]
        price = clearing_price(markets, n_gpus)
        found: list[Unit] = []
        for market in markets:
            couples = market.couples(price)
            paired = {i for couple in couples for i in couple}
            found += [self._unit(market.units[i].jobs + market.units[j].jobs, market.n) for i, j in couples]
            found += [unit for i, unit in enumerate(market.units) if i not in paired]
        return found

    def _joined(self, units: Sequence[Unit], price: float) -> list[Unit]:
        kinds: dict[tuple[Any, ...], list[Unit]] = {}
        for unit in sorted(units, key=most_valuable_first):
            kinds.setdefault(self._kind(unit), []).append(unit)
        found: list[Unit] = []
        for many in kinds.values():
            found += self._matched(many[:MOST_UNITS], price) + many[MOST_UNITS:]
        return found

    def _matched(self, units: list[Unit], price: float) -> list[Unit]:
        graph = networkx.Graph()
        together: dict[tuple[int, int], Unit] = {}
        for i, one in enumerate(units):
            for j, other in enumerate(units[:i]):
                if len(one.jobs) + len(other.jobs) > self.view.max_jobs_per_gpu:
                    continue
                both = self._unit(other.jobs + one.jobs, one.n)
                gain = both.profit(price) - one.profit(price) - other.profit(price)
                if gain > LEAST_GAIN * (one.value + other.value):
                    together[j, i] = both
                    graph.add_edge(j, i, weight=gain)
        matched = [(min(pair), max(pair)) for pair in networkx.max_weight_matching(graph)]
        paired = {i for pair in matched for i in pair}
        return [together[pair] for pair in sorted(matched)] + [u for i, u in enumerate(units) if i not in paired]

    def _values(self, jobs: Sequence[JobSnapshot], n: int) -> Floats:
        """Of each two of them together, as _unit has it, shape (J, J); -inf where they cannot be.

        Alike jobs are as fast beside alike ones.
        """
        if len(jobs) == 1:
            return np.full((1, 1), -np.inf)
        sorts: dict[tuple[Any, ...], list[JobSnapshot]] = {}
        for job in jobs:
            sorts.setdefault(self._sort(job, n), []).append(job)
        norm_SS = np.full((len(sorts), len(sorts)), -np.inf)
        for a, (one, *_) in enumerate(sorts.values()):
            for b, (*_, other) in enumerate(list(sorts.values())[: a + 1]):
                norms = self._norms((one, other), n)
                if norms is not None:
                    norm_SS[a, b], norm_SS[b, a] = norms
        number = {sort: s for s, sort in enumerate(sorts)}
        sort_J = np.array([number[self._sort(job, n)] for job in jobs])
        weight_J = np.array([self.weights[job.id] for job in jobs])
        part_JJ = weight_J[:, None] * norm_SS[np.ix_(sort_J, sort_J)]
        places: dict[Allocation, int] = {}
        place_J = np.array([places.setdefault(_place(job), len(places)) if n_held(job) else -1 for job in jobs])
        held_JJ = (place_J[:, None] >= 0) & (place_J >= 0)
        is_there_JJ = held_JJ & (place_J[:, None] == place_J)
        costs_J = np.array([restart_cost_s(job) > 0 for job in jobs])
        sticks_JJ = np.where(costs_J[:, None] | costs_J, STICKINESS, 0.0)
        factor_JJ = 1 + np.where(is_there_JJ, sticks_JJ, np.where(held_JJ, -sticks_JJ, 0.0))
        return np.asarray((part_JJ + part_JJ.T) * factor_JJ)

    def _sort(self, job: JobSnapshot, n: int) -> tuple[Any, ...]:
        return job.family, job.profile, self.view.speeds.step_s(job, n), self._is_long(job)

    def _kind(self, unit: Unit) -> tuple[Any, ...]:
        """Who may share: on as many GPUs, of the same types and circle; not who is beside one that just starts."""
        first = unit.jobs[0]
        may_share = all(
            job.profile is not None and job.mode is not Mode.PARAMETER_SERVER and job.id not in self.bound
            for job in unit.jobs
        )
        return unit.n, first.gpu_types, first.shares_within, "" if may_share else first.id

    # serving

    def _serve(self, units: Sequence[Unit], budget: Budget) -> None:
        """The most valuable per GPU first; jobs that are left alone for now stay served before all others."""
        trial = budget.copy()
        for job in self.view.jobs:
            trial.give_back(job)
        places: set[Allocation] = set()
        for unit in sorted(units, key=most_valuable_first):
            host = self._host(unit, places)
            if not trial.take(host, unit.n):
                continue
            if n_held(host):
                places.add(_place(host))
            served = [host]
            for job in unit.jobs:
                if job is not host and trial.take_beside(job, unit.n, gpu_type=trial.gpu_type(host)):
                    self.hosts[job.id] = host.id
                    served.append(job)
            self.units.append(Unit(tuple(served), unit.n, unit.value))
        budget.adopt(trial)

    def _recall(self, budget: Budget) -> None:
        """The groups of this instant as they were; who is on its way in already needs nothing more."""
        trial = budget.copy()
        for job in self.view.jobs:
            trial.give_back(job)
        deciding = {job.id: job for job in self.view.jobs}
        jobs = {job.id: job for job in (*self.view.jobs, *self.view.settled)}
        for n, host, *guests in self.memory["groups"]:
            gpu_type = ""
            if host in deciding:
                if not trial.take(deciding[host], n):
                    continue
                gpu_type = trial.gpu_type(deciding[host])
            for guest in guests:
                if guest in deciding and host in jobs and trial.take_beside(deciding[guest], n, gpu_type=gpu_type):
                    self.hosts[guest] = host
            members = tuple(jobs[job_id] for job_id in (host, *guests) if job_id in jobs)
            if members:
                self.units.append(Unit(members, n, 0.0))
        budget.adopt(trial)

    def _host(self, unit: Unit, taken: set[Allocation]) -> JobSnapshot:
        """One that is where most of the group are, if no other group is to be there."""
        held = [_place(job) for job in unit.jobs if n_held(job) == unit.n]

        def key(job: JobSnapshot) -> tuple[bool, int]:
            is_there = n_held(job) == unit.n and _place(job) not in taken
            return not is_there, -held.count(_place(job)) if is_there else 0

        return min(unit.jobs, key=key)

    def _why(self, job_id: str, unit: Unit) -> tuple[Explanation, ...]:
        alone_s = [self.view.speeds.step_s(job, unit.n) for job in unit.jobs]
        norms = self.companions.norms(unit.jobs, alone_s=alone_s) or ()
        partners = ", ".join(job.id for job in unit.jobs if job.id != job_id)
        return (Explanation(Reason.SHARES_WITH, {"n_workers": unit.n, "partners": partners, "times": sum(norms)}),)

    def _wake_at_s(self, wake_at_s: float | None) -> float | None:
        """Soon, where a pair is tried out."""
        tried = [unit for unit in self.units if len(unit.jobs) == 2 and not self._is_known(unit)]
        soon_s = self.view.now_s + TRY_S
        return wake_at_s if not tried else soon_s if wake_at_s is None else min(wake_at_s, soon_s)

    def _is_known(self, unit: Unit) -> bool:
        one, other = unit.jobs
        is_staged = all(job.profile is not None and job.profile.cpu_io_s is not None for job in unit.jobs)
        return is_staged or self.companions.is_measured(one, other)


def _place(job: JobSnapshot) -> Allocation:
    assert job.allocation is not None
    return Allocation(Mode.ALL_REDUCE, job.allocation.n_workers, 0, job.allocation.shares)
