# SPDX-License-Identifier: Apache-2.0
"""What gangs send over each link now: bytes of a step on the links that their layout crosses, at their measured rate.

The bytes of a step are those that the pods counted; where they did not, those of the whole model, as the ring or the
parameter servers of the gang's mode send it. A gang of which no step was measured lately has no rate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.utils import timezone

from mlhub.clusters.models import LinkKind, Node, Rack
from mlhub.jobs.models import Allocation, Attempt
from mlhub.metrics.measurements.speeds import steps_at_once
from mlhub.metrics.models import SpeedSample
from scheduler.api.snapshot import Mode
from scheduler.models.layout import Layout
from scheduler.models.network.bandwidth import bits_on_links

RECENT = timedelta(minutes=10)  # of a report: an older one says nothing of now

LinkName = tuple[LinkKind, str]


@dataclass(frozen=True)
class LinkFlow:
    """What a gang sends over one link, in its busier direction. name: of the node or rack."""

    kind: LinkKind
    name: str
    bytes_per_step: float
    bps: float


@dataclass(frozen=True)
class GangTraffic:
    """A gang's traffic on links. nodes: in the order of its ranks. server_nodes: where its parameter servers are.

    step_s: of one worker. is_counted: the bytes are those that pods counted, else those of the whole model.
    """

    attempt_id: UUID
    job_id: UUID
    mode: str
    nodes: tuple[str, ...]
    server_nodes: tuple[str, ...]
    step_s: float
    is_counted: bool
    measured_at: datetime
    links: tuple[LinkFlow, ...]


@dataclass(frozen=True)
class LinkLoad:
    """The sum of what gangs send over a link. n_gangs: those whose traffic is known; n_unknown: others."""

    kind: LinkKind
    name: str
    bps: float | None
    n_gangs: int
    n_unknown: int


def live_traffic() -> tuple[list[GangTraffic], list[LinkLoad]]:
    """Returns the traffic of each gang on several nodes that has a rate, and the load of each link that gangs cross."""
    held: defaultdict[UUID, list[Allocation]] = defaultdict(list)
    for allocation in Allocation.objects.filter(released_at=None, attempt__ended_at=None).order_by("id"):
        held[allocation.attempt_id].append(allocation)
    spread = {attempt: parts for attempt, parts in held.items() if len({part.node for part in parts}) > 1}
    attempts = Attempt.objects.filter(pk__in=spread).select_related("job", "speed_sample")
    rack_of = dict(Node.objects.values_list("name", "rack_id"))
    gangs, unknown = [], []
    for attempt in attempts:
        found = _traffic(attempt, spread[attempt.pk], rack_of)
        if found is None:
            unknown.append(_crossed({part.node for part in spread[attempt.pk]}, rack_of))
        else:
            gangs.append(found)
    return gangs, _loads(gangs, unknown)


def capacities() -> dict[LinkName, float]:
    """Returns the declared bit/s of each link."""
    found = {(LinkKind.NIC, name): bps for name, bps in Node.objects.values_list("name", "nic_bps")}
    return found | {(LinkKind.UPLINK, name): bps for name, bps in Rack.objects.values_list("name", "uplink_bps")}


def worker_step_s(attempt: Attempt, measured_at: datetime) -> float | None:
    """Returns the time of one worker's step now, which moves the bytes that it counts; None: not measured lately."""
    step_s = (attempt.measured_step_s or 0.0) * steps_at_once(attempt)
    return step_s if step_s > 0 and timezone.now() - measured_at <= RECENT else None


def _traffic(attempt: Attempt, parts: Sequence[Allocation], rack_of: Mapping[str, str]) -> GangTraffic | None:
    sample: SpeedSample | None = getattr(attempt, "speed_sample", None)
    step_s = None if sample is None else worker_step_s(attempt, sample.updated_at)
    if sample is None or step_s is None:
        return None
    counted = max(sample.measured.get("bytes_sent", 0.0), sample.measured.get("bytes_received", 0.0))
    layout, nodes, racks = _layout(parts, rack_of)
    mode = Mode(attempt.mode)
    model_bytes = float(attempt.job.profile.get("parameters_bytes") or 0)
    nic_bits, uplink_bits = bits_on_links(
        layout, mode, parameters_bytes=_model_bytes_of(counted, mode, layout.n_workers) or model_bytes
    )
    bits = {(LinkKind.NIC, node): n for node, n in zip(nodes, nic_bits, strict=True) if n > 0}
    bits |= {(LinkKind.UPLINK, rack): n for rack, n in zip(racks, uplink_bits, strict=True) if n > 0}
    if not bits:
        return None
    return GangTraffic(
        attempt_id=attempt.pk,
        job_id=attempt.job_id,
        mode=attempt.mode,
        nodes=tuple(nodes),
        server_nodes=tuple(node for node, n in zip(nodes, layout.servers, strict=True) if n),
        step_s=step_s,
        is_counted=counted > 0,
        measured_at=sample.updated_at,
        links=tuple(LinkFlow(kind, name, n / 8, n / step_s) for (kind, name), n in bits.items()),
    )


def _model_bytes_of(counted: float, mode: Mode, n_workers: int) -> float:
    """The size of model of which one worker sends so much: 2 (n - 1) / n of it in a ring, all of it to servers."""
    if mode is Mode.PARAMETER_SERVER or n_workers < 2:
        return counted
    return counted * n_workers / (2 * (n_workers - 1))


def _layout(parts: Sequence[Allocation], rack_of: Mapping[str, str]) -> tuple[Layout, list[str], list[str]]:
    """The layout, and its nodes and racks in that order. Links have no limit: only bytes are asked for."""
    workers: dict[str, int] = {}
    servers: dict[str, int] = {}
    for part in parts:
        workers[part.node] = workers.get(part.node, 0) + len(part.slots)
        servers[part.node] = servers.get(part.node, 0) + part.n_servers
    nodes = list(workers)
    racks = list(dict.fromkeys(rack_of.get(node, "") for node in nodes))
    free = float("inf")
    layout = Layout(
        workers=tuple(workers[node] for node in nodes),
        servers=tuple(servers[node] for node in nodes),
        nic_bps=(free,) * len(nodes),
        rack=tuple(racks.index(rack_of.get(node, "")) for node in nodes),
        uplink_bps=(free,) * len(racks),
    )
    return layout, nodes, racks


def _crossed(nodes: set[str], rack_of: Mapping[str, str]) -> set[LinkName]:
    racks = {rack_of.get(node, "") for node in nodes}
    found: set[LinkName] = {(LinkKind.NIC, node) for node in nodes}
    return found | ({(LinkKind.UPLINK, rack) for rack in racks} if len(racks) > 1 else set())


def _loads(gangs: Sequence[GangTraffic], unknown: Sequence[set[LinkName]]) -> list[LinkLoad]:
    bps: defaultdict[LinkName, float] = defaultdict(float)
    n_gangs: defaultdict[LinkName, int] = defaultdict(int)
    n_unknown: defaultdict[LinkName, int] = defaultdict(int)
    for gang in gangs:
        for flow in gang.links:
            bps[flow.kind, flow.name] += flow.bps
            n_gangs[flow.kind, flow.name] += 1
    for links in unknown:
        for link in links:
            n_unknown[link] += 1
    names = sorted(bps.keys() | n_unknown.keys())
    return [LinkLoad(*link, bps.get(link), n_gangs[link], n_unknown[link]) for link in names]
