# SPDX-License-Identifier: Apache-2.0
"""What the steps of placement share: what is free, what was granted, and the targets made so far."""

from __future__ import annotations

import math

from scheduler.api.host_resources import NOTHING, HostResources, held_resources, host_resources, planned_resources
from scheduler.api.plan import Explanation
from scheduler.api.proposal import Grant, Packing, Proposal
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Phase
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.placement.free_resources import FreeResources
from scheduler.placement.link_pricing import LinkPricing
from scheduler.placement.neighbours import NodeNeighbours
from scheduler.placement.search import PlacementSearch
from scheduler.placement.state import PlacementTargets
from scheduler.round.state import RoundState


class PlacementProgress:
    """free_now: without what running jobs hold. free_later: once jobs that leave or shrink have done so.

    has_unused_grants: a job could not use all that it was granted. pricing: None where no place is priced. neighbours:
    None where no jobs are known to slow each other on one node.
    """

    def __init__(self, state: RoundState, proposal: Proposal, speeds: JobSpeeds) -> None:
        self.state, self.proposal, self.speeds = state, proposal, speeds
        self.jobs = state.snapshot.by_id
        self.grants = {grant.job: grant for grant in proposal.grants}
        self.free_now, self.free_later = state.free_now, state.free_later
        self.targets = PlacementTargets()
        self.has_unused_grants = False
        is_priced = any(grant.packing is Packing.PRICED for grant in proposal.grants)
        self.pricing = LinkPricing(state, speeds) if is_priced else None
        self.neighbours = self._neighbours()
        self.finder = PlacementSearch(
            self.grants,
            speeds,
            self.pricing,
            harmful=self.targets.harmful,
            neighbours=self.neighbours,
            most_servers=None if state.ledger_now.hosts is None else self.most_servers,
            fetching=state.fetching if state.fetching.is_needed else None,
            named=self._named() if state.fetching.is_needed else None,
        )

    def _named(self) -> dict[str, int]:
        """By node, the GPUs that grants name there and that their jobs do not hold yet."""
        found: dict[str, int] = {}
        for grant in self.proposal.grants:
            held = self.jobs[grant.job].held if grant.node_workers else None
            own = {share.node: len(share.gpus) for share in held.shares} if held is not None else {}
            for node, k in grant.node_workers:
                found[node] = found.get(node, 0) + max(0, k - own.get(node, 0))
        return found

    def most_servers(self, job: JobSnapshot, n_workers: int) -> float:
        """Returns how many servers next to so many workers limits of CPUs and memory leave the job, now and later; at
        least those that were counted for it.
        """
        hosts, held = self.state.ledger_now.hosts, job.held
        own = (held_resources(job, held) if held else NOTHING).without(host_resources(job, n_workers))
        each = host_resources(job, 0, 1)
        now = math.inf if hosts is None else hosts.n_more(job.tenant, own, each=each, user=job.user)
        least = planned_resources(job, n_workers).without(host_resources(job, n_workers))
        n_least = 0 if least == NOTHING else held.n_servers if held and held.n_workers == n_workers else 1
        return max(n_least, min(now, self.state.budget.most_servers(job, n_workers)))

    def book_servers(self, job: JobSnapshot, allocation: GangAllocation) -> None:
        """Books what its pods request with the servers that it got; until it leaves what it holds, the larger of
        both counts.
        """
        hosts, held = self.state.ledger_now.hosts, job.held
        if hosts is None:
            return
        self.state.budget.book_servers(job, allocation)
        if held is not None:
            more = held_resources(job, allocation).without(held_resources(job, held))
            most = HostResources(max(0.0, more.cpus), max(0, more.memory_bytes))
            hosts.reserve(job.tenant, most, user=job.user)

    def _neighbours(self) -> NodeNeighbours | None:
        """Who is on which node; None where no pair was measured that slow each other there."""
        found = NodeNeighbours(self.state.snapshot.pairs)
        if not found.is_needed:
            return None
        for job in self.state.snapshot.jobs:
            if job.held is not None and job.phase is not Phase.STOPPING:
                found.add(job, job.held)
        return found

    def place(self, job: JobSnapshot, allocation: GangAllocation, grant: Grant) -> None:
        """Places the job; the budget and the explanations report the size that it really got."""
        self.free_later.reserve(job, allocation)
        self.free_now.restrict_to(self.free_later, allocation)
        n_workers = allocation.n_workers
        if n_workers != grant.n_workers:
            self.state.budget.reserve(job, n_workers)
            self.has_unused_grants = True
        self.book_servers(job, allocation)
        explanations = tuple(
            Explanation(e.reason, {**e.facts, "n_workers": n_workers}) if "n_workers" in e.facts else e
            for e in grant.explanations
        )
        if self.neighbours is not None:
            self.neighbours.add(job, allocation)
        self.targets.placed[job.id] = (allocation, explanations + self.finder.why(job, grant, allocation))

    def wait_for(self, job: JobSnapshot, allocation: GangAllocation) -> None:
        """Keeps the place free for the job until other jobs have left it."""
        self.free_later.reserve(job, allocation)
        self.free_now.restrict_to(self.free_later, allocation)
        self.state.budget.book_servers(job, allocation)
        self.targets.awaited[job.id] = allocation

    def return_to_present(self, job: JobSnapshot, held: GangAllocation) -> None:
        """Books what a job holds in place of what it was granted elsewhere."""
        gpu_type = next(self.free_later.nodes[share.node].gpu_type for share in held.shares if share.gpus)
        budget = self.state.budget
        if not budget.reserve(job, held.n_workers, gpu_type=gpu_type):
            budget.reserve(job, held.n_workers)

    def with_own(self, free: FreeResources, job: JobSnapshot, held: GangAllocation) -> FreeResources:
        """Returns what is free for the job itself: also what it holds, as far as it is promised to no other job."""
        own = free.copy()
        own.release(job, held)
        own.restrict_to(self.free_later, held)
        return own

    def may_keep(self, held: GangAllocation, grant: Grant) -> bool:
        """Returns whether a job may stay where it runs: on the requested type of GPU and nodes, with no job that
        keeps these GPUs already."""
        node = self.free_later.nodes[held.shares[0].node]
        has_type = not grant.gpu_type or node.gpu_type == grant.gpu_type
        if not has_type:
            return False
        if grant.node_workers and {share.node: len(share.gpus) for share in held.shares if share.gpus} != dict(
            grant.node_workers
        ):
            return False
        mates = self.free_later.occupants_of(held) if self.free_later.occupants else ()
        return not any(mate in self.targets.kept for mate in mates)
