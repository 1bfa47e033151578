# SPDX-License-Identifier: Apache-2.0
"""What if: the live policy decides on the present state and on a changed one, and the two answers are compared."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from mlhub.backends.protocol import NodeStatus
from mlhub.clusters.models import Node
from mlhub.control.deciding.deciders import Decider, DecisionError, SubprocessDecider
from mlhub.control.deciding.decision_process import DecisionRequest, DecisionResult
from mlhub.control.deciding.policy_selection import SelectedPolicy, choose
from mlhub.control.models import SchedulerSettings, SchedulerState
from mlhub.control.quotas.quota_tree import PLATFORM
from mlhub.control.rounds import snapshots
from mlhub.control.rounds.explanations import ExplanationWriter, kind_of, moment
from mlhub.control.rounds.snapshots import take_snapshot
from mlhub.core.errors import InvalidInputError
from mlhub.jobs.models import Job
from mlhub.tenants.models import UserQuota
from scheduler import ClusterSnapshot, Plan, Policy
from scheduler.api.plan import Decision, Launch, Resize
from scheduler.api.snapshot import JobSnapshot, Phase
from scheduler.api.topology import NodeSnapshot

LIMIT_S = 10.0  # of each of the two decisions
BUSY_AFTER_S = 2.0  # that a question waits for those before it
NOTICEABLE_S, NOTICEABLE_PART = 1.0, 0.01  # a finish that moves by less counts as unmoved
NODE_CPUS, NODE_MEMORY_BYTES = 64.0, 512 * 2**30  # of a hypothetical node where no node can be taken as a pattern
WIRE_BPS = 1e10

Change = Callable[[ClusterSnapshot], ClusterSnapshot]


@dataclass(frozen=True)
class WhatIfQuestion:
    """hypothetical: as if submitted. cancelled, changed: ids. changes: made to the snapshot. policy: None = as now.

    whole_tree: changes are about quotas or limits of users of teams or projects, which may have none yet.
    """

    hypothetical: tuple[Job, ...] = ()
    cancelled: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    policy: Policy | None = None
    whole_tree: bool = False


@dataclass(frozen=True)
class Prospect:
    """What would become of a job. finish_p90_at: it has ended by then in nine cases of ten."""

    decision: str
    mode: str
    n_workers: int
    n_servers: int
    start_at: datetime | None
    finish_at: datetime | None
    finish_p90_at: datetime | None
    explanations: list[dict[str, Any]]


@dataclass(frozen=True)
class WhatIfEffect:
    """On one job. role: submitted, cancelled, changed or other. before, after: None = it is not there then.

    owner, organisation: whose job it is, by user name and by name; of a hypothetical one they are empty.
    """

    id: str
    name: str
    role: str
    before: Prospect | None
    after: Prospect | None
    owner: str = ""
    organisation: str = ""

    @property
    def start_delta_s(self) -> float | None:
        return self._delta_s("start_at")

    @property
    def finish_delta_s(self) -> float | None:
        return self._delta_s("finish_at")

    def _delta_s(self, which: str) -> float | None:
        before, after = (getattr(side, which) if side else None for side in (self.before, self.after))
        return (after - before).total_seconds() if before and after else None


@dataclass(frozen=True)
class WhatIfAnswer:
    """effects: on the jobs that may be shown and are affected, the later ones first."""

    policy: str
    as_of: datetime
    decide_ms: float
    n_jobs: int
    effects: list[WhatIfEffect] = field(default_factory=list)


def answer(question: WhatIfQuestion, *, visible: Callable[[Sequence[str]], set[str]], now: datetime) -> WhatIfAnswer:
    """visible: which of these jobs the caller may see; the others take part, and are not shown.

    Raises InvalidInputError when the policy cannot answer.
    """
    chosen = present_choice(now=now)
    real = take_snapshot(
        nodes_as_recorded(), now=now, round_number=0, hypothetical=question.hypothetical, whole_tree=question.whole_tree
    )
    new = {str(job.id) for job in question.hypothetical}
    before = replace(real, jobs=tuple(job for job in real.jobs if job.id not in new))
    after = replace(real, jobs=tuple(job for job in real.jobs if job.id not in question.cancelled))
    for change in question.changes:
        after = change(after)
    try:
        present = chosen.policy()
        tasks = [
            DecisionRequest(before, present, chosen.memory, LIMIT_S),
            DecisionRequest(after, question.policy or present, chosen.memory, LIMIT_S),
        ]
        (plan, took_s), (other, other_took_s) = decided(tasks)
    except (DecisionError, ValueError, TypeError) as error:
        raise InvalidInputError(f"The scheduler has no answer: {error}", code="no_answer") from error
    shown = visible([job.id for job in real.jobs]) | new
    effects = effects_on(shown, question, real, (before, plan), (after, other))
    return WhatIfAnswer(other.policy, now, 1000 * (took_s + other_took_s), len(real.jobs), effects)


def present_choice(*, now: datetime) -> SelectedPolicy:
    """The policy that would decide now, with what it remembers."""
    settings, _ = SchedulerSettings.objects.get_or_create(pk=1)
    state, _ = SchedulerState.objects.get_or_create(pk=1)
    return choose(settings, state, now=now)


def nodes_as_recorded() -> list[NodeStatus]:
    """As the control loop last saw them."""
    return [
        NodeStatus(
            name=node.name,
            rack=node.rack_id,
            gpu_type=node.gpu_type,
            n_slots=node.n_slots,
            cpus=node.cpus,
            memory_bytes=node.memory_bytes,
            nic_bps=node.nic_bps,
            rack_uplink_bps=node.rack.uplink_bps,
            is_ready=node.is_ready,
            is_schedulable=node.is_schedulable,
        )
        for node in Node.objects.select_related("rack").order_by("name")
    ]


def with_job(job_id: str, **changes: Any) -> Change:
    """Changes what one job requests."""
    return lambda s: replace(s, jobs=tuple(_changed(j, changes) if j.id == job_id else j for j in s.jobs))


def with_quota(tenant: str, **limits: Any) -> Change:
    return lambda s: replace(s, tenants=tuple(replace(t, **limits) if t.id == tenant else t for t in s.tenants))


def with_user_quotas(rows: Sequence[UserQuota], *, hypothetical: Sequence[Job], now: datetime) -> Change:
    """Limits of users as if these were stored. hypothetical: jobs of the same question."""
    return lambda s: snapshots.with_user_quotas(s, rows, hypothetical=hypothetical, now=now)


def without_nodes(names: Sequence[str]) -> Change:
    """As if they had been lost: what runs there has to leave."""
    return lambda s: replace(s, nodes=tuple(node for node in s.nodes if node.name not in names))


def with_nodes(n_nodes: int, *, n_gpus: int, gpu_type: str = "") -> Change:
    """More nodes like the first one of that type, or the first of all."""

    def change(snapshot: ClusterSnapshot) -> ClusterSnapshot:
        alike = [n for n in snapshot.nodes if not gpu_type or n.gpu_type == gpu_type] or list(snapshot.nodes)
        rack = alike[0].rack if alike else "supposed"
        pattern = alike[0] if alike else NodeSnapshot("", rack, "gpu", n_gpus, NODE_CPUS, NODE_MEMORY_BYTES, WIRE_BPS)
        new = tuple(
            replace(
                pattern,
                name=f"supposed-{i}",
                n_gpus=n_gpus,
                gpu_type=gpu_type or pattern.gpu_type,
                cpus=pattern.cpus * max(1.0, n_gpus / max(1, pattern.n_gpus)),
                is_schedulable=True,
            )
            for i in range(n_nodes)
        )
        return replace(snapshot, nodes=(*snapshot.nodes, *new))

    return change


def _changed(job: JobSnapshot, changes: Mapping[str, Any]) -> JobSnapshot:
    found = replace(job, **changes)
    most = min(found.max_workers, found.batch_size)
    return replace(found, max_workers=max(most, 1), min_workers=min(found.min_workers, max(most, 1)))


def effects_on(
    shown: set[str],
    question: WhatIfQuestion,
    real: ClusterSnapshot,
    before: tuple[ClusterSnapshot, Plan],
    after: tuple[ClusterSnapshot, Plan],
) -> list[WhatIfEffect]:
    """On the jobs that may be shown: those that the question names, and others that are noticeably affected."""
    organisation = _organisations(real)
    names = {job.id: (job.name, organisation[job.tenant] if job.id in shown else "") for job in real.jobs}
    writer = ExplanationWriter(names)
    sides = [({job.id: job for job in s.jobs}, {d.job: d for d in plan.decisions}) for s, plan in (before, after)]
    roles = {
        **dict.fromkeys(question.changed, "changed"),
        **dict.fromkeys(question.cancelled, "cancelled"),
        **{str(job.id): "submitted" for job in question.hypothetical},
    }
    found = []
    for job in real.jobs:
        if job.id not in shown:
            continue
        was, would_be = (
            _prospect(jobs[job.id], decisions[job.id], writer, organisation[job.tenant])
            if job.id in decisions
            else None
            for jobs, decisions in sides
        )
        effect = WhatIfEffect(job.id, job.name, roles.get(job.id, "other"), was, would_be)
        if effect.role != "other" or _is_noticeable(effect, now_s=real.now_s):
            found.append(effect)
    owned = Job.objects.filter(pk__in=[effect.id for effect in found]).values_list(
        "id", "created_by__username", "project__organisation__name"
    )
    owners = {str(id): (owner, organisation) for id, owner, organisation in owned}
    found = [
        replace(effect, owner=owner, organisation=of)
        for effect in found
        for owner, of in [owners.get(effect.id, ("", ""))]
    ]
    return sorted(found, key=lambda e: (e.role == "other", -(e.finish_delta_s or 0.0), e.id))


def _is_noticeable(effect: WhatIfEffect, *, now_s: float) -> bool:
    before, after = effect.before, effect.after
    if before is None or after is None:
        return before is not after
    if (before.decision, before.n_workers, before.mode) != (after.decision, after.n_workers, after.mode):
        return True
    delta_s = effect.finish_delta_s
    if delta_s is None:
        return (before.finish_at is None) is not (after.finish_at is None)
    left_s = before.finish_at.timestamp() - now_s if before.finish_at else 0.0
    return abs(delta_s) > max(NOTICEABLE_S, NOTICEABLE_PART * left_s)


def _organisations(snapshot: ClusterSnapshot) -> dict[str, str]:
    """The organisation that each tenant is, or is a part of."""
    found: dict[str, str] = {}
    for tenant in snapshot.tenants:  # parents come before children
        found[tenant.id] = tenant.id if tenant.parent in (None, PLATFORM) else found[tenant.parent]
    return found


def _prospect(job: JobSnapshot, decision: Decision, writer: ExplanationWriter, organisation: str) -> Prospect:
    held = job.allocation if job.phase is not Phase.WAITING else None
    allocation = decision.allocation if isinstance(decision, Launch | Resize) else held
    return Prospect(
        decision=kind_of(decision),
        mode=str(allocation.mode) if allocation else "",
        n_workers=allocation.n_workers if allocation else 0,
        n_servers=allocation.n_servers if allocation else 0,
        start_at=moment(decision.prediction.start_p50_s),
        finish_at=moment(decision.prediction.finish_p50_s),
        finish_p90_at=moment(decision.prediction.finish_p90_s),
        explanations=writer.for_readers(organisation, decision.explanations),
    )


# one deciding process a web process, started by the first question
_decider: Decider = SubprocessDecider()
_one_at_a_time = threading.Lock()


def decided(tasks: Sequence[DecisionRequest]) -> list[tuple[Plan, float]]:
    """Decides one after the other, in the web server's deciding process. Raises DecisionError."""
    return [(answer.plan, answer.took_s) for answer in answers_to(tasks)]


def answers_to(tasks: Sequence[DecisionRequest]) -> list[DecisionResult]:
    """Answers one after the other, in the web server's deciding process.

    Raises DecisionError, of the kind "busy" where others' analyses are still under way after BUSY_AFTER_S: a web
    thread that waited for them would answer no request of anybody else.
    """
    if not _one_at_a_time.acquire(timeout=BUSY_AFTER_S):
        raise DecisionError("busy", "Another analysis is under way; ask again in a few seconds.")
    try:
        return [_answer_to(task) for task in tasks]
    finally:
        _one_at_a_time.release()


def _answer_to(task: DecisionRequest) -> DecisionResult:
    _decider.submit(task)
    answer = _decider.result(waits=True)
    if answer is None:
        raise DecisionError("died", "the deciding process has no answer")
    return answer
