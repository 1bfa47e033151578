# SPDX-License-Identifier: Apache-2.0
"""What network links really give: the largest rate that gangs lately got through them, against what was declared."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone

from mlhub.clusters.models import LinkEstimate, LinkKind, Node
from mlhub.events.actions import append
from mlhub.jobs.models import Attempt
from mlhub.wire.launch import SyncMode
from mlhub.wire.report import ProgressReport

LEAST_BYTES = 2**20  # of a step: with less, latency decides how long it takes
LEAST_S = 1e-3
LEAST_REPORTS = 20  # before a link is called slow
HALF_LIFE_S = 3600.0  # of the largest rate: a link that became slow is found
SLOW, HEALTHY = 0.5, 0.6  # of what is expected


def observe_links(attempt: Attempt, report: ProgressReport) -> None:
    """Takes the rate of a gang's synchronisation into the estimates of the links that all of its bytes crossed.

    Only of all-reduce gangs with one worker on each of several nodes: what rank 0 sends and receives then crosses every
    NIC of the gang once, and, of a gang in several racks, their uplinks. No link is slower than the rate; it may be
    faster, where another one held the gang up: so the largest rate counts.
    """
    held = list(attempt.allocations.all())
    if attempt.mode != SyncMode.ALL_REDUCE or len(held) < 2 or any(len(a.slots) != 1 for a in held):
        return
    n_bytes = max(report.measured.get("bytes_sent", 0.0), report.measured.get("bytes_received", 0.0))
    moving_s = report.sync_s - report.wait_s
    if n_bytes < LEAST_BYTES or moving_s < LEAST_S:
        return
    rate_bps = 8 * n_bytes / moving_s
    nodes = list(Node.objects.filter(name__in=[a.node for a in held]).select_related("rack"))
    racks = {node.rack.name: node.rack.uplink_bps for node in nodes}
    if len(racks) > 1:
        nic_bps = min(_estimated(node) for node in nodes)
        for name, uplink_bps in racks.items():
            _observe(LinkKind.UPLINK, name, rate_bps, expected_bps=min(uplink_bps, nic_bps), declared_bps=uplink_bps)
        return
    for node in nodes:
        _observe(LinkKind.NIC, node.name, rate_bps, expected_bps=node.nic_bps, declared_bps=node.nic_bps)


def _estimated(node: Node) -> float:
    """What the NIC gives: less than declared only if it was found to be slow."""
    found = LinkEstimate.objects.filter(kind=LinkKind.NIC, name=node.name).exclude(slow_since=None).first()
    return min(node.nic_bps, found.bps) if found is not None else node.nic_bps


def _observe(kind: LinkKind, name: str, rate_bps: float, *, expected_bps: float, declared_bps: float) -> None:
    now = timezone.now()
    row, _ = LinkEstimate.objects.get_or_create(kind=kind, name=name, defaults={"bps": 0.0, "at": now})
    faded = row.bps * 0.5 ** (max(0.0, (now - row.at).total_seconds()) / HALF_LIFE_S)
    row.bps, row.at, row.n_reports = min(declared_bps, max(rate_bps, faded)), now, row.n_reports + 1
    _judge(row, expected_bps=expected_bps, declared_bps=declared_bps, now=now)
    row.save()


def _judge(row: LinkEstimate, *, expected_bps: float, declared_bps: float, now: datetime) -> None:
    """Publishes that a link was found to be slow, or is so no more."""
    facts: dict[str, Any] = {"link": row.kind, "name": row.name, "measured_bps": row.bps, "declared_bps": declared_bps}
    if row.slow_since is None and row.n_reports >= LEAST_REPORTS and row.bps < SLOW * expected_bps:
        row.slow_since = now
        append("link.slow", organisation=None, subject_kind="cluster", subject_id=None, **facts)
    elif row.slow_since is not None and row.bps > HEALTHY * expected_bps:
        row.slow_since = None
        append("link.recovered", organisation=None, subject_kind="cluster", subject_id=None, **facts)
