# SPDX-License-Identifier: Apache-2.0
"""Does advice come true? Actions that /why would advise are taken in the simulator, and the job's start is compared.

    python -m benchmarks.advice [--policies fifo mlhub ...] [--n-cases 1000] [--out FILE]

A case is one advised action for one waiting job at one round of a made-up day: three tenants with quotas on 16 GPUs of
two types, some jobs bound to one type, starts and steps that take other times than the scheduler expects
(`benchmarks/predictions_quotas.py`), and arrivals that it cannot know of. The day is simulated as it is, and again with
the action taken right after that round. It came true if the job starts earlier than without it, by at least half of the
gain that was predicted or by a minute. `by P90`: it also started by the P90 that was predicted with the action.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.predictions_quotas import STOP_S, UncertainDay
from scheduler import ClusterSnapshot, Keep, Launch, Plan, Reason, RoundMemory, Wait, policy_named
from scheduler.api.snapshot import JobSnapshot, Reclaim, TenantSnapshot
from scheduler.counterfactuals import Action, ActionKind, Advice, advise
from scheduler.simulator import simulate
from scheduler.simulator.environments.environment import Arrival, Segment, SimulatedGang
from scheduler.simulator.traces.clusters import Cluster, uniform_cluster
from scheduler.simulator.traces.gpu_speeds import GpuSpeeds
from scheduler.simulator.traces.synthetic import DayTenant, made_up_day

GOAL = 0.95
POLICIES = ("mlhub", "fifo", "srtf", "las", "priority", "backfill")
HOURS, LOAD, N_JOBS = 6.0, 1.4, 40
MOMENTS = 6  # of a day
TENANTS = (
    TenantSnapshot("vision", guarantee=8, reclaim=Reclaim.ANY),
    TenantSnapshot("search", max_gpus=6),
    TenantSnapshot("students", max_gpus=6, max_running_jobs=3),
)
SPEEDS = GpuSpeeds("advice", {("v100", ""): 1.0, ("t4", ""): 0.6})
ENOUGH_S, ENOUGH = 60.0, 0.5  # of the predicted gain
JUST_AFTER_S = 1e-3


class ChangeableDay(UncertainDay):
    """Simulates a day in which an action may be taken at any time: jobs are shown with what it changes."""

    is_coupled = True  # every event asks for the speeds anew, so that a paused job leaves at the next one
    is_disturbed = True
    is_learning = True

    def __init__(self, seed: int, *, acts_at_s: float | None = None) -> None:
        days = tuple(DayTenant(tenant.id, peak_h=3.0) for tenant in TENANTS)
        trace = made_up_day(tenants=days, n_jobs=N_JOBS, n_gpus=16, hours=HOURS, load=LOAD, seed=seed)
        self._action: Action | None = None
        super().__init__(trace, two_types(), start_s=30.0, stop_s=STOP_S, tenants=TENANTS, gpu_speeds=SPEEDS)
        self.arrivals = tuple(replace(arrival, job=_varied(arrival.job)) for arrival in self.arrivals)
        if acts_at_s is not None:  # a job on hold takes no part: with it comes the round in which the action counts
            held = replace(self.arrivals[0].job, id="action", hold=Reason.PREFLIGHT.value)
            self.arrivals = (*self.arrivals, Arrival(acts_at_s, held))

    def take(self, action: Action) -> None:
        """Takes the action: from the next event on it counts."""
        self._action = action
        for one in action.together or (action,):
            if one.tenant:
                self.tenants = tuple(replace(t, **one.changes) if t.id == one.tenant else t for t in self.tenants)

    def snapshot_of(self, job: JobSnapshot) -> JobSnapshot:
        if self._action is None or self._action.job != job.id or self._is_paused(job.id):
            return job
        return replace(job, **self._action.changes)

    def goes_on(
        self,
        segment: Segment,
        gang: SimulatedGang,
        others: Mapping[str, SimulatedGang],  # noqa: ARG002
        *,
        elapsed_s: float,  # noqa: ARG002
    ) -> bool:
        return not self._is_paused(gang.job.id) or segment.steps_per_s == 0.0

    def segment(self, gang: SimulatedGang, others: Mapping[str, SimulatedGang]) -> Segment:
        """A paused job saves and leaves; it does not come back in this simulation."""
        if not self._is_paused(gang.job.id):
            return super().segment(gang, others)
        return Segment(self.stop_s(gang.job, gang.allocation), float(gang.job.steps_total), 0.0, is_last=True)

    def _is_paused(self, job_id: str) -> bool:
        return self._action is not None and self._action.kind is ActionKind.PAUSE_JOB and self._action.job == job_id


def two_types() -> Cluster:
    """Returns three nodes of four fast GPUs each, and one of four slow ones."""
    fast = uniform_cluster(n_nodes=4, n_gpus=4, gpu_type="v100")
    return replace(fast, nodes=(*fast.nodes[:3], replace(fast.nodes[3], gpu_type="t4")))


def _varied(job: JobSnapshot) -> JobSnapshot:
    """Some jobs are bound to the fast type; some are more or less urgent."""
    chance = random.Random(f"kind {job.id}")
    types = ("v100",) if chance.random() < 0.3 else ()
    return replace(job, gpu_types=types, priority=chance.choice([0, 0, 0, 1, 5]))


@dataclass(frozen=True)
class AdviceMoment:
    """A round at which a job waits. number: of the round; memory: before it."""

    number: int
    snapshot: ClusterSnapshot
    memory: RoundMemory
    job: str


@dataclass(frozen=True)
class AdviceCase:
    """What became of an advised action. start_s, start_without_s: when the job started, with it and without."""

    policy: str
    advice: Advice
    start_s: float
    start_without_s: float

    @property
    def came_true(self) -> bool:
        """Returns whether the job started earlier by what was predicted, roughly."""
        gained_s = self.start_without_s - self.start_s
        predicted_s = self.advice.gain_s
        return gained_s > 0 and (predicted_s is None or gained_s >= min(ENOUGH_S, ENOUGH * predicted_s))

    @property
    def is_by_p90(self) -> bool:
        """Returns whether the job started by the P90 that was predicted."""
        latest_s = self.advice.prediction.start_p90_s
        return latest_s is None or self.start_s <= latest_s + 1.0


def cases_of(policy: str, seed: int, *, n_moments: int = MOMENTS) -> Iterator[AdviceCase]:
    """Yields the cases of one day, at most n_moments times as many as there are kinds of actions."""
    moments, starts_s = _observed(policy, seed)
    chance = random.Random(f"{policy} {seed}")
    for moment in chance.sample(moments, min(n_moments, len(moments))):
        found = advise(moment.snapshot, moment.job, policy=policy_named(policy, {}), memory=moment.memory)
        for advice in found.advice:
            start_s = _start_with(advice.action, policy, seed, moment)
            yield AdviceCase(policy, advice, start_s, starts_s[moment.job])


def _observed(policy: str, seed: int) -> tuple[list[AdviceMoment], dict[str, float]]:
    """Rounds with a job that waits for its first start; and when jobs start."""
    moments: list[AdviceMoment] = []
    memory, n_rounds = RoundMemory(), 0
    chance = random.Random(f"moments {policy} {seed}")

    def observe(snapshot: ClusterSnapshot, plan: Plan) -> None:
        nonlocal memory, n_rounds
        waiting = [job for job in snapshot.jobs if isinstance(plan.of(job.id), Wait) and job.executed_gpu_s == 0]
        if waiting and _is_quiet(plan):
            moments.append(AdviceMoment(n_rounds, snapshot, memory, chance.choice(waiting).id))
        memory = plan.memory
        n_rounds += 1

    outcome = simulate(ChangeableDay(seed), policy=policy_named(policy, {}), on_round=observe)
    return moments, {job_id: h.started_at_s or 0.0 for job_id, h in outcome.histories.items()}


def _is_quiet(plan: Plan) -> bool:
    """Returns whether the plan changes nothing, so that the action finds the cluster as the round saw it."""
    return all(isinstance(decision, Wait | Keep) for decision in plan.decisions)


class _StartedError(Exception):
    """Ends a simulation of which the rest is not needed."""


def _start_with(action: Action, policy: str, seed: int, moment: AdviceMoment) -> float:
    """When the job starts if the action is taken right after the moment's round."""
    day = ChangeableDay(seed, acts_at_s=moment.snapshot.now_s + JUST_AFTER_S)
    n_rounds, start_s = 0, float("inf")

    def observe(snapshot: ClusterSnapshot, plan: Plan) -> None:
        nonlocal n_rounds, start_s
        if n_rounds == moment.number:
            day.take(action)
        elif n_rounds > moment.number and isinstance(plan.of(moment.job), Launch):
            start_s = snapshot.now_s
            raise _StartedError
        n_rounds += 1

    try:
        simulate(day, policy=policy_named(policy, {}), on_round=observe)
    except _StartedError:
        return start_s
    raise RuntimeError(f"job {moment.job!r} never starts after {action}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--policies", nargs="+", default=POLICIES)
    parser.add_argument("--n-cases", type=int, default=1000)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None, help="a file for the page, in Markdown")
    options = parser.parse_args()
    began = time.process_time()
    cases: list[AdviceCase] = []
    seed = options.first_seed
    while len(cases) < options.n_cases:
        for policy in options.policies:
            cases += cases_of(policy, seed)
        seed += 1
        print(f"{len(cases)} cases, {sum(c.came_true for c in cases) / max(1, len(cases)):.1%} true", file=sys.stderr)
    text = page(cases[: options.n_cases], n_days=seed - options.first_seed, took_s=time.process_time() - began)
    print(text)
    if options.out is not None:
        options.out.write_text(text)
    return 0 if sum(case.came_true for case in cases) >= GOAL * len(cases) else 1


def page(cases: Sequence[AdviceCase], *, n_days: int, took_s: float) -> str:
    """Returns the result in Markdown."""
    lines = [
        "# Advice: does it come true?",
        "",
        "Written by `python -m benchmarks.advice`. " + " ".join(__doc__.split("\n\n")[2].split()),
        "",
        f"{len(cases)} cases of {n_days} days; {took_s:.0f} s of processor time. Goal: {GOAL:.0%}. "
        f"Measured on {datetime.now(UTC):%d %B %Y}.",
        "",
        "| | cases | came true | by P90 |",
        "|---|---|---|---|",
        _row("**all**", cases),
    ]
    kinds = Counter(case.advice.action.kind for case in cases)
    lines += [_row(f"action: {k.replace('_', ' ')}", [c for c in cases if c.advice.action.kind == k]) for k in kinds]
    policies = Counter(case.policy for case in cases)
    lines += [_row(f"policy: {policy}", [c for c in cases if c.policy == policy]) for policy in policies]
    return "\n".join([*lines, ""])


def _row(name: str, cases: Sequence[AdviceCase]) -> str:
    true = sum(case.came_true for case in cases) / len(cases)
    return f"| {name} | {len(cases)} | {true:.1%} | {sum(case.is_by_p90 for case in cases) / len(cases):.1%} |"


if __name__ == "__main__":
    sys.exit(main())
