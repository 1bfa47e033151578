# SPDX-License-Identifier: Apache-2.0
"""Step 4 of a round: grants become allocations, now or as soon as other jobs have left; needless victims stay."""

from __future__ import annotations

from dataclasses import replace

from scheduler.api.plan import Explanation, Reason
from scheduler.api.proposal import Grant, Packing, Proposal
from scheduler.api.snapshot import GangAllocation, JobSnapshot
from scheduler.models.cost import restart_cost_s
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.placement.colocation import Colocation
from scheduler.placement.defragmentation import Defragmentation
from scheduler.placement.free_resources import FreeResources
from scheduler.placement.link_pricing import LinkPricing
from scheduler.placement.search import SCATTERED, PlacementSearch
from scheduler.placement.state import PlacementTargets, gpus_of
from scheduler.round.backfill import backfill
from scheduler.round.state import RoundState

MOST_MOVES = 4  # that are considered in one round


def place(state: RoundState, proposal: Proposal, speeds: JobSpeeds) -> PlacementTargets:
    """Returns the allocations for the grants, within what is free now, or later.

    1. running jobs whose size is unchanged keep their places;
    2. running jobs that shrink choose first, among their own GPUs;
    3. the others in the policy's order: on what is free now, else on what will be free: then they wait for it, and it
       is kept free for them; a co-located job goes where its partners go;
    4. jobs that were to shrink or leave stay as they are where their GPUs are not needed;
    5. GPUs that were granted to who could not use them all go to claims of guarantees, then to others that wait, where
       the policy wants that (backfill);
    6. where places are priced, a badly placed running job moves to a free place, if that repays its restart;
    7. where they are not, gangs of a fixed size on several nodes move to one node (defragmentation).
    """
    return _Placer(state, proposal, speeds).place()


class _Placer:
    def __init__(self, state: RoundState, proposal: Proposal, speeds: JobSpeeds) -> None:
        self.state, self.proposal, self.speeds = state, proposal, speeds
        self.jobs = {job.id: job for job in state.candidates}
        self.grants = {grant.job: grant for grant in proposal.grants}
        self.free_now, self.free_later = state.free_now, state.free_later
        self.targets = PlacementTargets()
        self.has_leftovers = False  # a job could not use all that it was granted
        is_priced = any(grant.packing is Packing.PRICED for grant in proposal.grants)
        self.pricing = LinkPricing(state, speeds) if is_priced else None
        self.finder = PlacementSearch(self.grants, speeds, self.pricing, harmful=self.targets.harmful)
        shares = any(grant.colocated_with for grant in proposal.grants)
        self.colocation = Colocation(state, self.targets, self.finder.find_exactly) if shares else None

    def place(self) -> PlacementTargets:
        shrinking: list[JobSnapshot] = []
        growing: set[str] = set()
        for job in self.state.running:
            held = job.held
            assert held is not None
            grant = self.grants.get(job.id)
            if grant is not None and grant.colocated_with:
                continue
            if grant is not None and grant.n_workers == held.n_workers and self._may_keep(held, grant):
                self.free_later.reserve(job, held)
                self.targets.kept[job.id] = self.proposal.notes.get(job.id, grant.explanations)
            elif grant is not None and self.proposal.places_after_preemption:
                growing.add(job.id)
            elif grant is not None and grant.n_workers < held.n_workers:
                shrinking.append(job)
            elif grant is not None:
                self.free_later.reserve(job, held)
                growing.add(job.id)
            else:
                self.targets.leaving[job.id] = held
        for job in shrinking:
            self._shrink(job)
        for grant in self.proposal.grants:
            job = self.jobs[grant.job]
            if self.colocation is not None and grant.colocated_with:
                self._colocate(self.colocation, job, grant)
            elif self.proposal.places_after_preemption:
                if job.id not in self.targets.kept:
                    self._settle(job, grant)
            elif job.held is None:
                self._launch(job, grant)
            elif job.id in growing:
                self._grow(job, grant)
        if not self.proposal.places_after_preemption:
            self._spare_needless_victims(shrinking)
            self._fill()
        if self.pricing is not None:
            self._move(self.pricing)
        if any(grant.defragments for grant in self.proposal.grants):
            Defragmentation(self.state, self.targets, self.grants, self.speeds).run()
        return self.targets

    def _settle(self, job: JobSnapshot, grant: Grant) -> None:
        """For final proposals: the place it will have; now if it is free, else it is promised."""
        held, allocation = job.held, self.finder.find(self.free_later, job, grant)
        if allocation is None:
            self.targets.refused[job.id] = grant
            return
        self.free_later.reserve(job, allocation)
        if held is not None or self.free_now.fits(job, allocation):
            self.targets.placed[job.id] = (allocation, grant.explanations)
        else:
            self.targets.awaited[job.id] = allocation

    # 2

    def _shrink(self, job: JobSnapshot) -> None:
        held, grant = job.held, self.grants[job.id]
        assert held is not None
        own = self._with_own(self.free_now, job, held)
        allocation = self.finder.find(own, job, grant, keep=held)
        if allocation is None or not self.free_later.fits(job, allocation):
            self.free_later.reserve(job, held)
            self.targets.kept[job.id] = self.proposal.notes.get(job.id, grant.explanations)
            return
        self._settle_on(job, allocation, grant)

    # 3

    def _launch(self, job: JobSnapshot, grant: Grant) -> None:
        may_now = self.state.ledger_now.refusal(job.tenant, gpus=grant.n_workers) is None
        allocation = self.finder.find(self.free_now, job, grant) if may_now else None
        if allocation is not None and not self.free_later.fits(job, allocation):
            allocation = None
        later = None if self._is_good(job, allocation, grant) else self.finder.find(self.free_later, job, grant)
        if allocation is not None and not self._is_worse(job, allocation, later):
            self.state.ledger_now.reserve(job.tenant, gpus=allocation.n_workers)
            self._settle_on(job, allocation, grant)
            return
        if later is None:
            smaller = self._smaller(job, grant)
            if smaller is not None:
                self._launch(job, smaller)
            else:
                self.targets.refused[job.id] = grant
                self.state.budget.release(job)
                self.has_leftovers = True
            return
        self._await(job, later)

    def _grow(self, job: JobSnapshot, grant: Grant) -> None:
        held = job.held
        assert held is not None
        more = max(0, grant.n_workers - held.n_workers)
        self.free_later.release(job, held)
        may_now = self.state.ledger_now.refusal(job.tenant, gpus=more, jobs=0) is None
        allocation = (
            self.finder.find(self._with_own(self.free_now, job, held), job, grant, keep=held) if may_now else None
        )
        least = held.n_workers + self._may_keep(held, grant)  # as many GPUs elsewhere would be a restart for nothing
        if allocation is not None and self.free_later.fits(job, allocation) and allocation.n_workers >= least:
            more = allocation.n_workers - held.n_workers
            self.state.ledger_now.reserve(job.tenant, gpus=more, jobs=0)
            self._settle_on(job, allocation, grant)
            return
        later = self.finder.find(self.free_later, job, grant, keep=held)
        if later is not None and (later.n_workers > held.n_workers or least == held.n_workers):
            self._await(job, later)
        else:
            self.free_later.reserve(job, held)
            self.targets.refused[job.id] = grant
            self.state.budget.reserve(job, held.n_workers)
            self.has_leftovers = True
        self.targets.kept[job.id] = self.proposal.notes.get(job.id, ())

    def _settle_on(self, job: JobSnapshot, allocation: GangAllocation, grant: Grant) -> None:
        """It is placed; the budget and the reasons say what it really got."""
        self.free_later.reserve(job, allocation)
        self.free_now.restrict_to(self.free_later, allocation)
        n_workers = allocation.n_workers
        if n_workers != grant.n_workers:
            self.state.budget.reserve(job, n_workers)
            self.has_leftovers = True
        explanations = tuple(
            Explanation(e.reason, {**e.facts, "n_workers": n_workers}) if "n_workers" in e.facts else e
            for e in grant.explanations
        )
        self.targets.placed[job.id] = (allocation, explanations + self.finder.why(job, grant, allocation))

    def _await(self, job: JobSnapshot, allocation: GangAllocation) -> None:
        self.free_later.reserve(job, allocation)
        self.free_now.restrict_to(self.free_later, allocation)
        self.targets.awaited[job.id] = allocation

    def _is_good(self, job: JobSnapshot, allocation: GangAllocation | None, grant: Grant) -> bool:
        """Is it there about as fast as it should be at that size, so that no place is worth waiting for?"""
        if allocation is None or allocation.n_workers < grant.n_workers:
            return False
        return self.finder.step_s(job, allocation) <= (1 + SCATTERED) * self.finder.expected_s(job, grant)

    def _is_worse(self, job: JobSnapshot, allocation: GangAllocation, later: GangAllocation | None) -> bool:
        """Is it clearly better to wait for the place that others are about to leave?"""
        if later is None or later == allocation:
            return False
        return self.finder.step_s(job, allocation) > (1 + SCATTERED) * self.finder.step_s(job, later)

    def _smaller(self, job: JobSnapshot, grant: Grant) -> Grant | None:
        """Half the size, where that will do."""
        n_workers = max(grant.least_workers or grant.n_workers, grant.n_workers // 2)
        if n_workers >= grant.n_workers or not self.state.budget.reserve(job, n_workers):
            return None
        return replace(grant, n_workers=n_workers, n_nodes=0)

    def _colocate(self, colocation: Colocation, job: JobSnapshot, grant: Grant) -> None:
        """On the GPUs of its partners: at once where these run and no other job is there, else as soon as it is so."""
        held, allocation = job.held, colocation.allocation_for(job, grant)
        if allocation is None:
            self._refuse(job, grant)
            return
        partners = self.free_later.occupants_of(allocation)
        for partner in partners:
            self.targets.partners.setdefault(partner, set()).add(job.id)
        self.targets.partners.setdefault(job.id, set()).update(partners)
        self.free_later.reserve(job, allocation)
        self.free_now.restrict_to(self.free_later, allocation)
        if held is not None and gpus_of(held) == gpus_of(allocation):
            self.targets.kept[job.id] = self.proposal.notes.get(job.id, grant.explanations)
        elif held is not None:
            self.targets.placed[job.id] = (allocation, grant.explanations)
        elif self._may_join_now(job, allocation, partners):
            self.state.ledger_now.reserve(job.tenant, gpus=grant.n_workers, n_shared=grant.n_workers)
            self.state.physically_free.reserve(job, allocation)
            self.targets.placed[job.id] = (allocation, grant.explanations)
        else:
            self.targets.awaited[job.id] = allocation

    def _may_join_now(self, job: JobSnapshot, allocation: GangAllocation, partners: set[str]) -> bool:
        if self.state.ledger_now.limit(job.tenant, gpus=allocation.n_workers) is not None:
            return False
        return self.state.physically_free.fits(job, allocation, colocated_with=partners)

    def _refuse(self, job: JobSnapshot, grant: Grant) -> None:
        """It stays alone where it is, if that is free; else it has no place."""
        held = job.held
        if held is not None and self.free_later.fits(job, held):
            self.free_later.reserve(job, held)
            self.targets.kept[job.id] = self.proposal.notes.get(job.id, ())
            return
        self.state.budget.release(job)
        if held is not None:
            self.targets.leaving[job.id] = held
        else:
            self.targets.refused[job.id] = grant

    # 4

    def _spare_needless_victims(self, shrinking: list[JobSnapshot]) -> None:
        budget = self.state.budget
        position = {job_id: i for i, job_id in enumerate(self.proposal.order)}
        victims = [self.jobs[job_id] for job_id in self.targets.leaving]
        for job in sorted(victims, key=lambda job: (position.get(job.id, len(position)), job.id)):
            held = self.targets.leaving[job.id]
            if self.free_later.fits(job, held) and budget.reserve(job, held.n_workers):
                self.free_later.reserve(job, held)
                del self.targets.leaving[job.id]
                self.targets.kept[job.id] = ()
        for job in shrinking:
            if job.allocation is None or job.id not in self.targets.placed:
                continue
            held = job.allocation
            smaller, _ = self.targets.placed[job.id]
            self.free_later.release(job, smaller)
            if self.free_later.fits(job, held) and budget.reserve(job, held.n_workers):
                self.free_later.reserve(job, held)
                del self.targets.placed[job.id]
                self.targets.kept[job.id] = ()
            else:
                self.free_later.reserve(job, smaller)

    # 5

    def _fill(self) -> None:
        if self.has_leftovers:
            for job, grant in backfill(self.state, self.proposal, but=self.grants):
                self.grants[job.id] = grant
                self._launch(job, grant)

    # 6

    def _move(self, pricing: LinkPricing) -> None:
        """The worst place first; the own GPUs count as free."""
        badly: list[tuple[float, str, GangAllocation]] = []
        for job_id in self.targets.kept:
            grant, held = self.grants.get(job_id), self.jobs[job_id].held
            if grant is None or held is None or grant.packing is not Packing.PRICED or job_id in self.targets.awaited:
                continue
            if (
                grant.n_workers == held.n_workers
                and not grant.colocated_with
                and pricing.is_bad(self.jobs[job_id], held)
            ):
                badly.append((-pricing.step_s(self.jobs[job_id], held), job_id, held))
        for _, job_id, held in sorted(badly, key=lambda bad: bad[:2])[:MOST_MOVES]:
            job, grant = self.jobs[job_id], self.grants[job_id]
            self.free_later.release(job, held)
            found = self.finder.find_exactly(self._with_own(self.free_now, job, held), job, grant)
            found = None if found == held else found
            gain_s = pricing.gain_s(job, held, found) if found is not None else 0.0
            if found is not None and self.free_later.fits(job, found) and pricing.pays(job, gain_s):
                facts = {"gain_s": gain_s, "cost_s": restart_cost_s(job)}
                why = replace(grant, explanations=(Explanation(Reason.MIGRATES, facts),))
                del self.targets.kept[job_id]
                self._settle_on(job, found, why)
            else:
                self.free_later.reserve(job, held)

    def _with_own(self, free: FreeResources, job: JobSnapshot, held: GangAllocation) -> FreeResources:
        """As it is for the job itself: what it holds is free for it, as far as it is promised to no other job."""
        own = free.copy()
        own.release(job, held)
        own.restrict_to(self.free_later, held)
        return own

    def _may_keep(self, held: GangAllocation, grant: Grant) -> bool:
        """Is it on the requested type of GPU and nodes, and not with a job that keeps these GPUs already?"""
        node = self.free_later.nodes[held.shares[0].node]
        has_type = not grant.gpu_type or node.gpu_type == grant.gpu_type
        is_there = {share.node: len(share.gpus) for share in held.shares if share.gpus} == dict(grant.spots)
        is_taken = any(mate in self.targets.kept for mate in self.free_later.occupants_of(held))
        return has_type and (is_there or not grant.spots) and not is_taken
