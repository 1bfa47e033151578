"""The control loop: observe, decide, apply; one process, behind a lock, woken by events and by a period."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from mlhub.backends.protocol import Backend, BackendUnavailableError
from mlhub.control.apply import apply_plan
from mlhub.control.inventory import record_inventory
from mlhub.control.models import Round, SchedulerSettings
from mlhub.control.reconcile import reconcile
from mlhub.control.snapshots import take_snapshot
from mlhub.core.locks import work_lock
from mlhub.events.wakes import EVENTS, channel
from scheduler import PolicyMemory, decide, policy_named
from scheduler.records import plan_to_json, snapshot_to_json

logger = logging.getLogger(__name__)
LOCK = "control loop"
LOCK_RETRY_S = 2.0
STORE_EVERY = timedelta(seconds=30)  # a round that changes nothing is stored this often
N_ROUNDS_KEPT = 2000
FORGET_EVERY = 200


@dataclass
class Loop:
    """now: the clock, replaced in tests."""

    backend: Backend
    now: Callable[[], datetime] = timezone.now
    is_asked_to_end: bool = False
    _stored_at: datetime | None = field(default=None, repr=False)

    def run(self) -> None:
        """Rounds until asked to end. Waits while another process holds the lock."""
        ear = _Ear()
        while not self.is_asked_to_end:
            try:
                with work_lock(LOCK) as is_mine:
                    if not is_mine:
                        logger.info("control.waits another control loop runs")
                        time.sleep(LOCK_RETRY_S)
                    while is_mine and not self.is_asked_to_end:
                        self.round()
                        ear.wait(settings.CONTROL_PERIOD_S)
            except DatabaseError as error:
                logger.warning("control.database_away error=%s", error)
                connection.close()
                time.sleep(LOCK_RETRY_S)

    def round(self) -> Round | None:
        """One pass. None when the backend could not be reached: nothing is decided on what is not known."""
        now = self.now()
        try:
            nodes = self.backend.inventory()
            reconcile(self.backend, self.backend.observe(), now=now)
        except BackendUnavailableError as error:
            logger.warning("round.backend_away error=%s", error)
            return None
        record_inventory(nodes, now=now)
        chosen, _ = SchedulerSettings.objects.get_or_create(pk=1)
        number = (Round.objects.order_by("-id").values_list("id", flat=True).first() or 0) + 1
        snapshot = take_snapshot(nodes, now=now, round_number=number)
        record = Round(at=now, policy=chosen.policy, parameters=chosen.parameters, snapshot=snapshot_to_json(snapshot))
        began = time.perf_counter()
        try:
            policy = policy_named(chosen.policy, chosen.parameters)
            plan = decide(snapshot, policy=policy, memory=PolicyMemory(chosen.memory))
        except Exception as error:
            # a policy's bug must not end the loop that watches over running jobs
            logger.exception("round.failed policy=%s", chosen.policy)
            record.error = f"{type(error).__name__}: {error}"
            record.save()
            return record
        record.decide_ms = 1000 * (time.perf_counter() - began)
        record.plan = plan_to_json(plan)
        record.applied = apply_plan(plan, backend=self.backend, now=now)
        memory = dict(plan.memory.values)
        if memory != chosen.memory:
            SchedulerSettings.objects.filter(pk=1).update(memory=memory)
        self._store(record)
        return record

    def _store(self, record: Round) -> None:
        is_due = self._stored_at is None or record.at - self._stored_at >= STORE_EVERY
        if record.applied or is_due:
            record.save()
            self._stored_at = record.at
            if record.pk % FORGET_EVERY == 0:
                Round.objects.filter(id__lte=record.pk - N_ROUNDS_KEPT).delete()


class _Ear:
    """Hears Redis say that something happened; without Redis it just waits."""

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
            logger.warning("control.redis_away error=%s", error)
            self._subscription = None
            time.sleep(max(0.0, until - time.monotonic()))

    def _drain(self) -> None:
        """Many events make one round."""
        time.sleep(0.05)
        while self._subscription.get_message(timeout=0):
            pass
