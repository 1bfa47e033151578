# SPDX-License-Identifier: Apache-2.0
"""Finds the best placement of a gang of a granted size: nodes, mode and servers; or of a smaller, faster gang."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from scheduler.api.plan import Explanation
from scheduler.api.proposal import Grant, Packing
from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode
from scheduler.models.progress import remaining_s
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.placement.candidates import candidate_places
from scheduler.placement.free_resources import FreeResources
from scheduler.placement.gangs import NodeWorkers, build_allocation, place_on, place_workers
from scheduler.placement.input_fetching import WORTH_S, InputFetching
from scheduler.placement.link_pricing import LinkPricing
from scheduler.placement.neighbours import NodeNeighbours, without_nodes

SLOWER = 1.02  # a smaller gang may be so much slower than a larger, scattered one, and still takes its place
SCATTERED = 0.1  # a gang that is slower than it should be at its size by this share is badly placed

MOST_LEVELS = 4  # of nodes that hold more and more of a job's inputs

_GRAIN = 1e-9  # times are products of floats


class PlacementSearch:
    """Searches places for the gangs of one round. grants: by job. pricing: None where places have no price.

    harmful: is filled with jobs that would cost others more than they would gain, wherever they went. neighbours: where
    jobs slow each other on one node; None where no such pair was measured. most_servers: by job and workers, where
    limits of CPUs and memory count; None where there are none. fetching: what nodes hold of jobs' inputs; None where
    that is known of none. named: by node, the GPUs that grants name there and their jobs do not hold yet.
    """

    def __init__(
        self,
        grants: Mapping[str, Grant],
        speeds: JobSpeeds,
        pricing: LinkPricing | None,
        *,
        harmful: set[str],
        neighbours: NodeNeighbours | None = None,
        most_servers: Callable[[JobSnapshot, int], float] | None = None,
        fetching: InputFetching | None = None,
        named: Mapping[str, int] | None = None,
    ) -> None:
        self.grants, self.speeds, self.pricing, self.harmful = grants, speeds, pricing, harmful
        self.neighbours, self._most_servers, self.fetching = neighbours, most_servers, fetching
        self._named = named or {}
        self._choices: dict[str, list[GangAllocation]] = {}  # that were compared for the place that was found last

    def expected_s(self, job: JobSnapshot, grant: Grant) -> float:
        """Returns the seconds of a step on an empty cluster."""
        return self.speeds.plain_step_s(job, grant.n_workers, gpu_type=grant.gpu_type, n_nodes=grant.n_nodes)

    def step_s(self, job: JobSnapshot, allocation: GangAllocation) -> float:
        """Returns the price of a place; where places have none, the seconds of a step there alone."""
        if self.pricing is None or self.grants[job.id].packing is not Packing.PRICED:
            return self.speeds.step_s_on(job, allocation)
        return self.pricing.step_s(job, allocation)

    def why(self, job: JobSnapshot, grant: Grant, allocation: GangAllocation) -> tuple[Explanation, ...]:
        """Returns what its links give it there, where that was asked, and whether its inputs are there."""
        inputs = () if self.fetching is None else self.fetching.why(job, allocation)
        if self.pricing is None or grant.packing is not Packing.PRICED:
            return inputs
        return (*self.pricing.why(job, allocation, self._choices.get(job.id, ())), *inputs)

    def find(
        self, free: FreeResources, job: JobSnapshot, grant: Grant, *, keep: GangAllocation | None = None
    ) -> GangAllocation | None:
        """Returns the best place of the grant's size and, where that would be scattered, of smaller ones: less may be
        faster. Sizes that are slower than that wherever they are, by their computation alone, are not looked for.
        """
        found = self.find_exactly(free, job, grant, keep=keep)
        least = grant.least_workers or grant.n_workers
        if grant.n_workers <= least:
            return found
        if found is None:
            return None
        best_s = self.step_s(job, found)
        expected_s = self.expected_s(job, grant)
        per_node = self.speeds.topology.gpus_per_node(grant.gpu_type)
        n, choices = grant.n_workers, self._choices.get(job.id, [])
        while best_s > expected_s * (1 + SCATTERED) and n > least:
            n = max(least, n - 1 if n <= per_node else n // 2)
            least_s = self.speeds.least_step_s(job, n, gpu_type=grant.gpu_type)
            if least_s * (1 - _GRAIN) >= best_s * SLOWER:
                continue
            smaller = self.find_exactly(free, job, replace(grant, n_workers=n, n_nodes=0), keep=keep)
            if smaller is not None and (step_s := self.step_s(job, smaller)) < best_s * SLOWER:
                found, best_s, choices = smaller, min(best_s, step_s), self._choices.get(job.id, [])
        self._choices[job.id] = choices  # those of its size, with which its place is explained
        return found

    def find_exactly(
        self, free: FreeResources, job: JobSnapshot, grant: Grant, *, keep: GangAllocation | None = None
    ) -> GangAllocation | None:
        """Returns a place as granted; where that does not fit, the fastest one left: packed, or spread as far as
        possible. Nodes with jobs that slow this one, or that it slows, only where there is no other place.
        """
        apart = None if grant.node_workers else self.find_apart(free, job, grant, keep=keep)
        return apart or self._find_anywhere(free, job, grant, keep=keep)

    def find_apart(
        self, free: FreeResources, job: JobSnapshot, grant: Grant, *, keep: GangAllocation | None = None
    ) -> GangAllocation | None:
        """Returns a place without such nodes; None if there is none, or there are no such nodes."""
        bad = self.neighbours.bad_nodes(job) if self.neighbours is not None else set()
        return self._find_anywhere(without_nodes(free, bad), job, grant, keep=keep) if bad else None

    def _find_anywhere(
        self, free: FreeResources, job: JobSnapshot, grant: Grant, *, keep: GangAllocation | None = None
    ) -> GangAllocation | None:
        found = self._lay_out(free, job, grant, keep=keep)
        is_free = not grant.node_workers and grant.packing is Packing.TIGHT and grant.n_workers > 1
        if not is_free or self._is_as_requested(found, grant):
            return found
        if found is None and not free.has_capacity(job, grant.gpu_type, grant.n_workers):
            return None
        spreads = [n for n in (0, grant.n_workers) if n != grant.n_nodes]
        others = [self._lay_out(free, job, replace(grant, n_nodes=n), keep=keep) for n in spreads]
        options = [option for option in (found, *others) if option is not None]
        return min(options, key=lambda option: self.speeds.step_s_on(job, option), default=None)

    def _is_as_requested(self, found: GangAllocation | None, grant: Grant) -> bool:
        """Is it on the requested number of nodes, with as few workers as possible on the fullest?"""
        if found is None:
            return False
        loads = [len(share.gpus) for share in found.shares if share.gpus]
        per_node = self.speeds.topology.gpus_per_node(grant.gpu_type)
        n_nodes = grant.n_nodes or -(-grant.n_workers // per_node)
        return len(loads) <= n_nodes and (not grant.n_nodes or max(loads) <= -(-grant.n_workers // n_nodes))

    def _lay_out(
        self, free: FreeResources, job: JobSnapshot, grant: Grant, *, keep: GangAllocation | None = None
    ) -> GangAllocation | None:
        """The best one however long its inputs take to fetch; or, on nodes where that takes less time, one with which
        the job ends earlier.
        """
        found = self._lay_out_anywhere(free, job, grant, keep=keep)
        if self.fetching is None or not self.fetching.differs(job):
            return found
        if grant.node_workers:
            return self._on_equal_node(free, job, grant, found) if grant.equal_nodes else found
        for _ in range(MOST_LEVELS):
            fetch_s = 0.0 if found is None else self.fetching.fetch_s(job, found)
            if found is None or fetch_s < WORTH_S:
                break
            choices, was_harmful = self._choices.get(job.id, []), job.id in self.harmful
            warmer = without_nodes(free, self.fetching.colder(job, fetch_s))
            other = self._lay_out_anywhere(warmer, job, grant, keep=keep)
            if other is None or self._until_end_s(job, other) >= self._until_end_s(job, found):
                self._choices[job.id] = choices
                if not was_harmful:
                    self.harmful.discard(job.id)
                break
            found = other
        return found

    def _on_equal_node(
        self, free: FreeResources, job: JobSnapshot, grant: Grant, found: GangAllocation | None
    ) -> GangAllocation | None:
        """The place that was found, or one on a node like it where fetching takes less; of these the tightest."""
        if self.fetching is None or found is None or job.held is not None or len(grant.node_workers) > 1:
            return found
        name, n_workers = grant.node_workers[0]
        fetch_s, gpu_type = self.fetching.fetch_s(job, found), free.nodes[name].gpu_type
        colder = self.fetching.colder(job, max(0.0, fetch_s - WORTH_S))
        spare = {
            other.name: free.workers_on(job, other) - self._named.get(other.name, 0) - n_workers
            for other in free.nodes.values()
            if other.gpu_type == gpu_type and other.name not in colder
        }
        for other_name in sorted((name for name, n in spare.items() if n >= 0), key=lambda name: (spare[name], name)):
            node_workers = place_on(free, job, ((other_name, n_workers),))
            place = None if node_workers is None else self._build(free, job, node_workers, None)
            if place is not None and self.fetching.fetch_s(job, place) < fetch_s:
                return place
        return found

    def _until_end_s(self, job: JobSnapshot, allocation: GangAllocation) -> float:
        """Until the job ends on this allocation, but for what its start takes everywhere."""
        fetch_s = 0.0 if self.fetching is None else self.fetching.fetch_s(job, allocation)
        return fetch_s + remaining_s(job, step_s=self.step_s(job, allocation))

    def _lay_out_anywhere(
        self, free: FreeResources, job: JobSnapshot, grant: Grant, *, keep: GangAllocation | None = None
    ) -> GangAllocation | None:
        """A gang's allocation in this room: workers, then the mode that is fastest there, then its servers."""
        near: Collection[str] = [share.node for share in keep.shares] if keep else ()
        if grant.node_workers:
            node_workers = place_on(free, job, grant.node_workers)
        elif self.pricing is not None and grant.packing is Packing.PRICED:
            busy = self.pricing.contention.busy
            places = candidate_places(
                free,
                job,
                n_workers=grant.n_workers,
                gpu_type=grant.gpu_type,
                busy=busy,
                near=near,
                n_nodes=grant.n_nodes,
            )
            built = [self._build(free, job, node_workers, keep) for node_workers in places]
            self._choices[job.id] = [choice for choice in built if choice is not None]
            best = self.pricing.best(job, self._choices[job.id])
            if best is None and self._choices[job.id]:
                self.harmful.add(job.id)
            return best
        else:
            node_workers = place_workers(
                free,
                job,
                n_workers=grant.n_workers,
                gpu_type=grant.gpu_type,
                near=near,
                packing=grant.packing,
                n_nodes=grant.n_nodes,
            )
        return None if node_workers is None else self._build(free, job, node_workers, keep)

    def _build(
        self, free: FreeResources, job: JobSnapshot, node_workers: tuple[NodeWorkers, ...], keep: GangAllocation | None
    ) -> GangAllocation | None:
        """The mode that is fastest on these nodes, and as many servers as find room."""
        layout = self.speeds.topology.layout_on({node.name: k for node, k in node_workers})
        mode, n_servers = self.speeds.best_mode(job, layout)
        if n_servers and self._most_servers is not None:
            n_servers = int(min(n_servers, self._most_servers(job, sum(k for _, k in node_workers))))
            mode = mode if n_servers else Mode.ALL_REDUCE
        allocation: GangAllocation | None
        allocation = build_allocation(free, job, node_workers=node_workers, mode=mode, n_servers=n_servers, keep=keep)
        while allocation is None and n_servers > 1:
            n_servers //= 2
            allocation = build_allocation(
                free, job, node_workers=node_workers, mode=mode, n_servers=n_servers, keep=keep
            )
        if allocation is None and job.mode is None:
            allocation = build_allocation(
                free, job, node_workers=node_workers, mode=Mode.ALL_REDUCE, n_servers=0, keep=keep
            )
        return allocation
