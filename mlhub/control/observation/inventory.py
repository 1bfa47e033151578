# SPDX-License-Identifier: Apache-2.0
"""Writing down the inventory as the backend showed it, or that the backend is away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

import structlog

from mlhub.backends.protocol import ItemKind, NodeStatus
from mlhub.clusters.models import Node, Rack
from mlhub.control.fault_isolation.isolation import FaultIsolation, printable
from mlhub.control.fault_isolation.soundness import sound_node
from mlhub.control.models import SchedulerState
from mlhub.control.monitoring.round_health import save_state
from mlhub.events.actions import append

logger = structlog.stdlib.get_logger(__name__)


def record_backend_away(state: SchedulerState, message: str, *, now: datetime) -> None:
    """Records since when the backend is away, until it is back; appends one event."""
    logger.warning("round.backend_away", error=message)
    if state.backend_away_since is None:
        state.backend_away_since = now
        append("backend.away", organisation=None, subject_kind="scheduler", subject_id=None, message=message)
    state.backend_message = message
    save_state(state)


def record_backend_back(state: SchedulerState) -> None:
    """In the row in memory; it is saved with the round."""
    if state.backend_away_since is not None:
        away_since, state.backend_away_since, state.backend_message = state.backend_away_since, None, ""
        append("backend.back", organisation=None, subject_kind="scheduler", subject_id=None, away_since=away_since)


def sound_nodes(nodes: Sequence[NodeStatus], isolation: FaultIsolation) -> list[NodeStatus]:
    """Returns the nodes without those whose values neither the table nor a policy can work with, each name once."""
    found: dict[str, NodeStatus] = {}

    def take(node: NodeStatus) -> None:
        if node.name in found:
            raise ValueError("two nodes have this name")
        found[node.name] = sound_node(node)

    isolation.each(nodes, take, kind=ItemKind.NODE, name=lambda node: printable(str(node.name)))
    return list(found.values())


def record_inventory(nodes: Sequence[NodeStatus], *, now: datetime, isolation: FaultIsolation | None = None) -> None:
    """Rows of nodes that went away are removed. isolation: gets the nodes that cannot be stored."""
    isolation = FaultIsolation() if isolation is None else isolation
    isolation.all_or_each(
        nodes, lambda some: _write_nodes(some, now=now), kind=ItemKind.NODE, name=lambda node: node.name
    )
    Node.objects.exclude(name__in=[n.name for n in nodes]).delete()
    Rack.objects.exclude(name__in={n.rack for n in nodes}).delete()


def _write_nodes(nodes: Sequence[NodeStatus], *, now: datetime) -> None:
    """In the transaction of the caller."""
    racks = {n.rack: n.rack_uplink_bps for n in nodes}
    Rack.objects.bulk_create(
        [Rack(name=name, uplink_bps=uplink_bps) for name, uplink_bps in racks.items()],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=["uplink_bps"],
    )
    Node.objects.bulk_create(
        [_row(node, now) for node in nodes],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=[f.name for f in Node._meta.concrete_fields if not f.primary_key],
    )


def _row(node: NodeStatus, now: datetime) -> Node:
    return Node(
        name=node.name,
        rack_id=node.rack,
        gpu_type=node.gpu_type,
        n_slots=node.n_slots,
        cpus=node.cpus,
        memory_bytes=node.memory_bytes,
        nic_bps=node.nic_bps,
        is_ready=node.is_ready,
        is_schedulable=node.is_schedulable,
        message=node.message,
        observed_at=now,
        max_jobs_per_gpu=node.max_jobs_per_gpu,
        sharing=node.sharing,
        gpu_memory_bytes=node.gpu_memory_bytes,
        gpus=[asdict(gpu) for gpu in node.gpus],
        has_own_cache=node.has_own_cache,
    )
