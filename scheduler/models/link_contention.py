# SPDX-License-Identifier: Apache-2.0
"""Everybody's traffic on the links, kept up to date while gangs are placed: what a place gives, and takes from others.

A quick form of the fixed point in flows.py, for many candidates: on a link of capacity C a gang has C / (1 + the duty
cycles of the others there). That is the max-min rate where the others are held up on the same link, and less than it
where they are held up elsewhere. A gang's step is its step alone, and what the longer way of its bytes exposes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from scheduler.api.snapshot import GangAllocation, JobSnapshot, Mode
from scheduler.models.network.flows import Flow, Links
from scheduler.models.speed.fitting import HIDING
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.models.speed.link_demand import LinkDemand
from scheduler.models.speed.step_time_cache import batch_key

_NOTHING: Mapping[str, float] = MappingProxyType({})
MOST_MET = 32  # gangs on a place's links that are looked at; with more, all of them have next to nothing


@dataclass(frozen=True)
class PlacementEffect:
    """Holds what a placement does. step_s: seconds of the gang's own step there, among all others.

    bps: what its slowest link gives its bytes. slowed: for each job that it meets, its step before and after.
    """

    step_s: float
    bps: float
    slowed: tuple[tuple[str, float, float], ...] = ()


class LinkContention:
    """Models the traffic of all gangs that leave their nodes."""

    def __init__(self, links: Links, speeds: JobSpeeds) -> None:
        self._speeds, self._links = speeds, links
        self._capacity: list[float] = links.capacity_L.tolist()
        self._demands: dict[str, LinkDemand] = {}
        self._duty_on: dict[int, dict[str, float]] = {}
        self._load_on: dict[int, float] = {}  # the sums of these, until somebody comes or leaves there
        self._effects: dict[tuple[str, GangAllocation], PlacementEffect] = {}  # until somebody comes or leaves

    def add(self, job: JobSnapshot, allocation: GangAllocation) -> None:
        """Records that the gang sends from there now, and nowhere else."""
        self.remove(job.id)
        demand = self.demand(job, allocation)
        if demand is None:
            return
        self._effects.clear()
        self._demands[job.id] = demand
        duty = demand.duty(demand.wire_s)
        for link in demand.flow.links:
            self._duty_on.setdefault(link, {})[job.id] = duty
            self._load_on.pop(link, None)

    def remove(self, job_id: str) -> None:
        """Records that the gang sends no more."""
        demand = self._demands.pop(job_id, None)
        if demand is None:
            return
        self._effects.clear()
        for link in demand.flow.links:
            self._duty_on[link].pop(job_id, None)
            self._load_on.pop(link, None)

    def demand(self, job: JobSnapshot, allocation: GangAllocation) -> LinkDemand | None:
        """Returns what the gang would ask of the links; None where nothing leaves its node.

        It is kept with its speed model.
        """
        if len(allocation.shares) < 2:
            return None
        table, key = self._speeds.tables(job).link_demands, (allocation, batch_key(job), job.noise_scale)
        if key not in table:
            table.store(key, self._demand(job, allocation))
        return table[key]

    def alone_step_s(self, job: JobSnapshot, allocation: GangAllocation) -> float:
        """Returns the seconds of a step there with the links to itself, which no effect can be shorter than."""
        demand = self.demand(job, allocation)
        return self._speeds.step_s_on(job, allocation) if demand is None else demand.step_s / demand.declared_per_step

    def effect(self, job: JobSnapshot, allocation: GangAllocation) -> PlacementEffect:
        """Returns the gang's step, and what becomes of those that it meets, if it were there and nowhere else.

        1. its wire time among the others' duty cycles as they are alone; 2. theirs, with the duty cycle that it then
        has; 3. its own again, with the duty cycles that they then have.
        """
        key = (job.id, allocation)
        if key not in self._effects:
            self._effects[key] = self._work_out_effect(job, allocation)
        return self._effects[key]

    def busy(self, kind: str, name: str) -> float:
        """Returns how many gangs send over that link on average: the sum of their duty cycles."""
        link = self._links.index(kind, name)
        return self._load(link) if link is not None else 0.0

    def _demand(self, job: JobSnapshot, allocation: GangAllocation) -> LinkDemand | None:
        layout, mode = self._speeds.topology.layout_of(allocation), allocation.mode
        flow = self._links.flow(allocation, layout, parameters_bytes=job.parameters_bytes)
        latency_s, wire_s = self._speeds.model(job).sync_parts_s(layout, mode)
        if flow is None or wire_s <= 0:
            return None
        step_s, compute_s = self._speeds.step_and_pass_s(job, allocation)
        nominal_s = max(bits / self._capacity[link] for link, bits in zip(flow.links, flow.bits, strict=True))
        fitted = Flow(flow.links, tuple(bits * wire_s / nominal_s for bits in flow.bits))
        hides = 0.0 if mode is Mode.PARAMETER_SERVER else HIDING
        declared_per_step = step_s / self._speeds.step_s_on(job, allocation)
        return LinkDemand(fitted, step_s, compute_s, latency_s, wire_s, hides, declared_per_step)

    def _work_out_effect(self, job: JobSnapshot, allocation: GangAllocation) -> PlacementEffect:
        demand = self.demand(job, allocation)
        if demand is None:
            return PlacementEffect(self._speeds.step_s_on(job, allocation), float("inf"))
        bits = max(demand.flow.bits)
        met = [other for other in self._met(demand.flow.links) if other != job.id]
        if not met:
            return PlacementEffect(demand.step_s / demand.declared_per_step, bits / demand.wire_s)
        loads = {link: self._load(link) - self._duty(link, job.id) for link in demand.flow.links}
        own_duty = demand.duty(self._wire_s(demand, loads))  # 1
        slowed = []
        for other in met:  # 2
            theirs = self._demands[other]
            among = self._loads_without(theirs.flow.links, other, job.id)
            before_s = theirs.slower_step_s(self._wire_s(theirs, among))
            shared = [link for link in theirs.flow.links if link in loads]
            for link in shared:
                among[link] += own_duty
            wire_s = self._wire_s(theirs, among)
            after_s, more = theirs.slower_step_s(wire_s), theirs.duty(wire_s) - self._duty(shared[0], other)
            for link in shared:
                loads[link] += more
            if after_s > before_s:
                slowed.append((other, before_s, after_s))
        wire_s = self._wire_s(demand, loads)  # 3
        return PlacementEffect(demand.slower_step_s(wire_s) / demand.declared_per_step, bits / wire_s, tuple(slowed))

    def _wire_s(self, demand: LinkDemand, loads: Mapping[int, float]) -> float:
        """Seconds of its bytes on its slowest link. loads: by link, the sum of the others' duty cycles."""
        each = zip(demand.flow.links, demand.flow.bits, strict=True)
        return max([bits * (1 + loads[link]) / self._capacity[link] for link, bits in each])

    def _loads_without(self, links: Iterable[int], one: str, other: str) -> dict[int, float]:
        """The sums of the duty cycles on these links without those of two jobs."""
        found = {}
        for link in links:
            duties = self._duty_on.get(link, _NOTHING)
            found[link] = self._load(link) - duties.get(one, 0.0) - duties.get(other, 0.0)
        return found

    def _load(self, link: int) -> float:
        """The sum of all duty cycles there."""
        found = self._load_on.get(link)
        if found is None:
            found = self._load_on[link] = sum(self._duty_on.get(link, _NOTHING).values())
        return found

    def _duty(self, link: int, job_id: str) -> float:
        return self._duty_on.get(link, _NOTHING).get(job_id, 0.0)

    def _met(self, links: Iterable[int]) -> list[str]:
        met: dict[str, None] = {}
        for link in links:
            met.update(dict.fromkeys(self._duty_on.get(link, ())))
            if len(met) >= MOST_MET:
                break
        return list(met)[:MOST_MET]
