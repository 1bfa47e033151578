# SPDX-License-Identifier: Apache-2.0
"""Shadow mode: a second policy on the same real snapshots. It is never waited for, and nothing it does counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog
from django.db import DatabaseError

from mlhub.control.deciding.deciders import Decider, DecisionError
from mlhub.control.deciding.decision_process import DecisionRequest
from mlhub.control.deciding.memory import MemoryOwner, load_memory, store_memory
from mlhub.control.models import Round, SchedulerSettings, ShadowDecision
from scheduler import ClusterSnapshot, Plan, RoundMemory, policy_named
from scheduler.api.plan import Decision, Launch, Resize

logger = structlog.stdlib.get_logger(__name__)
MAX_DIFFERENCES = 200


@dataclass
class _Asked:
    """What the shadow was given. round_id: where its answer is to be stored; None: nowhere."""

    policy: str
    parameters: Mapping[str, Any]
    real: Plan
    now_s: float
    round_id: int | None


@dataclass
class Shadow:
    """Give it each round after that was applied; collect what it made of an earlier one. Neither waits or raises."""

    decider: Decider
    _asked: _Asked | None = field(default=None, repr=False)

    def offer(
        self,
        snapshot: ClusterSnapshot,
        real: Plan,
        settings: SchedulerSettings,
        *,
        memory: RoundMemory,
        round_id: int | None,
    ) -> None:
        """Passed over while the shadow is still at an earlier round. memory: that of the real round. The shadow's is
        its own, but for what is promised to jobs that leave in order to be resized: these GPUs are reserved in fact."""
        if not settings.shadow_policy or self._asked is not None or not self.decider.is_ready():
            return
        asked = _Asked(settings.shadow_policy, settings.shadow_parameters, real, snapshot.now_s, round_id)
        own = load_memory(MemoryOwner.SHADOW).values_for(asked.policy)
        shadows = RoundMemory(policy=asked.policy, policy_values=own, resizing=memory.resizing)
        try:
            policy = policy_named(asked.policy, asked.parameters)
            self.decider.submit(DecisionRequest(snapshot, policy, shadows, settings.budget_s))
            self._asked = asked
        except (ValueError, TypeError, DecisionError) as error:
            _store_failure(asked, str(error))

    def collect(self) -> None:
        """Stores the answer, if there is one, and the shadow's memory for its next round."""
        asked = self._asked
        if asked is None:
            return
        try:
            decided = self.decider.result(waits=False)
        except DecisionError as error:
            self._asked = None
            _store_failure(asked, str(error))
            return
        if decided is None:
            return
        self._asked = None
        values = decided.plan.memory.values_for(asked.policy)
        store_memory(MemoryOwner.SHADOW, RoundMemory(policy=asked.policy, policy_values=values))
        _store(asked, **compared(asked.real, decided.plan, now_s=asked.now_s), decide_ms=1000 * decided.took_s)

    def close(self) -> None:
        self._asked = None
        self.decider.close()


def compared(real: Plan, shadow: Plan, *, now_s: float) -> dict[str, Any]:
    """n_jobs, n_different, differences, and both mean predicted times to the end, where both have one."""
    ours = {d.job: d for d in shadow.decisions}
    pairs = [(d, ours[d.job]) for d in real.decisions if d.job in ours]
    different = [(mine, other) for mine, other in pairs if _outcome(mine) != _outcome(other)]
    shown = different[:MAX_DIFFERENCES]
    both = [
        (mine.prediction.finish_p50_s, other.prediction.finish_p50_s)
        for mine, other in pairs
        if mine.prediction.finish_p50_s is not None and other.prediction.finish_p50_s is not None
    ]
    return {
        "n_jobs": len(pairs),
        "n_different": len(different),
        "differences": [
            {"job": mine.job, "real": _summary_of(mine), "shadow": _summary_of(other)} for mine, other in shown
        ],
        "mean_finish_s": sum(s for _, s in both) / len(both) - now_s if both else None,
        "real_mean_finish_s": sum(r for r, _ in both) / len(both) - now_s if both else None,
    }


def _outcome(decision: Decision) -> tuple[object, ...]:
    """What would happen to the job; which of equal GPUs it gets is no difference."""
    if isinstance(decision, Launch | Resize):
        a = decision.allocation
        return type(decision).__name__, a.mode, a.n_workers, a.n_servers, tuple(sorted(s.node for s in a.shares))
    return (type(decision).__name__,)


def _summary_of(decision: Decision) -> dict[str, Any]:
    found: dict[str, Any] = {"decision": type(decision).__name__.lower()}
    if isinstance(decision, Launch | Resize):
        a = decision.allocation
        found |= {"mode": str(a.mode), "n_workers": a.n_workers, "n_servers": a.n_servers}
    if decision.explanations:
        found["reason"] = str(decision.explanations[0].reason)
    return found


def _store_failure(asked: _Asked, message: str) -> None:
    logger.warning("shadow.failed", policy=asked.policy, error=message)
    _store(asked, error=message[:2000])


def _store(asked: _Asked, **fields: Any) -> None:
    if asked.round_id is None or not Round.objects.filter(pk=asked.round_id).exists():
        return
    try:
        ShadowDecision.objects.create(
            round_id=asked.round_id, policy=asked.policy, parameters=dict(asked.parameters), **fields
        )
    except DatabaseError as error:
        logger.warning("shadow.not_stored", round=asked.round_id, error=error)
