# SPDX-License-Identifier: Apache-2.0
"""What was decided on each job over the rounds: a row where the decision is another than before, so many a job."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import connection

from mlhub.backends.protocol import ItemKind
from mlhub.control.fault_isolation.isolation import FaultIsolation
from mlhub.control.models import JobDecision
from mlhub.control.rounds.apply import Applied
from mlhub.control.rounds.explanations import kind_of, moment, predicted_finish
from scheduler.api.plan import Decision, Keep, Launch, Plan, Reason, Resize, Wait

KEPT_A_JOB = 100
FORGET = """
DELETE FROM control_jobdecision WHERE id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (PARTITION BY job_id ORDER BY id DESC) AS age FROM control_jobdecision
    ) AS numbered WHERE age > %s
)
"""

Signature = tuple[str, str]


class History:
    """Remembers the last decision on every job of the newest round; at first, as it was stored."""

    def __init__(self) -> None:
        self._last: dict[str, Signature] | None = None

    def record(
        self,
        plan: Plan,
        applied: Applied,
        *,
        round_id: int | None,
        now: datetime,
        isolation: FaultIsolation | None = None,
    ) -> None:
        """round_id: where the round was stored. isolation: gets the jobs whose decision cannot be stored."""
        isolation = FaultIsolation() if isolation is None else isolation
        before = _stored() if self._last is None else self._last
        self._last = {d.job: _signature(d, before) for d in plan.decisions if d.job in applied.jobs}
        changed = [d for d in plan.decisions if d.job in self._last and self._last[d.job] != before.get(d.job)]
        isolation.all_or_each(
            changed,
            lambda decisions: JobDecision.objects.bulk_create(
                [_row(d, applied, policy=plan.policy, round_id=round_id, now=now) for d in decisions], batch_size=1000
            ),
            kind=ItemKind.JOB,
            name=lambda decision: decision.job,
        )


def forget_old_decisions() -> None:
    """All but the newest KEPT_A_JOB of every job."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET, [KEPT_A_JOB])


def _stored() -> dict[str, Signature]:
    newest = JobDecision.objects.filter(job__finished_at=None).order_by("job_id", "-id").distinct("job_id")
    return {
        str(job_id): (decision, explanations[0]["reason"] if decision == "wait" and explanations else "")
        for job_id, decision, explanations in newest.values_list("job_id", "decision", "explanations")
    }


def _signature(decision: Decision, before: Mapping[str, Signature]) -> Signature:
    """Numbers change in every round, which makes no other decision; nor does leaving a job where it is,
    unless its batch changes."""
    batch = next((e.facts["batch_size"] for e in decision.explanations if e.reason is Reason.BATCH_SIZE_CHANGES), None)
    if isinstance(decision, Keep) and batch is not None:
        return kind_of(decision), f"batch size {batch}"
    if isinstance(decision, Keep):
        return before.get(decision.job, (kind_of(decision), ""))
    why = decision.explanations[0].reason if isinstance(decision, Wait) and decision.explanations else ""
    return kind_of(decision), str(why)


def _row(decision: Decision, applied: Applied, *, policy: str, round_id: int | None, now: datetime) -> JobDecision:
    job = applied.jobs[decision.job]
    shape: Mapping[str, object] = {}
    if isinstance(decision, Launch | Resize):
        a = decision.allocation
        nodes = [s.node for s in a.shares]
        shape = {"mode": str(a.mode), "n_workers": a.n_workers, "n_servers": a.n_servers, "nodes": nodes}
    return JobDecision(
        job=job,
        at=now,
        round_id=round_id,
        policy=policy,
        decision=kind_of(decision),
        explanations=applied.writer.for_job(job, decision.explanations),
        predicted_start_at=moment(decision.prediction.start_p50_s),
        predicted_finish_at=predicted_finish(job, decision.prediction)["predicted_finish_at"],
        **shape,
    )
