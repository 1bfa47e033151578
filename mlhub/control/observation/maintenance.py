# SPDX-License-Identifier: Apache-2.0
"""Cordon, drain, uncordon: an administrator closes a node to MLHub's jobs, on every backend alike.

It is MLHub's own record and changes nothing at the cluster; what the cluster reports of a node (a cordon there, a
taint) holds as well. A drain gives jobs until its deadline: those that are expected to be done by then finish, all
others are asked at once to save and leave, and at the deadline those that are still there. They go back into the
queue, with that reason, and the scheduler finds them other nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

import structlog
from django.db import transaction

from mlhub.backends.protocol import Backend, ItemKind, NodeStatus
from mlhub.clusters.models import Maintenance, Node
from mlhub.control.fault_isolation.isolation import FaultIsolation
from mlhub.control.observation.node_failures import readmit
from mlhub.control.observation.reconcile import ask_to_stop
from mlhub.core.errors import NotFoundError
from mlhub.events.actions import append
from mlhub.jobs.models import Attempt, Job
from mlhub.jobs.states import JobState
from mlhub.tenants.models import User

logger = structlog.stdlib.get_logger(__name__)
DRAINED = "drained"  # why a job was asked to leave


def cordon(node: str, *, actor: User | None, reason: str = "", now: datetime) -> Maintenance:
    """Nothing new starts there; what runs goes on, also where a drain had begun. Raises NotFoundError."""
    return _close(node, actor=actor, reason=reason, drain_by=None, now=now)


def drain(node: str, *, actor: User | None, by: datetime, reason: str = "", now: datetime) -> Maintenance:
    """Nothing new starts there, and it is empty soon after `by`. Raises NotFoundError."""
    return _close(node, actor=actor, reason=reason, drain_by=by, now=now)


def uncordon(node: str, *, actor: User | None, now: datetime) -> bool:
    """Opens it again, also where it was excluded for failures; whether it was closed. Raises NotFoundError for a node
    that never was.
    """
    with transaction.atomic():
        n_removed, _ = Maintenance.objects.filter(pk=node).delete()
        if not n_removed and not Node.objects.filter(pk=node).exists():
            raise _unknown(node)
        was_closed = readmit(node, now=now) or bool(n_removed)
        if was_closed:
            append("node.uncordoned", organisation=None, subject_kind="node", subject_id=None, actor=actor, node=node)
    return was_closed


def maintained(nodes: Sequence[NodeStatus]) -> list[NodeStatus]:
    """The inventory, with closed nodes closed."""
    closed = {found.node: found for found in Maintenance.objects.all()}
    return [_closed(node, closed[node.name]) if node.name in closed else node for node in nodes]


def evict(backend: Backend, *, now: datetime, isolation: FaultIsolation | None = None) -> int:
    """Asks jobs to leave draining nodes, those that will not be done in time first; returns how many it asked.

    isolation: gets the attempts that cannot be asked. Raises BackendUnavailableError: then the next round asks again.
    """
    isolation = FaultIsolation() if isolation is None else isolation
    n_asked = 0
    for closed in Maintenance.objects.exclude(drain_by=None):
        on_it = Attempt.objects.live().filter(allocations__node=closed.node, allocations__released_at=None)
        for attempt in on_it.select_related("job").distinct().order_by("id"):
            ask = partial(_ask_to_leave, backend, attempt, closed, now=now)
            n_asked += isolation.attempt(ask, kind=ItemKind.ATTEMPT, name=str(attempt.id), default=False)
    return n_asked


def _ask_to_leave(backend: Backend, attempt: Attempt, closed: Maintenance, *, now: datetime) -> bool:
    if attempt.job.state not in (JobState.STARTING, JobState.RUNNING):
        return False
    if closed.drain_by is not None and _is_done_by(attempt.job, closed.drain_by, now=now):
        return False
    logger.info("node.drains", node=closed.node, attempt=attempt.id)
    return ask_to_stop(backend, attempt, reason=DRAINED, now=now)


def _close(node: str, *, actor: User | None, reason: str, drain_by: datetime | None, now: datetime) -> Maintenance:
    with transaction.atomic():
        if not Node.objects.filter(pk=node).exists():
            raise _unknown(node)
        wanted = {"reason": reason, "drain_by": drain_by, "asked_by": actor, "asked_at": now}
        closed, _ = Maintenance.objects.update_or_create(pk=node, defaults=wanted)
        kind = "node.cordoned" if drain_by is None else "node.drained"
        until = None if drain_by is None else drain_by.isoformat()
        append(
            kind,
            organisation=None,
            subject_kind="node",
            subject_id=None,
            actor=actor,
            node=node,
            reason=reason,
            drain_by=until,
        )
    return closed


def _closed(node: NodeStatus, closed: Maintenance) -> NodeStatus:
    what = "Cordoned" if closed.drain_by is None else f"Draining until {closed.drain_by:%Y-%m-%d %H:%M} UTC"
    message = f"{what} by an administrator{': ' + closed.reason if closed.reason else '.'}"
    return replace(node, is_schedulable=False, message=f"{node.message} {message}".strip())


def _is_done_by(job: Job, by: datetime, *, now: datetime) -> bool:
    """Whether it is likely to be done in time: by the cautious prediction, where there is one."""
    expected = job.predicted_finish_p90_at or job.predicted_finish_at
    return now < by and expected is not None and expected <= by


def _unknown(node: str) -> NotFoundError:
    known = ", ".join(Node.objects.order_by("name").values_list("name", flat=True)[:20])
    return NotFoundError(f"There is no node {node}.", remedy=f"Known: {known or 'none yet'}.")
