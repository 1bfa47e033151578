# SPDX-License-Identifier: Apache-2.0
"""Which actions help a job, by how much and at whose cost: decide() on the changed snapshot, compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from scheduler.api.memory import RoundMemory
from scheduler.api.plan import Decision, Launch, Plan, Prediction, Resize, Wait
from scheduler.api.snapshot import ClusterSnapshot, JobSnapshot, Phase
from scheduler.counterfactuals.actions import Action, ActionKind, TenantPart, applied, candidate_actions
from scheduler.counterfactuals.blockers import Blocker, blockers_of, possible_sizes, workers_needed
from scheduler.counterfactuals.ranking import AheadJob, jobs_ahead
from scheduler.counterfactuals.rollout import Rollout, roll_out
from scheduler.policies.toolkit.policy import Policy
from scheduler.round.cache import RoundCache
from scheduler.round.decide import decide

LEAST_GAIN_S = 30.0  # less is not worth a person's while
LEAST_GAIN = 0.05  # of the time that is left to a running job
# of the wait, in rollouts: the ends of other jobs are predicted with errors of this order (round/forecast/plan.py)
LEAST_PART = 0.5
NOTICEABLE_S = 5.0  # ends that move by less count as unmoved


@dataclass(frozen=True)
class Advice:
    """Describes an action that helps. prediction: of the job, with it. n_workers: with which it starts; 0 = it waits.

    gain_s: how much earlier a waiting job starts, or a running one ends; None where no time was predicted without it.
    delays_s: by other job, by how much later it ends; they are what the action costs.
    """

    action: Action
    starts_now: bool
    n_workers: int
    prediction: Prediction
    gain_s: float | None
    delays_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Counsel:
    """Holds the whole answer on a job. plan: as things are. n_tried: actions that were tried, of n_candidates.

    need: workers with which it starts at least. blockers: of a waiting job. ahead: the waiting jobs that are served
    before it. awaited: the running job with whose predicted end it starts, and that end in seconds; None where the
    policy would not start it then.
    """

    plan: Plan
    need: int
    blockers: tuple[Blocker, ...]
    ahead: tuple[AheadJob, ...]
    advice: tuple[Advice, ...]
    n_tried: int
    n_candidates: int
    awaited: tuple[str, float] | None = None


def advise(
    snapshot: ClusterSnapshot,
    job_id: str,
    *,
    policy: Policy,
    memory: RoundMemory,
    cache: RoundCache | None = None,
    is_over: Callable[[], bool] = lambda: False,
    part: TenantPart | None = None,
) -> Counsel:
    """Returns what helps the job, the earliest start (of a running job: the earliest end) first.

    1. every action that could help is tried by a decision on the changed snapshot; 2. of those that start a waiting
    job earlier by prediction, the ones count that do so in a rollout, too; the smaller gain is stated.
    is_over: True = the time to compute is used up; what was not tried or confirmed by then is left out. It is asked
    before each decision but the first, so that at most one of them ends later, however large the cluster is.
    part: of the job's tenant, of which the job is, where that has no rules of its own.
    Raises ValueError as decide() does, and KeyError for a job that is not in the snapshot.
    """
    cache = cache or RoundCache()
    plan = decide(snapshot, policy=policy, memory=memory, cache=cache)
    job = possible_sizes(snapshot, cache).by_id[job_id]
    need = workers_needed(job, policy)
    run_s, waits = _run_s(plan.of(job_id)), job.phase is Phase.WAITING
    blockers = blockers_of(snapshot, job, need=need, memory=memory, run_s=run_s) if waits else ()
    ahead = jobs_ahead(snapshot, plan, job_id, policy=policy, cache=cache)
    candidates = candidate_actions(snapshot, plan, job, need=need, blockers=blockers, part=part)
    found: list[Advice] = []
    n_tried = 0
    for action in candidates:  # 1
        if is_over():
            break
        if action.together and _is_limit_enough(found):
            n_tried += 1  # one limit alone is less to ask for
            continue
        changed = decide(applied(action, snapshot), policy=policy, memory=memory, cache=cache)
        n_tried += 1
        advice = advice_of(action, job, plan, changed, now_s=snapshot.now_s)
        if advice is not None:
            found.append(advice)
    if found and waits:  # 2
        play = partial(roll_out, job_id=job_id, policy=policy, memory=memory, cache=cache, is_over=is_over)
        confirmed = _confirmed(found, snapshot, play)
        found = [advice for advice in confirmed if not advice.action.together or _needs_all(advice, confirmed)]
    play_round = partial(decide, policy=policy, memory=memory, cache=cache, explain=False)
    awaited = None if is_over() else _awaited(snapshot, plan, job, play_round)
    return Counsel(plan, need, blockers, ahead, in_order(found, job), n_tried, len(candidates), awaited)


def _is_limit_enough(found: Sequence[Advice]) -> bool:
    """Whether the job starts in the next round with fewer limits raised."""
    return any(one.starts_now and (one.action.tenant or one.action.together) for one in found)


def _needs_all(advice: Advice, found: Sequence[Advice]) -> bool:
    """Whether the job starts noticeably earlier than with fewer limits raised."""
    n_limits, start_s = len(advice.action.together), advice.prediction.start_p50_s
    of_limits = (one for one in found if one.action.tenant or one.action.together)
    others_s = [one.prediction.start_p50_s for one in of_limits if len(one.action.together) < n_limits]
    return all(start_s is not None and (s is None or start_s <= s - LEAST_GAIN_S) for s in others_s)


def _awaited(
    snapshot: ClusterSnapshot, plan: Plan, job: JobSnapshot, play_round: Callable[[ClusterSnapshot], Plan]
) -> tuple[str, float] | None:
    """The last of the jobs whose predicted ends come no later than the job's start, if it starts once they are gone."""
    start_s = _start_s(plan.of(job.id))
    if job.phase is not Phase.WAITING or start_s is None or start_s <= snapshot.now_s:
        return None
    ends_s = {d.job: d.prediction.finish_p50_s for d in plan.decisions}
    over = {
        other.id: end_s
        for other in snapshot.jobs
        if other.held is not None and (end_s := ends_s[other.id]) is not None and end_s <= start_s + NOTICEABLE_S
    }
    if not over:
        return None
    later = replace(snapshot, jobs=tuple(other for other in snapshot.jobs if other.id not in over))
    if not isinstance(play_round(later).of(job.id), Launch):
        return None
    last = max(over, key=lambda other: (over[other], other))
    return last, over[last]


def _confirmed(found: list[Advice], snapshot: ClusterSnapshot, play: Callable[..., Rollout]) -> list[Advice]:
    """Those that gain in rollouts, with no larger gain than there. The rollout without any action goes as far as it
    takes to compare.
    """
    rollouts = [play(applied(advice.action, snapshot)) for advice in found]
    ends_s = [
        rollout.start_s + (math.inf if advice.gain_s is None else advice.gain_s)
        for advice, rollout in zip(found, rollouts, strict=True)
        if rollout.start_s is not None
    ]
    if not ends_s:
        return []
    without = play(snapshot, until_s=max(ends_s))
    without_s = without.until_s if without.start_s is None else without.start_s
    confirmed = []
    for advice, rollout in zip(found, rollouts, strict=True):
        gain_s = -math.inf if rollout.start_s is None else without_s - rollout.start_s
        if gain_s >= max(LEAST_GAIN_S, LEAST_PART * (without_s - snapshot.now_s)):
            least_s = min(
                (each for each in (gain_s, advice.gain_s) if each is not None and each < math.inf), default=None
            )
            confirmed.append(replace(advice, gain_s=least_s))
    return confirmed


def in_order(found: list[Advice], job: JobSnapshot) -> tuple[Advice, ...]:
    """Returns the advice, that of the greatest gain first; of one kind only the action that gains the most."""
    waits = job.phase is Phase.WAITING

    def key(advice: Advice) -> tuple[float, int]:
        at_s = advice.prediction.start_p50_s if waits else advice.prediction.finish_p50_s
        return (at_s if at_s is not None else float("inf")), len(advice.delays_s)

    best: dict[tuple[ActionKind, str], Advice] = {}
    for advice in sorted(found, key=key):
        subject = advice.action.job if advice.action.kind is ActionKind.PAUSE_JOB else advice.action.tenant
        best.setdefault((advice.action.kind, subject), advice)
    return tuple(best.values())


def advice_of(action: Action, job: JobSnapshot, plan: Plan, changed: Plan, *, now_s: float) -> Advice | None:
    """Returns what the action does for the job, by the plan as it is and the plan with the action; None if it does not
    help noticeably.
    """
    before, after = plan.of(job.id), changed.of(job.id)
    waits = job.phase is Phase.WAITING
    gain_s = _gain_s(before, after, waits=waits)
    if waits and isinstance(before, Launch):
        return None
    starts_now = isinstance(after, Launch)
    if gain_s is None:
        is_better = starts_now or (waits and _start_s(after) is not None and _start_s(before) is None)
    else:
        left_s = max(0.0, (_time_s(before, waits=waits) or now_s) - now_s)
        is_better = gain_s >= max(LEAST_GAIN_S, (LEAST_PART if waits else LEAST_GAIN) * left_s)
    if not is_better:
        return None
    n_workers = after.allocation.n_workers if isinstance(after, Launch | Resize) else 0
    return Advice(action, starts_now, n_workers, after.prediction, gain_s, _delays_s(plan, changed, job.id, action))


def _gain_s(before: Decision, after: Decision, *, waits: bool) -> float | None:
    was_s, is_s = _time_s(before, waits=waits), _time_s(after, waits=waits)
    return None if was_s is None or is_s is None else was_s - is_s


def _time_s(decision: Decision, *, waits: bool) -> float | None:
    return _start_s(decision) if waits else decision.prediction.finish_p50_s


def _start_s(decision: Decision) -> float | None:
    """When the job starts, if it does; a job that can never run has no start."""
    return decision.prediction.start_p50_s if isinstance(decision, Launch | Wait) else None


def _run_s(decision: Decision) -> float | None:
    """How long the job is predicted to run, once it has started."""
    start_s, finish_s = _start_s(decision), decision.prediction.finish_p50_s
    return None if start_s is None or finish_s is None else finish_s - start_s


def _delays_s(plan: Plan, changed: Plan, job_id: str, action: Action) -> dict[str, float]:
    ends_s = {decision.job: decision.prediction.finish_p50_s for decision in plan.decisions}
    delays: dict[str, float] = {}
    for decision in changed.decisions:
        end_s, was_s = decision.prediction.finish_p50_s, ends_s[decision.job]
        if decision.job in (job_id, action.job) or end_s is None or was_s is None:
            continue
        if end_s - was_s >= NOTICEABLE_S:
            delays[decision.job] = end_s - was_s
    return delays
