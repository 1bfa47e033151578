# SPDX-License-Identifier: Apache-2.0
"""What Celery does for the control loop: it notices that no rounds are made, budgets are reached and boosts over, and
runs the replays of the policy lab."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from mlhub.control.models import PolicyReplay, ReplayState
from mlhub.control.monitoring.round_health import publish_stop
from mlhub.control.policy_lab.actions import RUN, claim_next, fail_abandoned
from mlhub.control.policy_lab.forgetting import forget_deleted
from mlhub.control.policy_lab.running import run_replay
from mlhub.control.quotas.budget_alerts import report_reached, report_reached_by_users
from mlhub.core.dispatch import send
from mlhub.core.locks import work_lock
from mlhub.tenants.actions import record_begun_boosts, record_ended_boosts

POLICY_LAB = "policy lab"  # the lock of the worker that simulates: one replay at a time


@shared_task
def watch_rounds() -> None:
    """Publishes once that rounds have stopped."""
    publish_stop(now=timezone.now())


@shared_task
def run_replays() -> bool:
    """Runs the oldest waiting replay, unless another worker runs one; returns whether it ran one."""
    with work_lock(POLICY_LAB) as is_mine:
        if not is_mine:
            return False
        fail_abandoned()
        replay = claim_next()
        if replay is None:
            return False
        run_replay(replay)
    if PolicyReplay.objects.filter(state=ReplayState.QUEUED).exists():
        send(RUN)
    return True


@shared_task
def sweep_replays() -> int:
    """Ends what a dead worker left, and wakes a worker where replays wait; returns how many wait."""
    with work_lock(POLICY_LAB) as is_mine:
        if not is_mine:
            return 0
        fail_abandoned()
    n_waiting = PolicyReplay.objects.filter(state=ReplayState.QUEUED).count()
    if n_waiting:
        send(RUN)
    return n_waiting


@shared_task
def forget_replayed_jobs() -> int:
    """Returns how many replays lost rows of jobs and organisations that are deleted."""
    with work_lock("replayed jobs") as is_mine:
        return forget_deleted() if is_mine else 0


@shared_task
def watch_budgets() -> int:
    """Returns how many budgets were found to have reached a threshold. One run at a time."""
    with work_lock("budgets") as is_mine:
        if not is_mine:
            return 0
        now = timezone.now()
        return report_reached(now) + report_reached_by_users(now)


@shared_task
def watch_boosts() -> int:
    """Returns how many boosts of quotas were found to have begun or to be over, and are now recorded so."""
    now = timezone.now()
    return record_begun_boosts(now) + record_ended_boosts(now)
