# SPDX-License-Identifier: Apache-2.0
"""The control loop: observe, decide, apply; one process, behind a lock, woken by events and by a period."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from mlhub.backends.protocol import Backend, BackendUnavailableError, ItemKind, NodeStatus, QuarantinedItem
from mlhub.control.deciding.culprits import RefusedJobs
from mlhub.control.deciding.deciders import Decider, DecisionError, InProcessDecider
from mlhub.control.deciding.decision_process import DecisionRequest, DecisionResult
from mlhub.control.deciding.memory import MemoryOwner, store_memory
from mlhub.control.deciding.policy_selection import SelectedPolicy, choose, record_failure, record_success
from mlhub.control.deciding.shadow import Shadow
from mlhub.control.fault_isolation.isolation import FaultIsolation, reason_of
from mlhub.control.fault_isolation.quarantine import QuarantineTable
from mlhub.control.fault_isolation.unreadable_jobs import explain_unreadable
from mlhub.control.models import Round, SchedulerSettings
from mlhub.control.monitoring.round_health import record_attempt, record_finished, record_unfinished, save_state
from mlhub.control.observation.inventory import record_backend_away, record_backend_back, record_inventory, sound_nodes
from mlhub.control.observation.maintenance import evict, maintained
from mlhub.control.observation.node_failures import judge_node_failures, without_excluded
from mlhub.control.observation.notebooks import watch_notebooks
from mlhub.control.observation.reconcile import reconcile
from mlhub.control.observation.sandbox_runs import tend_sandbox_runs
from mlhub.control.observation.stalls import watch_stalls
from mlhub.control.rounds.admission_pause import end_due_pause
from mlhub.control.rounds.apply import Applied, apply_plan
from mlhub.control.rounds.forecasts import Forecasts, close_forecasts
from mlhub.control.rounds.history import History, forget_old_decisions
from mlhub.control.rounds.housekeeping import Housekeeping
from mlhub.control.rounds.snapshots import take_snapshot
from mlhub.control.rounds.wakeup_listener import WakeupListener
from mlhub.core import heartbeat
from mlhub.core.locks import work_lock
from scheduler import ClusterSnapshot, Plan
from scheduler.api.plan import Wait
from scheduler.api.records import plan_to_json, snapshot_to_json

logger = structlog.stdlib.get_logger(__name__)
LOCK = "control loop"
LOCK_RETRY_S = 2.0
STORE_EVERY = timedelta(seconds=30)  # a round that changes nothing is stored this often
N_ROUNDS_KEPT = 2000
FORGET_EVERY = 200
LEAVING_PERIOD_S = 0.5
FAILURES_STORED = 10  # of failures in a row, so many are stored one by one


def rest_after(round_s: float) -> float:
    """Seconds in which no event begins another round: as long as the last one took, at most CONTROL_PERIOD_S.

    Thousands of submissions would else keep a processor busy with rounds, at the cost of the web server.
    """
    return min(round_s, float(settings.CONTROL_PERIOD_S))


def look_after(round_s: float, *, is_leaving: bool) -> float:
    """Seconds until the next round where no event comes. While a gang leaves they are fewer, since its end is no event
    and others wait for its GPUs; these rounds take a tenth of the time at most.
    """
    period_s = float(settings.CONTROL_PERIOD_S)
    return min(period_s, max(LEAVING_PERIOD_S, 10 * round_s)) if is_leaving else period_s


@dataclass
class Loop:
    """decider: where policies think. shadow: the second opinion, if the settings want one. plan: the newest one, which
    stands until there is another. now: the clock, replaced in tests. isolation: what the present round left out.
    is_leaving: a gang stops, or has made its last step."""

    backend: Backend
    now: Callable[[], datetime] = timezone.now
    decider: Decider = field(default_factory=InProcessDecider)
    shadow: Shadow = field(default_factory=lambda: Shadow(InProcessDecider()))
    is_asked_to_end: bool = False
    plan: Plan | None = field(default=None, repr=False)
    isolation: FaultIsolation = field(default_factory=FaultIsolation, repr=False)
    is_leaving: bool = False
    _refused: RefusedJobs = field(default_factory=RefusedJobs, repr=False)
    _quarantine: QuarantineTable = field(default_factory=QuarantineTable, repr=False)
    _history: History = field(default_factory=History, repr=False)
    _forecasts: Forecasts = field(default_factory=Forecasts, repr=False)
    _housekeeping: Housekeeping = field(default_factory=Housekeeping, repr=False)
    _stored_at: datetime | None = field(default=None, repr=False)

    def run(self) -> None:
        """Rounds until asked to end. Waits while another process holds the lock.

        A round that raises is logged, and tried again a little later: it must not take the process with it.
        """
        listener = WakeupListener()
        while not self.is_asked_to_end:
            heartbeat.record()
            try:
                with work_lock(LOCK) as is_mine:
                    if not is_mine:
                        logger.info("control.waits", reason="another control loop runs")
                        time.sleep(LOCK_RETRY_S)
                    while is_mine and not self.is_asked_to_end:
                        began = time.monotonic()
                        self.round_or_record_failure()
                        round_s = time.monotonic() - began
                        rest_s = rest_after(round_s)
                        time.sleep(rest_s)
                        wait_s = look_after(round_s, is_leaving=self.is_leaving) - rest_s
                        listener.wait(wait_s, is_over=lambda: self.is_asked_to_end)
            except (DatabaseError, InterfaceError) as error:
                logger.warning("control.database_away", error=error)
                connection.close()
                time.sleep(LOCK_RETRY_S)

    def close(self) -> None:
        """Ends the processes that decide."""
        self.decider.close()
        self.shadow.close()

    def round_or_record_failure(self) -> Round | None:
        """One pass; what no step expected is logged with its traceback and recorded. Raises DatabaseError."""
        try:
            return self.round()
        except DatabaseError as error:
            if not connection.is_usable():
                raise
            self._record_unfinished(error)
        except Exception as error:
            self._record_unfinished(error)
        return None

    def round(self) -> Round | None:
        """One pass: observe, decide, apply, and write down what came of it.

        None when the backend could not be reached: nothing is decided on what is not known. A policy that raises or
        takes too long costs this round: what was decided before stands. An item that cannot be read or handled is left
        out of the round (isolation).
        """
        now, began = self.now(), time.perf_counter()
        heartbeat.record()
        structlog.contextvars.clear_contextvars()
        self.isolation.begin_round()
        state = record_attempt(now=now)
        try:
            nodes = self._observe(now=now)
        except BackendUnavailableError as error:
            record_backend_away(state, str(error), now=now)
            return None
        record_backend_back(state)
        record_inventory(nodes, now=now, isolation=self.isolation)
        chosen_by_admin, _ = SchedulerSettings.objects.get_or_create(pk=1)
        chosen = choose(chosen_by_admin, state, now=now)
        self._step("admission pause", lambda: end_due_pause(now=now))
        self._step("shadow", self.shadow.collect)
        number = (Round.objects.order_by("-id").values_list("id", flat=True).first() or 0) + 1
        structlog.contextvars.bind_contextvars(round=number)
        snapshot = take_snapshot(
            nodes,
            now=now,
            round_number=number,
            remembered=chosen.memory.known_jobs(),
            isolation=self.isolation,
            refused=self._refused.current(settings_version=chosen_by_admin.version, now=now),
        )
        record = Round(at=now, policy=chosen.name, parameters=dict(chosen.parameters), n_jobs=len(snapshot.jobs))
        try:
            snapshot, decided = self._decide(snapshot, chosen, now=now)
        except DecisionError as error:
            record.error = str(error)
            self._store(record, snapshot, None, began=began, is_worth_it=state.n_failures < FAILURES_STORED)
            record_failure(state, chosen, kind=error.kind, message=str(error), round_id=record.pk, now=now)
            state.error = f"{chosen.name}: {error}"
            save_state(state)
            self._record_left_out(now=now)
            return record
        self.plan = plan = decided.plan
        record_success(state, chosen)
        applied = apply_plan(plan, backend=self.backend, now=now, isolation=self.isolation)
        record.decide_ms, record.applied = 1000 * decided.took_s, applied.actions
        if plan.memory != chosen.memory:
            store_memory(MemoryOwner.POLICY, plan.memory)
        self._store(record, snapshot, plan, began=began, is_worth_it=bool(applied.actions))
        self._after_plan(plan, applied, round_id=record.pk, now=now)
        self._step(
            "shadow",
            lambda: self.shadow.offer(snapshot, plan, chosen_by_admin, memory=chosen.memory, round_id=record.pk),
        )
        self._step("shadow", self.shadow.collect)
        self._record_left_out(now=now)
        waiting = {d.job for d in plan.decisions if isinstance(d, Wait)}
        state.order = [job for job in dict.fromkeys((*plan.order, *sorted(waiting))) if job in waiting]
        state.decide_ms, state.round_ms = record.decide_ms, 1000 * (time.perf_counter() - began)
        record_finished(state, now=now)
        return record

    def _observe(self, *, now: datetime) -> list[NodeStatus]:
        """Follows what the backend shows. Raises BackendUnavailableError."""
        nodes = sound_nodes(self.backend.inventory(), self.isolation)
        self.is_leaving = reconcile(self.backend, self.backend.observe(), now=now, isolation=self.isolation)
        self._step("node failures", lambda: judge_node_failures(now=now, isolation=self.isolation))
        self._step("drains", lambda: evict(self.backend, now=now, isolation=self.isolation))
        self._step("stalls", lambda: watch_stalls(self.backend, now=now, isolation=self.isolation))
        self._step("notebooks", lambda: watch_notebooks(now=now, isolation=self.isolation))
        self._step("sandbox runs", lambda: tend_sandbox_runs(self.backend, now=now))
        return without_excluded(maintained(nodes), now=now)

    def _decide(
        self, snapshot: ClusterSnapshot, chosen: SelectedPolicy, *, now: datetime
    ) -> tuple[ClusterSnapshot, DecisionResult]:
        """Returns the plan and the snapshot that it is of: without the jobs on which the policy fails.

        Raises DecisionError, also for settings that mean nothing any more.
        """
        try:
            policy = chosen.policy()
        except (ValueError, TypeError) as error:
            raise DecisionError("raised", str(error)) from error

        def decide(seen: ClusterSnapshot) -> DecisionResult:
            self.decider.submit(DecisionRequest(seen, policy, chosen.memory, chosen.limit_s))
            decided = self.decider.result(waits=True)
            if decided is None:
                raise DecisionError("died", "The deciding process has no answer.")
            return decided

        seen, decided, left_out = self._refused.decide(snapshot, decide, now=now, budget_s=chosen.limit_s)
        for job, why in left_out.items():
            self.isolation.add(ItemKind.JOB, job, why)
        return seen, decided

    def _after_plan(self, plan: Plan, applied: Applied, *, round_id: int | None, now: datetime) -> None:
        """What is written about a plan that was applied; each step stands alone."""
        isolation = self.isolation
        self._step(
            "history", lambda: self._history.record(plan, applied, round_id=round_id, now=now, isolation=isolation)
        )
        self._step("forecasts", lambda: self._forecasts.keep(plan, applied, now=now, isolation=isolation))
        self._step("housekeeping", lambda: self._housekeeping.tend(self.backend, now=now, isolation=isolation))

    def _record_left_out(self, *, now: datetime) -> None:
        """Stores what this round left out, and gives jobs the reason."""
        self._step("explanations", lambda: explain_unreadable(self.isolation.names(ItemKind.JOB)))
        ours = [QuarantinedItem(kind, name, why, now) for (kind, name), why in self.isolation.found.items()]
        self._step("quarantine", lambda: self._quarantine.store([*self.backend.quarantined(), *ours], now=now))

    def _record_unfinished(self, error: Exception) -> None:
        logger.error("round.raised", error=error, exc_info=error)
        record_unfinished(reason_of(error))

    def _step(self, name: str, do: Callable[[], object]) -> None:
        self.isolation.attempt(do, kind=ItemKind.STEP, name=name, default=None)

    def _store(
        self, record: Round, snapshot: ClusterSnapshot, plan: Plan | None, *, began: float, is_worth_it: bool
    ) -> None:
        """Rounds that change something, and every STORE_EVERY one that does not. record.pk stays None otherwise."""
        is_due = self._stored_at is None or record.at - self._stored_at >= STORE_EVERY
        if not is_worth_it and not is_due:
            return
        record.snapshot, record.plan = snapshot_to_json(snapshot), plan_to_json(plan) if plan else None
        record.round_ms = 1000 * (time.perf_counter() - began)
        self._step("round record", lambda: record.save(force_insert=True))
        if record.pk is None:
            return
        self._stored_at = record.at
        self._step("forecasts", close_forecasts)
        if record.pk % FORGET_EVERY == 0:
            self._step("old rounds", Round.objects.filter(id__lte=record.pk - N_ROUNDS_KEPT).delete)
            self._step("old decisions", forget_old_decisions)
