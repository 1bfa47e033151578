# SPDX-License-Identifier: Apache-2.0
"""What keeps a job from running, who is ahead, and which actions would help: for the caller, without others' names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mlhub.clusters.models import Node
from mlhub.control.advice.preview import present_snapshot
from mlhub.control.advice.sentences import (
    ACTIONS,
    BLOCKERS,
    FIRST_GUARANTEE,
    NOT_READY,
    PERIODS,
    SEVERAL,
    budget_in_words,
    closed_in_words,
)
from mlhub.control.advice.whatif import LIMIT_S, answers_to
from mlhub.control.deciding.deciders import DecisionError
from mlhub.control.deciding.decision_process import DecisionRequest
from mlhub.control.deciding.policy_selection import choose
from mlhub.control.models import SchedulerSettings, SchedulerState
from mlhub.control.quotas.budgets import as_rows
from mlhub.control.rounds.explanations import ExplanationWriter, moment
from mlhub.control.rounds.readers_language import said
from mlhub.core.errors import InvalidInputError
from mlhub.core.languages.catalogue import in_readers_language
from mlhub.jobs.limits.priorities import check_priority
from mlhub.jobs.models import Intent, Job, JobKind
from mlhub.jobs.states import ENDED, JobState
from mlhub.tenants.actions.limits.quotas import owners_above, raised_by, raised_within
from mlhub.tenants.models import User
from scheduler import ClusterSnapshot
from scheduler.api.gpu_budgets import GpuHourBudget
from scheduler.api.snapshot import RULES_BY_TYPE, TenantSnapshot
from scheduler.counterfactuals import Action, ActionKind, Advice, Blocker, Counsel, TenantPart, applied

MOST_AHEAD = 20  # jobs that are named; all are counted
MOST_UNREADY = 3  # nodes that are named
VISIBLE, HIDDEN = "visible", "hidden"  # stand for organisations: the writer names jobs of the same one only
BY_ADMINISTRATOR = frozenset(
    {
        ActionKind.LARGER_QUOTA,
        ActionKind.LARGER_QUOTA_OF_TYPE,
        ActionKind.LARGER_GUARANTEE,
        ActionKind.LARGER_BORROW_LIMIT,
        ActionKind.LARGER_BORROW_LIMIT_OF_TYPE,
        ActionKind.LARGER_QUOTA_OF_CPUS,
        ActionKind.LARGER_QUOTA_OF_MEMORY,
        ActionKind.MORE_RUNNING_JOBS,
        ActionKind.LARGER_USER_LIMIT,
        ActionKind.LARGER_USER_LIMIT_OF_TYPE,
        ActionKind.LARGER_USER_LIMIT_OF_CPUS,
        ActionKind.LARGER_USER_LIMIT_OF_MEMORY,
        ActionKind.MORE_USER_RUNNING_JOBS,
        ActionKind.LARGER_BUDGET,
        ActionKind.LARGER_USER_BUDGET,
        ActionKind.SEVERAL_LIMITS,
    }
)
GIB = 1 << 30
BUDGET_FIELDS = ("gpu_hours", "period", "on_exhausted", "gpu_type")  # that people set
# fields of a job's snapshot, as the API names them
FIELDS = {"requested_workers": "n_workers"}


@dataclass(frozen=True)
class Counterfactuals:
    """analysis: None where there is none, and note says why."""

    analysis: dict[str, Any] | None
    note: str = ""


def counterfactuals_of(job: Job, *, user: User, now: datetime) -> Counterfactuals:
    """Asks the live policy. Where a job neither waits nor runs, or the policy fails, there is a note instead."""
    note = _unavailable(job)
    if note:
        return Counterfactuals(None, note)
    settings, _ = SchedulerSettings.objects.get_or_create(pk=1)
    state, _ = SchedulerState.objects.get_or_create(pk=1)
    chosen = choose(settings, state, now=now)
    try:
        snapshot = present_snapshot(now=now)
        if all(one.id != str(job.id) for one in snapshot.jobs):
            return Counterfactuals(None, "The scheduler does not consider it now.")
        part = _part_of(job, snapshot)
        task = DecisionRequest(
            snapshot, chosen.policy(), chosen.memory, LIMIT_S, counsel_for=str(job.id), counsel_part=part
        )
        (answer,) = answers_to([task])
    except (DecisionError, ValueError, TypeError) as error:
        if isinstance(error, DecisionError) and error.kind == "busy":
            return Counterfactuals(None, str(error))
        return Counterfactuals(None, f"The policy {chosen.name} has no answer; platform administrators see why.")
    if answer.counsel is None:
        return Counterfactuals(None, "The scheduler does not consider it now.")
    reader = _Reader(snapshot, job, user)
    return Counterfactuals(reader.analysis(answer.counsel, now=now, took_s=answer.took_s))


def _unavailable(job: Job) -> str:
    if job.state in ENDED:
        return "It has ended: nothing would change that. Clone it to run it again."
    if job.state == JobState.PAUSED or job.intent == Intent.PAUSE:
        return "It is paused: it waits for nothing but to be resumed."
    if job.kind == JobKind.NOTEBOOK and job.state != JobState.QUEUED:
        return "A notebook runs until it is shut down or paused: no change of the cluster would end it earlier."
    if job.intent == Intent.CANCEL:
        return "It is being cancelled."
    return ""


def _part_of(job: Job, snapshot: ClusterSnapshot) -> TenantPart | None:
    """The job's project, where it has no quota of its own and its jobs count above."""
    tenant, project = snapshot.by_id[str(job.id)].tenant, job.project
    if tenant == str(project.pk):
        return None
    own = Job.objects.filter(project=project, id__in=list(snapshot.by_id)).values_list("id", flat=True)
    return TenantPart(TenantSnapshot(str(project.pk), project.name, parent=tenant), frozenset(map(str, own)))


class _Reader:
    """Reads the counsel as the caller may: jobs that the caller does not see are counted, not named."""

    def __init__(self, snapshot: ClusterSnapshot, job: Job, user: User) -> None:
        self._job_id, self._project, self._user = str(job.id), job.project, user
        self._gpu_types = snapshot.by_id[str(job.id)].gpu_types
        present = Job.objects.visible_to(user).filter(id__in=[one.id for one in snapshot.jobs])
        self._names = {str(id): name for id, name in present.values_list("id", "name")}
        self._snapshot = snapshot
        self._tenants = {tenant.id: tenant.name or tenant.id for tenant in snapshot.tenants}
        self._tenants.setdefault(str(job.project_id), job.project.name)
        owners = owners_above(job.project)
        self._raised_by = {str(owner.pk): raised_by(owner) for owner in owners}
        self._raised_within = {str(owner.pk): raised_within(owner) for owner in owners}
        self._users = {one.user: one.name or one.user for tenant in snapshot.tenants for one in tenant.user_limits}
        names = {one.id: (self._names.get(one.id, ""), self._side(one.id)) for one in snapshot.jobs}
        self._writer = ExplanationWriter(names)

    def _side(self, job_id: str) -> str:
        return VISIBLE if job_id in self._names else HIDDEN

    def analysis(self, counsel: Counsel, *, now: datetime, took_s: float) -> dict[str, Any]:
        decision = counsel.plan.of(self._job_id)
        actions = [self._action(advice, counsel.need) for advice in counsel.advice]
        return {
            "policy": counsel.plan.policy,
            "as_of": now,
            "compute_ms": 1000 * took_s,
            "n_workers": counsel.need,
            "start_at": moment(decision.prediction.start_p50_s),
            "finish_at": moment(decision.prediction.finish_p50_s),
            "blockers": [self._blocker(blocker) for blocker in counsel.blockers],
            "ahead": self._ahead(counsel),
            "awaited": self._awaited(counsel),
            "actions": [action for action in actions if action is not None],
            "n_tried": counsel.n_tried,
            "n_untried": counsel.n_candidates - counsel.n_tried,
        }

    def _blocker(self, blocker: Blocker) -> dict[str, Any]:
        tenant = self._tenants.get(blocker.tenant, "")
        types = f" of type {' or '.join(blocker.gpu_types)}" if blocker.gpu_types else ""
        facts = {"have": blocker.have, "need": blocker.need, "total": blocker.total}
        named: dict[str, Any] = {"tenant": tenant, "user": blocker.user, "guarantee": blocker.guarantee}
        if (budget := blocker.budget) is not None:
            types = f" on {budget.gpu_type}" if budget.gpu_type else ""
            named |= {"used": budget.used_gpu_hours, "hours": budget.gpu_hours, "period": PERIODS[budget.period]}
        return {
            **facts,
            "kind": blocker.kind.value,
            "is_blocking": blocker.is_blocking,
            "tenant": tenant,
            "gpu_types": list(blocker.gpu_types),
            "guarantee": blocker.guarantee,
            "sentence": said(BLOCKERS[blocker.kind], {**facts, **named, "types": types}) + self._closed(blocker),
        }

    def _closed(self, blocker: Blocker) -> str:
        """Which nodes take no new jobs, and why some of them are not ready."""
        words = in_readers_language(closed_in_words(blocker))
        if not words:
            return ""
        unready = Node.objects.filter(is_ready=False).exclude(message="").order_by("name")
        if self._gpu_types:
            unready = unready.filter(gpu_type__in=self._gpu_types)
        for node in unready[:MOST_UNREADY]:
            words += " " + said(NOT_READY, {"node": node.name, "message": in_readers_language(node.message)})
        return words

    def _ahead(self, counsel: Counsel) -> dict[str, Any]:
        shown = [one for one in counsel.ahead if one.job in self._names]
        return {
            "n_jobs": len(counsel.ahead),
            "n_others": len(counsel.ahead) - len(shown),
            "jobs": [
                {
                    "id": one.job,
                    "name": self._names[one.job],
                    "n_workers": one.n_workers,
                    "explanation": self._writer.for_readers(VISIBLE, [one.explanation])[0],
                    "predicted_start_at": moment(one.predicted_start_s),
                }
                for one in shown[:MOST_AHEAD]
            ],
        }

    def _awaited(self, counsel: Counsel) -> dict[str, Any] | None:
        """The job at whose end this one is predicted to start; without its name where the caller may not see it."""
        if counsel.awaited is None:
            return None
        job_id, end_s = counsel.awaited
        name = self._names.get(job_id)
        return {"id": job_id if name is not None else None, "name": name, "finish_at": moment(end_s)}

    def _is_for_administrators(self, action: Action) -> bool:
        """Quotas are; and priorities above what the caller may give."""
        try:
            check_priority(self._project, action.changes.get("priority", 0), actor=self._user)
        except InvalidInputError:
            return True
        return action.kind in BY_ADMINISTRATOR

    def _raised_budget(self, action: Action, before: ClusterSnapshot) -> str:
        """The budget that the action raises, as it would be then; "" if it raises none."""
        present: set[GpuHourBudget] = set()
        rules = next((tenant for tenant in before.tenants if tenant.id == action.tenant), None)
        if rules is not None:
            owners = (limit for limit in rules.user_limits if limit.user == action.user) if action.user else (rules,)
            present = {budget for owner in owners for budget in owner.budgets}
        return next((budget_in_words(one) for one in action.changes.get("budgets", ()) if one not in present), "")

    def _action(self, advice: Advice, need: int) -> dict[str, Any] | None:
        action, prediction = advice.action, advice.prediction
        if action.kind is ActionKind.PAUSE_JOB and action.job not in self._names:
            return None
        together = self._together(action, need)
        change = self._change(action, need, self._snapshot)
        if together:
            change["sentence"] = f"{said(SEVERAL, {})} {' '.join(one['sentence'] for one in together)}"
        own = [job_id for job_id in advice.delays_s if job_id in self._names]
        return {
            **change,
            "together": together,
            "by": "administrator" if self._is_for_administrators(action) else "member",
            "job": action.job or None,
            "starts_now": advice.starts_now,
            "start_at": moment(prediction.start_p50_s),
            "start_p90_at": moment(prediction.start_p90_s),
            "finish_at": moment(prediction.finish_p50_s),
            "finish_p90_at": moment(prediction.finish_p90_s),
            "gain_s": advice.gain_s,
            "n_delayed": len(advice.delays_s),
            "n_delayed_others": len(advice.delays_s) - len(own),
            "delayed_s": sum(advice.delays_s.values()),
        }

    def _together(self, action: Action, need: int) -> list[dict[str, Any]]:
        """The limits that the action raises at once, each as the ones before leave the rules."""
        found, before = [], self._snapshot
        for one in action.together:
            found.append(self._change(one, need, before))
            before = applied(one, before)
        return found

    def _change(self, action: Action, need: int, before: ClusterSnapshot) -> dict[str, Any]:
        """What the action changes of the snapshot, in words and in fields."""
        is_pause = action.kind is ActionKind.PAUSE_JOB
        changes = {} if is_pause else {FIELDS.get(field, field): value for field, value in action.changes.items()}
        tenant = self._tenants.get(action.tenant, "")
        by_type = dict(next((changes[name] for name in RULES_BY_TYPE if name in changes), ()))
        facts = {
            **changes,
            "need": need,
            "tenant": tenant,
            "job": self._names.get(action.job, ""),
            "user": self._users.get(action.user, ""),
            "raised_by": (self._raised_within if action.user else self._raised_by).get(action.tenant, ""),
            "of_types": " and ".join(f"{n} GPUs of type {gpu_type}" for gpu_type, n in by_type.items()),
            "memory_gib": changes.get("max_memory_bytes", 0) / GIB,
            "above": self._tenants.get(action.part.tenant.parent or "", "") if action.part is not None else "",
            "budget": self._raised_budget(action, before),
        }
        sentence = ACTIONS[action.kind] if action.part is None else FIRST_GUARANTEE
        return {
            "kind": action.kind.value,
            "sentence": said(sentence, facts),
            "tenant": tenant,
            "changes": {name: _written(name, value) for name, value in changes.items()},
        }


def _written(name: str, value: Any) -> Any:
    """A new value as the API writes it."""
    if name == "budgets":
        return [{field: row[field] for field in BUDGET_FIELDS} for row in as_rows(value)]
    if name in RULES_BY_TYPE:
        return dict(value)
    return list(value) if isinstance(value, tuple) else value
