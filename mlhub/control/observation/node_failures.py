# SPDX-License-Identifier: Apache-2.0
"""Nodes and GPUs where attempts fail in a row take no new jobs for a while.

A node that fails at once is soon free again, so the scheduler would give it one job after another, and the same job
each time that it is tried again. An attempt counts where its cause may lie with the node and one node alone is to
blame. What ran there since and made progress clears it. What is excluded is tried again, and if it fails once more it
is excluded for twice as long, as by a circuit breaker. Where most nodes fail the reason lies with what they share: at
most a third of the nodes, or of a node's GPUs, is excluded at a time, and never the only one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Max, Q

from mlhub.backends.protocol import GpuStatus, ItemKind, NodeStatus, PodStatus
from mlhub.clusters.models import Node
from mlhub.control.fault_isolation.isolation import FaultIsolation
from mlhub.control.models import NodeExclusion, NodeFailure
from mlhub.events.actions import append
from mlhub.jobs.models import Allocation, Attempt
from mlhub.wire.exits import Cause, cause_of
from mlhub.wire.launch import PodRole

logger = structlog.stdlib.get_logger(__name__)
WINDOW = timedelta(hours=1)  # failures that lie further apart are no row
FIRST, LONGEST = timedelta(minutes=10), timedelta(hours=4)
KEPT = timedelta(days=7)
LOOKS_BACK = timedelta(days=1)
LARGEST_SHARE = 3  # one in so many
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


@dataclass(frozen=True)
class _Place:
    """gpu: its index on the node; None: the node as a whole."""

    node: str
    gpu: int | None = None


def record_node_failure(attempt: Attempt, *, pods: Sequence[PodStatus] = (), now: datetime) -> None:
    """Call it in the transaction in which an attempt was closed as failed: else a process that is killed in between
    leaves a failure of which nothing is known. judge_node_failures() goes on from there.
    """
    attempt.refresh_from_db(fields=["cause", "started_at", "created_at"])
    cause = Cause(attempt.cause) if attempt.cause else Cause.UNKNOWN
    if settings.NODE_EXCLUDE_AFTER == 0 or cause not in COUNTED_ONCE_FOR:
        return
    place = _to_blame(attempt, cause, pods)
    if place is not None:
        began_at = _began_at(attempt, now=now)
        values = {"node": place.node, "gpu": place.gpu, "cause": cause, "began_at": began_at, "at": now}
        NodeFailure.objects.get_or_create(attempt=attempt, defaults=values | {"is_judged": False})


def judge_node_failures(*, now: datetime, isolation: FaultIsolation) -> None:
    """Excludes what is to blame for the failures since it was called last, where it was one failure too many.

    isolation: gets the failures that cannot be judged.
    """
    found = list(NodeFailure.objects.filter(is_judged=False).order_by("at", "id"))
    if found:
        NodeFailure.objects.filter(at__lt=now - KEPT).delete()
    for failure in found:
        judge = partial(_judge_failure, failure, now=now)
        isolation.attempt(judge, kind=ItemKind.ATTEMPT, name=str(failure.attempt_id), default=None)


def _judge_failure(failure: NodeFailure, *, now: datetime) -> None:
    place, cause = _Place(failure.node, failure.gpu), Cause(failure.cause)
    with transaction.atomic():
        if place.gpu is None or not _judge(place, cause, now=now):
            _judge(_Place(place.node), cause, now=now)
        NodeFailure.objects.filter(pk=failure.pk).update(is_judged=True)


def without_excluded(nodes: Sequence[NodeStatus], *, now: datetime) -> list[NodeStatus]:
    """The inventory, with excluded nodes closed and excluded GPUs unusable."""
    rows = list(NodeExclusion.objects.filter(until__gt=now))
    for row in rows:
        _follow_clock(row, now=now)
    closed = {row.node for row in rows if row.gpu is None}
    gpus = {(row.node, row.gpu): row for row in rows}

    def without(node: NodeStatus) -> NodeStatus:
        found = tuple(_unusable(gpu, gpus.get((node.name, gpu.index))) for gpu in node.gpus)
        return replace(node, is_schedulable=node.is_schedulable and node.name not in closed, gpus=found)

    return [without(node) for node in nodes] if rows else list(nodes)


def _follow_clock(row: NodeExclusion, *, now: datetime) -> None:
    """An exclusion that began in the future was made before the clock was set back: it lasts no longer for that."""
    if row.since is not None and row.until is not None and row.since > now:
        row.since, row.until = now, now + (row.until - row.since)
        row.save(update_fields=["since", "until"])


def readmit(node: str, *, now: datetime) -> bool:
    """An administrator opens the node again: its failures until now no longer count. Returns whether anything of it
    was excluded.
    """
    found = NodeExclusion.objects.filter(node=node)
    was_excluded = found.filter(until__gt=now).exists()
    found.update(counted_from=now, since=None, until=None, n_times=0)
    return was_excluded


def _to_blame(attempt: Attempt, cause: Cause, pods: Sequence[PodStatus]) -> _Place | None:
    """Where the attempt failed. None where it is not known, as of a gang whose pods failed on several nodes."""
    workers, servers = attempt.placement()
    nodes = {node for node, _ in workers} | set(servers)
    failed = [(found.precedence, pod) for pod in pods if pod.exit_code and (found := cause_of(pod.exit_code))]
    first = min((precedence for precedence, _ in failed), default=None)
    to_blame = [pod for precedence, pod in failed if precedence == first]
    if len(nodes) > 1:
        nodes = {pod.node for pod in to_blame}
    if len(nodes) != 1:
        return None
    [node] = nodes
    gpus = {workers[pod.index] for pod in to_blame if pod.role is PodRole.WORKER and pod.index < len(workers)}
    is_known = cause is Cause.GPU_UNAVAILABLE and len(gpus) == 1 and _n_gpus(node) > 1
    return _Place(*gpus.pop()) if is_known else _Place(node)


def _began_at(attempt: Attempt, *, now: datetime) -> datetime:
    """When it was launched. A start that lies outside its life is by a node's clock, which is wrong."""
    started_at = attempt.started_at
    is_sound = started_at is not None and attempt.created_at <= started_at <= now
    return started_at if started_at is not None and is_sound else attempt.created_at


def _n_gpus(node: str) -> int:
    """Those that the driver shows; 0 where it cannot be asked, and an index is no certain GPU."""
    return len(Node.objects.filter(name=node).values_list("gpus", flat=True).first() or [])


def _judge(place: _Place, cause: Cause, *, now: datetime) -> bool:
    """Excludes the place if enough attempts failed there in a row; whether it is excluded."""
    found = NodeExclusion.objects.select_for_update().filter(node=place.node, gpu=place.gpu).first()
    row = found or NodeExclusion(node=place.node, gpu=place.gpu)
    if row.until is not None and row.until > now:
        return True  # what was launched before
    good = _newest_good_attempt(place, now=now)
    is_on_trial = row.n_times > 0 and row.since is not None and (good is None or good < row.since)
    n_times = row.n_times if is_on_trial else 0
    row_begins = max(at for at in (now - WINDOW, row.counted_from, good) if at is not None)
    failures = _failures(place, since=row_begins)
    if is_on_trial and row.since is not None:  # what was launched before the exclusion says nothing of the trial
        failures = [one for one in failures if one["began_at"] >= row.since]
    if _in_a_row(place, failures) < (1 if is_on_trial else settings.NODE_EXCLUDE_AFTER):
        return False
    if not _may_exclude_one_more(place, {one[_ORGANISATION] for one in failures}, now=now):
        logger.warning("node.not_excluded", node=place.node, gpu=place.gpu, cause=cause, reason="too many fail")
        return False
    row.since, row.until = now, now + min(LONGEST, FIRST * 2**n_times)
    row.n_times, row.cause = n_times + 1, cause
    row.n_failures, row.n_jobs = len(failures), len({one[_JOB] for one in failures})
    row.save()
    facts: dict[str, Any] = {
        "node": place.node,
        "gpu": place.gpu,
        "cause": cause,
        "n_failures": row.n_failures,
        "n_jobs": row.n_jobs,
        "until": row.until.isoformat(),
    }
    logger.warning("node.excluded", **facts)
    append("node.excluded", organisation=None, subject_kind="node", subject_id=None, **facts)
    return True


def _failures(place: _Place, *, since: datetime) -> list[dict[str, Any]]:
    found = NodeFailure.objects.filter(node=place.node, at__gt=since)
    if place.gpu is not None:
        found = found.filter(gpu=place.gpu)
    return list(found.order_by("at", "id").values("cause", "gpu", "began_at", "at", _ATTEMPT, _JOB, _ORGANISATION))


def _in_a_row(place: _Place, failures: Sequence[Mapping[str, Any]]) -> int:
    """How many of them, in order of time, were launched after another had failed: what ends together, as when a machine
    restarts or a store is away for a moment, is one failure. For a node a GPU of several counts once: that one fails
    says little of the others.
    """

    def unit(one: Mapping[str, Any]) -> str:
        return "gpu" if place.gpu is None and one["gpu"] is not None else COUNTED_ONCE_FOR[Cause(one["cause"])]

    seen: set[tuple[str, Any]] = set()
    last_at: datetime | None = None
    for one in failures:
        counted = (unit(one), one[unit(one)])
        if counted not in seen and (last_at is None or one["began_at"] >= last_at):
            seen.add(counted)
            last_at = one["at"]
    return len(seen)


def _newest_good_attempt(place: _Place, *, now: datetime) -> datetime | None:
    """When the newest attempt began to run that made progress there, and did not fail by the node."""
    held = Allocation.objects.filter(Q(released_at=None) | Q(released_at__gt=now - LOOKS_BACK), node=place.node)
    if place.gpu is not None:
        held = held.filter(slots__contains=place.gpu)
    progressed = Q(last_step__gt=F("first_step")) | Q(outcome="succeeded")
    found = Attempt.objects.filter(progressed, id__in=held.values("attempt"), node_failure=None)
    began = found.filter(started_at__lte=now)  # later: by the clock of a node that is fast
    newest: datetime | None = began.aggregate(newest=Max("started_at"))["newest"]
    return newest


def _may_exclude_one_more(place: _Place, organisations: set[Any], *, now: datetime) -> bool:
    """organisations: whose attempts failed there. A script may end with the status of any cause, so that of what is
    excluded each place needs an organisation that the others do not need: those that act together close one each.
    """
    excluded = NodeExclusion.objects.filter(until__gt=now, node__in=Node.objects.values("name"))
    if not _is_one_for_each([organisations, *(_organisations_of(row) for row in excluded)]):
        return False
    if place.gpu is None:
        open_elsewhere = Node.objects.filter(is_ready=True, is_schedulable=True).exclude(name=place.node)
        if not open_elsewhere.exists():
            return False
        n_all = Node.objects.count()
        n_excluded = excluded.filter(gpu=None).count()
    else:
        n_all = _n_gpus(place.node)
        n_excluded = excluded.filter(node=place.node).exclude(gpu=None).count()
    return n_all > 1 and n_excluded < max(1, n_all // LARGEST_SHARE)


def _is_one_for_each(sets: Sequence[set[Any]]) -> bool:
    """Whether a different member can be chosen from each set (a matching, by augmenting paths)."""
    chosen_by: dict[Any, int] = {}

    def choose(number: int, seen: set[Any]) -> bool:
        for member in sets[number] - seen:
            seen.add(member)
            if member not in chosen_by or choose(chosen_by[member], seen):
                chosen_by[member] = number
                return True
        return False

    return all(choose(number, set()) for number in range(len(sets)))


def _organisations_of(row: NodeExclusion) -> set[Any]:
    """Those whose attempts excluded it."""
    if row.since is None:
        return set()
    found = NodeFailure.objects.filter(node=row.node, at__gt=row.since - WINDOW, at__lte=row.since)
    return set(found.values_list(_ORGANISATION, flat=True))


def _unusable(gpu: GpuStatus, row: NodeExclusion | None) -> GpuStatus:
    if row is None or row.until is None:
        return gpu
    problem = f"Excluded until {row.until:%H:%M} UTC: {row.n_failures} attempts in a row failed on it."
    return replace(gpu, problem=gpu.problem or problem)
