# SPDX-License-Identifier: Apache-2.0
"""Nodes where attempts fail in a row take no new jobs for a while.

A node that fails at once is soon free again, so the scheduler would give it one job after another, and the same job
each time that it is tried again. An attempt counts where its cause may lie with the node and one node alone is to
blame. What ran on a node and made progress since clears it. Excluded nodes are tried again, each time that they fail
again after twice as long; as a circuit breaker is. As most of the nodes cannot all be broken, at most a third of them
is excluded at a time, and never the only one: then the reason lies with what they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Max, Q

from mlhub.backends.protocol import NodeStatus, PodStatus
from mlhub.clusters.models import Node
from mlhub.control.models import NodeExclusion, NodeFailure
from mlhub.events.actions import append
from mlhub.jobs.models import Allocation, Attempt
from mlhub.wire.exits import Cause, cause_of

logger = structlog.stdlib.get_logger(__name__)
WINDOW = timedelta(hours=1)  # failures that lie further apart are no row
FIRST, LONGEST = timedelta(minutes=10), timedelta(hours=4)
KEPT = timedelta(days=7)
LOOKS_BACK = timedelta(days=1)
LARGEST_SHARE = 3  # one node in so many
# Causes that may lie with a node, and for what each counts once: that an attempt finds no GPU says something of the
# node; inputs may be missing for this job alone; code may crash or kill itself, as often as its organisation wants.
_ATTEMPT, _JOB, _ORGANISATION = "attempt", "attempt__job", "attempt__job__project__organisation"
COUNTED_ONCE_FOR = {
    Cause.GPU_UNAVAILABLE: _ATTEMPT,
    Cause.SANDBOX_FAILED: _ATTEMPT,
    Cause.IO_ERROR: _ATTEMPT,
    Cause.NODE_LOST: _ATTEMPT,
    Cause.LAUNCH_FAILED: _ATTEMPT,
    Cause.INPUT_UNAVAILABLE: _JOB,
    Cause.IMAGE: _JOB,
    Cause.VOLUME: _JOB,
    Cause.CRASHED: _ORGANISATION,
    Cause.KILLED: _ORGANISATION,
    Cause.UNKNOWN: _ORGANISATION,
}


def record_node_failure(attempt: Attempt, *, pods: Sequence[PodStatus] = (), now: datetime) -> None:
    """Call it when an attempt was closed as failed. Excludes the node that is to blame, if it was one too many."""
    attempt.refresh_from_db(fields=["cause"])
    cause = Cause(attempt.cause) if attempt.cause else Cause.UNKNOWN
    if settings.NODE_EXCLUDE_AFTER == 0 or cause not in COUNTED_ONCE_FOR:
        return
    node = _to_blame(attempt, pods)
    if node is None:
        return
    with transaction.atomic():
        values = {"node": node, "cause": cause, "at": now}
        NodeFailure.objects.get_or_create(attempt=attempt, defaults=values)
        NodeFailure.objects.filter(at__lt=now - KEPT).delete()
        _judge(node, cause, now=now)


def without_excluded(nodes: Sequence[NodeStatus], *, now: datetime) -> list[NodeStatus]:
    """The inventory, with excluded nodes closed."""
    excluded = set(NodeExclusion.objects.filter(until__gt=now).values_list("node", flat=True))
    return [replace(node, is_schedulable=False) if node.name in excluded else node for node in nodes]


def readmit(node: str, *, now: datetime) -> bool:
    """An administrator opens the node again: its failures until now no longer count. Returns whether it was closed."""
    found = NodeExclusion.objects.filter(node=node)
    was_excluded = found.filter(until__gt=now).exists()
    found.update(counted_from=now, since=None, until=None, n_times=0)
    return was_excluded


def _to_blame(attempt: Attempt, pods: Sequence[PodStatus]) -> str | None:
    """The one node on which the attempt failed. None where it is not known."""
    nodes = set(Allocation.objects.filter(attempt=attempt).values_list("node", flat=True))
    if len(nodes) == 1:
        return nodes.pop()
    failed = [(cause.precedence, pod.node) for pod in pods if pod.exit_code and (cause := cause_of(pod.exit_code))]
    first = min((precedence for precedence, _ in failed), default=None)
    to_blame = {node for precedence, node in failed if precedence == first}
    return to_blame.pop() if len(to_blame) == 1 else None


def _judge(node: str, cause: Cause, *, now: datetime) -> None:
    row = NodeExclusion.objects.select_for_update().filter(pk=node).first() or NodeExclusion(node=node)
    if row.until is not None and row.until > now:
        return  # what was launched before
    good = _newest_good_attempt(node, now=now)
    is_on_trial = row.n_times > 0 and row.since is not None and (good is None or good < row.since)
    n_times = row.n_times if is_on_trial else 0
    row_begins = [at for at in (now - WINDOW, row.counted_from, good) if at is not None]
    row_of_failures = NodeFailure.objects.filter(node=node, at__gt=max(row_begins))
    failures = list(row_of_failures.values("cause", _ATTEMPT, _JOB, _ORGANISATION))
    counted = {(unit, one[unit]) for one in failures if (unit := COUNTED_ONCE_FOR[Cause(one["cause"])])}
    if len(counted) < (1 if is_on_trial else settings.NODE_EXCLUDE_AFTER):
        return
    if not _may_exclude_one_more(now=now):
        logger.warning("node.not_excluded", node=node, cause=cause, reason="too many nodes fail")
        return
    row.since, row.until = now, now + min(LONGEST, FIRST * 2**n_times)
    row.n_times, row.cause = n_times + 1, cause
    row.n_failures, row.n_jobs = len(failures), len({one[_JOB] for one in failures})
    row.save()
    logger.warning("node.excluded", node=node, cause=cause, until=row.until, n_failures=row.n_failures)
    append(
        "node.excluded",
        organisation=None,
        subject_kind="node",
        subject_id=None,
        node=node,
        cause=cause,
        n_failures=row.n_failures,
        n_jobs=row.n_jobs,
        until=row.until.isoformat(),
    )


def _newest_good_attempt(node: str, *, now: datetime) -> datetime | None:
    """When the newest attempt began to run that made progress there, and did not fail by the node."""
    held = Allocation.objects.filter(Q(released_at=None) | Q(released_at__gt=now - LOOKS_BACK), node=node)
    progressed = Q(last_step__gt=F("first_step")) | Q(outcome="succeeded")
    found = Attempt.objects.filter(progressed, id__in=held.values("attempt"), node_failure=None)
    newest: datetime | None = found.aggregate(newest=Max("started_at"))["newest"]
    return newest


def _may_exclude_one_more(*, now: datetime) -> bool:
    n_nodes = Node.objects.count()
    n_excluded = NodeExclusion.objects.filter(until__gt=now, node__in=Node.objects.values("name")).count()
    return n_nodes > 1 and n_excluded < max(1, n_nodes // LARGEST_SHARE)
