# SPDX-License-Identifier: Apache-2.0
"""Which policy decides a round: the administrator's, or the fallback policy while that one fails again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog

from mlhub.control.deciding.memory import MemoryOwner, load_memory
from mlhub.control.models import SchedulerSettings, SchedulerState
from mlhub.events.actions import append
from scheduler import Policy, RoundMemory, policy_named

logger = structlog.stdlib.get_logger(__name__)
FALLBACK_POLICY = "fifo"  # takes nothing away from running jobs, and has nothing that could go wrong
FAILURES_UNTIL_FALLBACK = 3  # in a row
TRIED_AGAIN_AFTER = timedelta(minutes=10)


@dataclass(frozen=True)
class SelectedPolicy:
    """What decides the next round. The policy is made late: its name or parameters may be gone since they were set."""

    name: str
    parameters: Mapping[str, Any]
    memory: RoundMemory
    limit_s: float
    is_fallback: bool = False

    def policy(self) -> Policy:
        """Raises ValueError that names what does not exist (any more)."""
        return policy_named(self.name, self.parameters)


def choose(settings: SchedulerSettings, state: SchedulerState, *, now: datetime) -> SelectedPolicy:
    """Returns the fallback policy for TRIED_AGAIN_AFTER after the last of several failures, then the chosen one again.

    Other settings than those that failed are given a chance at once.
    """
    if state.settings_version != settings.version:
        state.settings_version, state.n_failures, state.fallback_since = settings.version, 0, None
    since = state.fallback_since
    is_fallback = since is not None and now - since < TRIED_AGAIN_AFTER
    name, parameters = (FALLBACK_POLICY, {}) if is_fallback else (settings.policy, settings.parameters)
    return SelectedPolicy(name, parameters, load_memory(MemoryOwner.POLICY), settings.budget_s, is_fallback)


def record_success(state: SchedulerState, chosen: SelectedPolicy) -> None:
    """The chosen policy answered: its failures are forgotten."""
    if chosen.is_fallback or not (state.n_failures or state.fallback_since):
        return
    if state.fallback_since is not None:
        _publish("scheduler.recovered", policy=chosen.name)
    state.n_failures, state.fallback_since = 0, None


def record_failure(
    state: SchedulerState, chosen: SelectedPolicy, *, kind: str, message: str, round_id: int, now: datetime
) -> None:
    """Records the failure for administrators; after several in a row the fallback policy takes over."""
    logger.error("round.failed", policy=chosen.name, kind=kind, error=message)
    state.failure = {"at": now.isoformat(), "policy": chosen.name, "kind": kind, "message": message, "round": round_id}
    state.n_failures += 1
    facts = {"failure": kind, "message": message, "round": round_id, "n_failures": state.n_failures}
    _publish("scheduler.failed", policy=chosen.name, **facts)
    if state.n_failures >= FAILURES_UNTIL_FALLBACK and not chosen.is_fallback and chosen.name != FALLBACK_POLICY:
        state.fallback_since = now
        _publish(
            "scheduler.fallback_started", policy=FALLBACK_POLICY, instead_of=chosen.name, n_failures=state.n_failures
        )


def _publish(kind: str, **facts: Any) -> None:
    append(kind, organisation=None, subject_kind="scheduler", subject_id=None, **facts)
