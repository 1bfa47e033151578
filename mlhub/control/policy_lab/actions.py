# SPDX-License-Identifier: Apache-2.0
"""Writes of the policy lab: a replay is asked for, claimed by a worker, recorded, or cancelled."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from mlhub.control.actions import check_policy
from mlhub.control.models import PolicyReplay, ReplayState
from mlhub.control.policy_lab.history import MOST_JOBS, check_period
from mlhub.control.policy_lab.period import nodes_now
from mlhub.core.dispatch import send_on_commit
from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.events.actions import append
from mlhub.tenants.models import User
from scheduler.simulator.reports.policy_lab import check_trace
from scheduler.simulator.traces.clusters import Cluster
from scheduler.simulator.traces.formats import read_trace
from scheduler.simulator.traces.trace import BadInput, Trace

RUN = "mlhub.control.tasks.run_replays"
LIVE = (ReplayState.QUEUED, ReplayState.RUNNING)
MOST_LIVE = 10  # replays that wait or run


def create_replay(
    *,
    actor: User,
    policies: Sequence[dict[str, Any]],
    since: datetime | None = None,
    until: datetime | None = None,
    trace_name: str = "",
    trace: str = "",
    name: str = "",
) -> PolicyReplay:
    """Queues a replay of a period, or of a trace, once it is known that it can be simulated.

    policies: [{name, parameters}]. Raises InvalidInputError naming the field, for a trace with its row; ConflictError
    where too many replays wait.
    """
    for i, policy in enumerate(policies):
        check_policy(policy["name"], policy["parameters"], prefix=f"policies.{i}.")
        if policy in policies[:i]:
            raise InvalidInputError(
                f"The policy {policy['name']!r} is there twice with the same parameters.",
                field=f"policies.{i}",
                remedy="Change its parameters, or take it out.",
            )
    if trace:
        readable_trace(trace, name=trace_name)
    elif since is not None and until is not None:
        check_period(since=since, until=until, now=timezone.now())
    with transaction.atomic():
        if PolicyReplay.objects.filter(state__in=LIVE).count() >= MOST_LIVE:
            raise ConflictError(
                f"{MOST_LIVE} replays wait or run already.", code="too_many", remedy="Cancel one, or wait for one."
            )
        found = PolicyReplay.objects.create(
            created_by=actor,
            name=name,
            since=None if trace else since,
            until=None if trace else until,
            trace_name=trace_name,
            trace=trace,
            policies=list(policies),
        )
        _record("scheduler.replay_created", found, actor)
        send_on_commit(RUN)
    return found


def readable_trace(text: str, *, name: str) -> tuple[Trace, Cluster]:
    """Returns the trace, and the nodes of now on which it is simulated.

    Raises InvalidInputError naming row and field.
    """
    nodes, racks = nodes_now()
    if not any(node.n_gpus for node in nodes):
        raise InvalidInputError(
            "No node has joined the cluster.", field="trace", code="no_nodes", remedy="Wait until one has."
        )
    cluster = Cluster(nodes, racks, name="the cluster")
    try:
        trace = read_trace(text, name=name or "the trace")
        if len(trace.jobs) > MOST_JOBS:
            raise BadInput(trace.name, None, f"{len(trace.jobs):,} jobs; at most {MOST_JOBS:,} can be simulated")
        check_trace(trace, cluster)
    except BadInput as error:
        raise InvalidInputError(str(error), field="trace.text", code="bad_trace") from error
    return trace, cluster


def cancel_replay(replay: PolicyReplay, *, actor: User) -> PolicyReplay:
    """Cancels one that waits at once; one that runs, within seconds. Raises ConflictError for one that has ended."""
    with transaction.atomic():
        found = PolicyReplay.objects.select_for_update().get(pk=replay.pk)
        if found.state not in LIVE:
            raise ConflictError(f"The replay has ended: {found.state}.", code="ended", state=found.state)
        if found.cancel_asked_at is None:
            found.cancel_asked_at = timezone.now()
            if found.state == ReplayState.QUEUED:
                found.state, found.ended_at = ReplayState.CANCELLED, found.cancel_asked_at
            found.save(update_fields=["cancel_asked_at", "state", "ended_at"])
            _record("scheduler.replay_cancelled", found, actor)
    return found


def claim_next() -> PolicyReplay | None:
    """Marks the oldest waiting replay as running, and returns it; None where none waits."""
    with transaction.atomic():
        waiting = PolicyReplay.objects.select_for_update(skip_locked=True).filter(state=ReplayState.QUEUED)
        found = waiting.order_by("id").first()
        if found is not None:
            found.state, found.started_at = ReplayState.RUNNING, timezone.now()
            found.save(update_fields=["state", "started_at"])
    return found


def record_end(
    replay: PolicyReplay, state: ReplayState, *, error: str = "", result: dict[str, Any] | None = None
) -> None:
    """Records how it ended. result: with the rows of its jobs under "jobs"."""
    rows = [] if result is None else result.pop("jobs")
    with transaction.atomic():
        n = PolicyReplay.objects.filter(pk=replay.pk, state=ReplayState.RUNNING).update(
            state=state, error=error, result=result, job_rows=rows, ended_at=timezone.now(), progress={}
        )
        if n:
            _record("scheduler.replay_ended", replay, None, state=state)


def fail_abandoned() -> int:
    """Ends replays whose worker died; only for the holder of the lab's lock. Returns how many."""
    left = list(PolicyReplay.objects.filter(state=ReplayState.RUNNING).order_by("id"))
    for replay in left:
        record_end(replay, ReplayState.FAILED, error="The worker that simulated it ended; start it again.")
    return len(left)


def _record(kind: str, replay: PolicyReplay, actor: User | None, **facts: Any) -> None:
    append(
        kind, organisation=None, subject_kind="scheduler", subject_id=None, actor=actor, replay=str(replay.id), **facts
    )
