# SPDX-License-Identifier: Apache-2.0
"""The control loop: observe, decide, apply; one process, behind a lock, woken by events and by a period."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import redis
import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from mlhub.backends.protocol import Backend, BackendUnavailableError
from mlhub.control.apply import apply_plan
from mlhub.control.deciders import Decider, DecisionError, InProcessDecider
from mlhub.control.decision_process import DecisionRequest, DecisionResult
from mlhub.control.forecasts import Forecasts, close_forecasts
from mlhub.control.history import History, forget_old_decisions
from mlhub.control.housekeeping import Housekeeping
from mlhub.control.inventory import record_backend_away, record_backend_back, record_inventory
from mlhub.control.maintenance import evict, maintained
from mlhub.control.memory import MemoryOwner, store_memory
from mlhub.control.models import Round, SchedulerSettings, SchedulerState
from mlhub.control.policy_selection import SelectedPolicy, choose, record_failure, record_success
from mlhub.control.reconcile import reconcile
from mlhub.control.shadow import Shadow
from mlhub.control.snapshots import take_snapshot
from mlhub.control.stalls import watch_stalls
from mlhub.core.locks import work_lock
from mlhub.events.wakeups import EVENTS, channel
from scheduler import ClusterSnapshot, Plan
from scheduler.api.plan import Wait
from scheduler.api.records import plan_to_json, snapshot_to_json

logger = structlog.stdlib.get_logger(__name__)
LOCK = "control loop"
LOCK_RETRY_S = 2.0
STORE_EVERY = timedelta(seconds=30)  # a round that changes nothing is stored this often
N_ROUNDS_KEPT = 2000
FORGET_EVERY = 200
FAILURES_STORED = 10  # of failures in a row, so many are stored one by one


@dataclass
class Loop:
    """decider: where policies think. shadow: the second opinion, if the settings want one. plan: the newest one, which
    stands until there is another. now: the clock, replaced in tests."""

    backend: Backend
    now: Callable[[], datetime] = timezone.now
    decider: Decider = field(default_factory=InProcessDecider)
    shadow: Shadow = field(default_factory=lambda: Shadow(InProcessDecider()))
    is_asked_to_end: bool = False
    plan: Plan | None = field(default=None, repr=False)
    _history: History = field(default_factory=History, repr=False)
    _forecasts: Forecasts = field(default_factory=Forecasts, repr=False)
    _housekeeping: Housekeeping = field(default_factory=Housekeeping, repr=False)
    _stored_at: datetime | None = field(default=None, repr=False)

    def run(self) -> None:
        """Rounds until asked to end. Waits while another process holds the lock."""
        ear = _WakeupListener()
        while not self.is_asked_to_end:
            try:
                with work_lock(LOCK) as is_mine:
                    if not is_mine:
                        logger.info("control.waits", reason="another control loop runs")
                        time.sleep(LOCK_RETRY_S)
                    while is_mine and not self.is_asked_to_end:
                        self.round()
                        ear.wait(settings.CONTROL_PERIOD_S)
            except (DatabaseError, InterfaceError) as error:
                logger.warning("control.database_away", error=error)
                connection.close()
                time.sleep(LOCK_RETRY_S)

    def close(self) -> None:
        """Ends the processes that decide."""
        self.decider.close()
        self.shadow.close()

    def round(self) -> Round | None:
        """One pass: observe, decide, apply, and write down what came of it.

        None when the backend could not be reached: nothing is decided on what is not known. A policy that raises or
        takes too long costs this round: what was decided before stands.
        """
        now, began = self.now(), time.perf_counter()
        structlog.contextvars.clear_contextvars()
        state, _ = SchedulerState.objects.get_or_create(pk=1)
        try:
            nodes = maintained(self.backend.inventory())
            reconcile(self.backend, self.backend.observe(), now=now)
            evict(self.backend, now=now)
            watch_stalls(self.backend, now=now)
        except BackendUnavailableError as error:
            record_backend_away(state, str(error), now=now)
            return None
        record_backend_back(state)
        record_inventory(nodes, now=now)
        chosen_by_admin, _ = SchedulerSettings.objects.get_or_create(pk=1)
        chosen = choose(chosen_by_admin, state, now=now)
        self.shadow.collect()
        number = (Round.objects.order_by("-id").values_list("id", flat=True).first() or 0) + 1
        structlog.contextvars.bind_contextvars(round=number)
        snapshot = take_snapshot(nodes, now=now, round_number=number, remembered=chosen.memory.known_jobs())
        record = Round(at=now, policy=chosen.name, parameters=dict(chosen.parameters), n_jobs=len(snapshot.jobs))
        try:
            decided = self._decide(snapshot, chosen)
        except DecisionError as error:
            record.error = str(error)
            self._store(record, snapshot, None, began=began, is_worth_it=state.n_failures < FAILURES_STORED)
            record_failure(state, chosen, kind=error.kind, message=str(error), round_id=record.pk, now=now)
            state.save()
            return record
        self.plan = plan = decided.plan
        record_success(state, chosen)
        applied = apply_plan(plan, backend=self.backend, now=now)
        record.decide_ms, record.applied = 1000 * decided.took_s, applied.actions
        if plan.memory != chosen.memory:
            store_memory(MemoryOwner.POLICY, plan.memory)
        self._store(record, snapshot, plan, began=began, is_worth_it=bool(applied.actions))
        self._history.record(plan, applied, round_id=record.pk, now=now)
        self._forecasts.keep(plan, applied, now=now)
        self._housekeeping.tend(self.backend, now=now)
        self.shadow.offer(snapshot, plan, chosen_by_admin, memory=chosen.memory, round_id=record.pk)
        self.shadow.collect()
        waiting = {d.job for d in plan.decisions if isinstance(d, Wait)}
        state.order = [job for job in dict.fromkeys((*plan.order, *sorted(waiting))) if job in waiting]
        state.round_at, state.decide_ms, state.round_ms = now, record.decide_ms, 1000 * (time.perf_counter() - began)
        state.save()
        return record

    def _decide(self, snapshot: ClusterSnapshot, chosen: SelectedPolicy) -> DecisionResult:
        """Raises DecisionError, also for settings that mean nothing any more."""
        try:
            policy = chosen.policy()
        except (ValueError, TypeError) as error:
            raise DecisionError("raised", str(error)) from error
        self.decider.submit(DecisionRequest(snapshot, policy, chosen.memory, chosen.limit_s))
        decided = self.decider.result(waits=True)
        if decided is None:
            raise DecisionError("died", "The deciding process has no answer.")
        return decided

    def _store(
        self, record: Round, snapshot: ClusterSnapshot, plan: Plan | None, *, began: float, is_worth_it: bool
    ) -> None:
        """Rounds that change something, and every STORE_EVERY one that does not. record.pk stays None otherwise."""
        is_due = self._stored_at is None or record.at - self._stored_at >= STORE_EVERY
        if not is_worth_it and not is_due:
            return
        record.snapshot, record.plan = snapshot_to_json(snapshot), plan_to_json(plan) if plan else None
        record.round_ms = 1000 * (time.perf_counter() - began)
        record.save(force_insert=True)
        self._stored_at = record.at
        close_forecasts()
        if record.pk % FORGET_EVERY == 0:
            Round.objects.filter(id__lte=record.pk - N_ROUNDS_KEPT).delete()
            forget_old_decisions()


class _WakeupListener:
    """Waits until Redis reports that something happened; without Redis, until the time has passed."""

    def __init__(self) -> None:
        self._subscription: Any = None

    def wait(self, timeout_s: float) -> None:
        until = time.monotonic() + timeout_s
        try:
            if self._subscription is None:
                client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=timeout_s + 5)
                self._subscription = client.pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]
                self._subscription.subscribe(channel(EVENTS))
            while (left := until - time.monotonic()) > 0:
                if self._subscription.get_message(timeout=left):
                    self._drain()
                    return
        except (redis.RedisError, OSError) as error:
            logger.warning("control.redis_away", error=error)
            self._subscription = None
            time.sleep(max(0.0, until - time.monotonic()))

    def _drain(self) -> None:
        """Many events make one round."""
        time.sleep(0.05)
        while self._subscription.get_message(timeout=0):
            pass
