# SPDX-License-Identifier: Apache-2.0
"""Writing down the inventory as the backend showed it, or that the backend is away."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import structlog
from django.db import transaction

from mlhub.backends.protocol import NodeStatus
from mlhub.clusters.models import Node, Rack
from mlhub.control.models import SchedulerState
from mlhub.events.actions import append

logger = structlog.stdlib.get_logger(__name__)


def record_backend_away(state: SchedulerState, message: str, *, now: datetime) -> None:
    """Records since when the backend is away, until it is back; appends one event."""
    logger.warning("round.backend_away", error=message)
    if state.backend_away_since is None:
        state.backend_away_since = now
        append("backend.away", organisation=None, subject_kind="scheduler", subject_id=None, message=message)
    state.backend_message = message
    state.save()


def record_backend_back(state: SchedulerState) -> None:
    """In the row in memory; it is saved with the round."""
    if state.backend_away_since is not None:
        away_since, state.backend_away_since, state.backend_message = state.backend_away_since, None, ""
        append("backend.back", organisation=None, subject_kind="scheduler", subject_id=None, away_since=away_since)


def record_inventory(nodes: Sequence[NodeStatus], *, now: datetime) -> None:
    """Rows of nodes that went away are removed."""
    with transaction.atomic():
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
        Node.objects.exclude(name__in=[n.name for n in nodes]).delete()
        Rack.objects.exclude(name__in=racks).delete()


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
    )
