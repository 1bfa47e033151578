"""Everybody's traffic on the links, kept up to date while gangs are placed: what a place gives, and takes from others.

A gang's step on a place with wire seconds s is its step alone, and what s exposes more than alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.models.fitting import ALWAYS_EXPOSED, HIDING
from scheduler.models.flows import Floats, Flow, Links, settle
from scheduler.models.speeds import Speeds
from scheduler.snapshot import Allocation, JobSnapshot, Mode

MOST_MET = 32  # of those that a gang meets, directly first; more far ones change little
PRICING_TURNS = 4  # of the fixed point while candidates are compared; it begins where it stood


@dataclass(frozen=True)
class Demand:
    """A gang on a place, alone: step_s of which compute_s hides traffic, latency_s and wire_s of synchronisation.

    worth: declared steps that one step here counts for, less than 1 where its batch is smaller.
    """

    flow: Flow
    step_s: float
    compute_s: float
    latency_s: float
    wire_s: float
    hides: float
    worth: float = 1.0


@dataclass(frozen=True)
class Effect:
    """step_s: the gang's own, there, with all others. bps: what its slowest link gives its bytes.

    slowed: by job met, its step before and after.
    """

    step_s: float
    bps: float
    slowed: tuple[tuple[str, float, float], ...] = ()


class Contention:
    """The traffic of all gangs that leave their nodes."""

    def __init__(self, links: Links, speeds: Speeds) -> None:
        self._links, self._speeds = links, speeds
        self._demands: dict[str, Demand] = {}
        self._on_link: dict[int, dict[str, None]] = {}
        self._wire_s: dict[str, float] = {}  # settled; absent where somebody came or left
        self._asked: dict[tuple[str, Allocation], Demand | None] = {}
        self._effects: dict[tuple[str, Allocation], Effect] = {}  # since somebody came or left last

    def add(self, job: JobSnapshot, allocation: Allocation) -> None:
        """The gang sends from there now, and nowhere else."""
        self.remove(job.id)
        demand = self.demand(job, allocation)
        if demand is None:
            return
        self._effects.clear()
        self._unsettle(self._met(demand.flow))
        self._demands[job.id] = demand
        for link in demand.flow.links:
            self._on_link.setdefault(link, {})[job.id] = None

    def remove(self, job_id: str) -> None:
        demand = self._demands.pop(job_id, None)
        if demand is None:
            return
        self._effects.clear()
        self._wire_s.pop(job_id, None)
        for link in demand.flow.links:
            self._on_link[link].pop(job_id, None)
        self._unsettle(self._met(demand.flow))

    def demand(self, job: JobSnapshot, allocation: Allocation) -> Demand | None:
        """What the gang would ask of the links; None where nothing leaves its node."""
        if len(allocation.shares) < 2:
            return None
        key = (job.id, allocation)
        if key not in self._asked:
            self._asked[key] = self._demand(job, allocation)
        return self._asked[key]

    def _demand(self, job: JobSnapshot, allocation: Allocation) -> Demand | None:
        layout, mode = self._speeds.terrain.layout_of(allocation), allocation.mode
        flow = self._links.flow(allocation, layout, parameters_bytes=job.parameters_bytes)
        if flow is None:
            return None
        model = self._speeds.model(job)
        latency_s, wire_s = model.sync_parts_s(layout, mode)
        step_s, compute_s = self._speeds.step_and_pass_s(job, allocation)
        nominal_s = max(bits / float(self._links.capacity_L[i]) for i, bits in zip(flow.links, flow.bits, strict=True))
        fitted = Flow(flow.links, tuple(bits * wire_s / nominal_s for bits in flow.bits))
        hides = 0.0 if mode is Mode.PARAMETER_SERVER else HIDING
        worth = step_s / self._speeds.step_s_on(job, allocation)
        return Demand(fitted, step_s, compute_s, latency_s, wire_s, hides, worth) if wire_s > 0 else None

    def step_s(self, job: JobSnapshot, allocation: Allocation) -> float:
        """Where the gang was added; on any other place, alone there."""
        demand = self._demands.get(job.id)
        if demand is None:
            return self._speeds.step_s_on(job, allocation)
        return float(_Steps([demand])(np.array([self._settled_wire_s(job.id)]))[0]) / demand.worth

    def effect(self, job: JobSnapshot, allocation: Allocation) -> Effect:
        """Were the gang there (and nowhere else): its step, and what becomes of those that it meets."""
        key = (job.id, allocation)
        if key not in self._effects:
            self._effects[key] = self._effect(job, allocation)
        return self._effects[key]

    def _effect(self, job: JobSnapshot, allocation: Allocation) -> Effect:
        demand = self.demand(job, allocation)
        if demand is None:
            return Effect(self._speeds.step_s_on(job, allocation), float("inf"))
        others = [other for other in self._met(demand.flow) if other != job.id]
        narrowest_bits = max(demand.flow.bits)
        if not others:
            return Effect(demand.step_s / demand.worth, narrowest_bits / demand.wire_s)
        demands = [demand, *(self._demands[other] for other in others)]
        steps = _Steps(demands)
        wires = np.array([demand.wire_s, *(self._settled_wire_s(other) for other in others)])
        begins_s = steps(wires)
        before_s, duty = begins_s[1:], np.clip(wires / np.maximum(begins_s, 1e-9), 0.0, 1.0)
        settled = settle(
            [d.flow for d in demands],
            self._links.capacity_L,
            steps,
            duty_F=duty,
            most_turns=PRICING_TURNS,
        )
        after_s = np.maximum(settled.step_s_F[1:], before_s)
        slowed = tuple((o, float(b), float(a)) for o, b, a in zip(others, before_s, after_s, strict=True) if a > b)
        return Effect(float(settled.step_s_F[0]) / demand.worth, narrowest_bits / float(settled.wire_s_F[0]), slowed)

    def busy(self, kind: str, name: str) -> float:
        """How many gangs send over that link on average: the sum of their duty cycles."""
        link = self._links.index(kind, name)
        if link is None or link not in self._on_link:
            return 0.0
        return sum(min(1.0, self._demands[j].wire_s / self._demands[j].step_s) for j in self._on_link[link])

    def _settled_wire_s(self, job_id: str) -> float:
        if job_id not in self._wire_s:
            group = [job_id, *(other for other in self._met(self._demands[job_id].flow) if other != job_id)]
            demands = [self._demands[other] for other in group]
            if len(group) == 1:
                self._wire_s[job_id] = demands[0].wire_s
            else:
                flows = [demand.flow for demand in demands]
                settled = settle(flows, self._links.capacity_L, _Steps(demands))
                known = zip(group, settled.wire_s_F, strict=True)
                self._wire_s |= {other: float(wire_s) for other, wire_s in known}
        return self._wire_s[job_id]

    def _met(self, flow: Flow) -> list[str]:
        """Gangs on its links, then those on theirs, the nearest MOST_MET."""
        met: dict[str, None] = {}
        links, seen = list(flow.links), set(flow.links)
        for link in links:
            for job_id in self._on_link.get(link, ()):
                if job_id in met:
                    continue
                met[job_id] = None
                if len(met) >= MOST_MET:
                    return list(met)
                more = [other for other in self._demands[job_id].flow.links if other not in seen]
                seen.update(more)
                links += more
        return list(met)

    def _unsettle(self, job_ids: Iterable[str]) -> None:
        for job_id in job_ids:
            self._wire_s.pop(job_id, None)


class _Steps:
    """Step seconds of these gangs by the seconds that their wires take, shape (F,) both."""

    def __init__(self, demands: Sequence[Demand]) -> None:
        columns = np.array([(d.step_s, d.compute_s, d.latency_s, d.wire_s, d.hides) for d in demands]).T
        self._step_s, self._compute_s, self._latency_s, alone_s, self._hides = columns
        self._exposed_alone_s = self._exposed_s(alone_s)

    def __call__(self, wire_s_F: Floats) -> Floats:
        slower: Floats = self._step_s + np.maximum(0.0, self._exposed_s(wire_s_F) - self._exposed_alone_s)
        return slower

    def _exposed_s(self, wire_s_F: Floats) -> Floats:
        sync_s = self._latency_s + wire_s_F
        hidden_s = np.maximum(ALWAYS_EXPOSED * sync_s, sync_s - self._hides * self._compute_s)
        return np.asarray(np.where(self._hides > 0, hidden_s, sync_s), dtype=np.float64)
