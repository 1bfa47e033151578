# SPDX-License-Identifier: Apache-2.0
"""What stored rounds say of a period: the nodes, when each of them was away, the quotas, and the policy that ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db.models import F, Func, JSONField, Max, Min

from mlhub.control.advice.whatif import nodes_as_recorded
from mlhub.control.models import Round, SchedulerSettings
from mlhub.control.rounds.snapshots import node_snapshot
from scheduler.api.records import snapshot_from_json
from scheduler.api.snapshot import ClusterSnapshot, TenantSnapshot
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.simulator.failures import Failure, FailureKind

MOST_ROUNDS_READ = 200  # spread evenly over the period


@dataclass
class RecordedPeriod:
    """racks: with their uplinks. failures: nodes that were away. tenants: by id, with the quota that they had first.

    rounds_from, rounds_until, n_rounds: what was stored of it; None and 0 where nothing was.
    policy, parameters: what decided most rounds; n_policies: how many different ones did.
    """

    policy: str
    parameters: Mapping[str, Any]
    n_policies: int
    nodes: tuple[NodeSnapshot, ...] = ()
    racks: tuple[RackSnapshot, ...] = ()
    failures: tuple[Failure, ...] = ()
    tenants: Mapping[str, TenantSnapshot] = field(default_factory=dict)
    rounds_from: datetime | None = None
    rounds_until: datetime | None = None
    n_rounds: int = 0


class _WithoutJobs(Func):
    """A snapshot without what grows with the number of jobs."""

    template = "(%(expressions)s - 'jobs' - 'observations' - 'pairs' - 'withdrawn')"
    output_field = JSONField()


def recorded_period(*, since: datetime, until: datetime) -> RecordedPeriod:
    """Reads the period. Where no round was stored in it, the nodes and the policy are those of now."""
    found = _policy_that_ran(since, until)
    states = _states(since, until)
    if not states:
        now_nodes, now_racks = nodes_now()
        return replace(found, nodes=now_nodes, racks=now_racks)
    nodes = {node.name: node for _, state in states for node in state.nodes}
    racks = {rack.name: rack for _, state in states for rack in state.racks}
    available = [(at_s, {n.name for n in state.nodes if n.is_schedulable}) for at_s, state in states]
    return replace(
        found,
        nodes=tuple(replace(node, is_schedulable=True) for _, node in sorted(nodes.items())),
        racks=tuple(rack for _, rack in sorted(racks.items())),
        failures=tuple(absences(available, sorted(nodes), since_s=since.timestamp(), until_s=until.timestamp())),
        tenants={tenant.id: tenant for tenant in states[0][1].tenants},
    )


def absences(
    available: Sequence[tuple[float, set[str]]], nodes: Sequence[str], *, since_s: float, until_s: float
) -> list[Failure]:
    """When each node was lost and came back, by time. available: (seconds, nodes that could be used), ascending.

    A node that is away at the end is back then: what is left of the jobs has all nodes.
    """
    found = []
    for node in nodes:
        is_there = True
        for at_s, there in available:
            if (node in there) is not is_there:
                is_there = not is_there
                kind = FailureKind.BACK if is_there else FailureKind.LOST
                found.append(Failure(max(since_s, at_s), node, kind))
        if not is_there:
            found.append(Failure(until_s, node, FailureKind.BACK))
    return sorted(found, key=lambda failure: (failure.at_s, failure.node))


def nodes_now() -> tuple[tuple[NodeSnapshot, ...], tuple[RackSnapshot, ...]]:
    """The nodes as the control loop last saw them, all of them usable."""
    recorded = nodes_as_recorded()
    uplinks = {node.rack: node.rack_uplink_bps for node in recorded}
    nodes = tuple(replace(node_snapshot(node, is_closed=False), is_schedulable=True) for node in recorded)
    return nodes, tuple(RackSnapshot(name, bps) for name, bps in sorted(uplinks.items()))


def _policy_that_ran(since: datetime, until: datetime) -> RecordedPeriod:
    decided = Round.objects.filter(at__gte=since, at__lte=until)
    names = list(decided.values_list("policy", flat=True))
    if not names:
        settings, _ = SchedulerSettings.objects.get_or_create(pk=1)
        return RecordedPeriod(settings.policy, settings.parameters, 0)
    most = max(sorted(set(names)), key=names.count)
    newest = decided.filter(policy=most).order_by("-id").values_list("parameters", flat=True).first()
    ends = decided.aggregate(first=Min("at"), last=Max("at"))
    return RecordedPeriod(
        most,
        newest or {},
        len(set(names)),
        rounds_from=ends["first"],
        rounds_until=ends["last"],
        n_rounds=len(names),
    )


def _states(since: datetime, until: datetime) -> list[tuple[float, ClusterSnapshot]]:
    """Of the last round before the period, and of rounds in it."""
    before = Round.objects.filter(at__lt=since).order_by("-at").values_list("id", flat=True)[:1]
    within = list(Round.objects.filter(at__gte=since, at__lte=until).order_by("at").values_list("id", flat=True))
    step = max(1, -(-len(within) // MOST_ROUNDS_READ))
    chosen = [*before, *within[::step]]
    rows = Round.objects.filter(id__in=chosen).order_by("at").annotate(state=_WithoutJobs(F("snapshot")))
    found = []
    for at, state in rows.values_list("at", "state"):
        snapshot = _read(state)
        if snapshot is not None:
            found.append((at.timestamp(), snapshot))
    return found


def _read(state: Mapping[str, Any]) -> ClusterSnapshot | None:
    """None for a record of a version that cannot be read any more."""
    try:
        return snapshot_from_json({**state, "jobs": []})
    except ValueError:
        return None
