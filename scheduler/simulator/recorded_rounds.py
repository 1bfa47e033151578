# SPDX-License-Identifier: Apache-2.0
"""Recorded rounds: decide them again, and tell their story."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler.api.memory import RoundMemory
from scheduler.api.plan import Launch, Plan, Resize
from scheduler.api.reasons import in_singular
from scheduler.api.records import plan_from_json, snapshot_from_json
from scheduler.api.snapshot import ClusterSnapshot
from scheduler.policies import Policy
from scheduler.policies.loading import load_policy
from scheduler.round.decide import decide


@dataclass(frozen=True)
class RecordedRound:
    """Holds what a round saw, with which policy and memory, and, if it got that far, what it answered."""

    snapshot: ClusterSnapshot
    policy: str
    parameters: Mapping[str, Any]
    memory: RoundMemory
    plan: Plan | None


def rounds_from_json(value: Any) -> list[RecordedRound]:
    """Returns the rounds of one record or a list: {"snapshot", "policy", "parameters", "plan", "memory"}.

    Without a memory, a round gets that of the plan before it in the list. Raises ValueError for what is no record.
    """
    entries = value if isinstance(value, list) else [value]
    rounds: list[RecordedRound] = []
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, Mapping) or "snapshot" not in entry:
            raise ValueError(f'round {number} has no "snapshot"; record it as {{"snapshot", "policy", "plan"}}')
        plan = plan_from_json(entry["plan"]) if entry.get("plan") else None
        name = entry.get("policy") or (plan.policy if plan else "mlhub")
        before = rounds[-1].plan if rounds else None
        memory = _memory_of(entry, before)
        snapshot = snapshot_from_json(entry["snapshot"])
        rounds.append(RecordedRound(snapshot, name, entry.get("parameters") or {}, memory, plan))
    return rounds


def _memory_of(entry: Mapping[str, Any], before: Plan | None) -> RoundMemory:
    if "memory" in entry:
        return RoundMemory.from_json(entry["memory"])
    return before.memory if before else RoundMemory()


def replay_round(recorded: RecordedRound, *, policy: Policy | None = None) -> Plan:
    """Decides the round again, under its own policy (by name or module:Class) or another, and returns the plan."""
    policy = policy or load_policy(recorded.policy, recorded.parameters)
    return decide(recorded.snapshot, policy=policy, memory=recorded.memory)


def story_of(recorded: RecordedRound, *, job_id: str | None = None) -> Iterator[str]:
    """Returns lines for people: every job (or the one), what was decided, why, and when it is expected to end.

    Raises ValueError for a job that is not in the round.
    """
    plan = recorded.plan or replay_round(recorded)
    now_s = recorded.snapshot.now_s
    names = {job.id: job.name for job in recorded.snapshot.jobs}
    if job_id is not None and job_id not in names:
        raise ValueError(f"job {job_id!r} is not in this round; it has {', '.join(names) or 'no jobs'}")
    for decision in plan.decisions:
        if job_id not in (None, decision.job):
            continue
        what = type(decision).__name__.lower()
        if isinstance(decision, Launch | Resize):
            a = decision.allocation
            places = ", ".join(f"{s.node}:{','.join(map(str, s.gpus))}" for s in a.shares if s.gpus)
            size = in_singular(f"{a.n_workers} workers, {a.n_servers} servers")
            what += f" with {size}, {a.mode.value}, on {places}"
        yield f"{decision.job} {names[decision.job]}".rstrip() + f": {what}"
        for explanation in decision.explanations:
            yield f"    {explanation.sentence}"
        prediction = decision.prediction
        if prediction.start_p50_s is not None and prediction.start_p50_s > now_s:
            yield f"    Expected to start in {prediction.start_p50_s - now_s:.0f} s."
        if prediction.finish_p50_s is not None and prediction.finish_p90_s is not None:
            half, most = prediction.finish_p50_s - now_s, prediction.finish_p90_s - now_s
            yield f"    Expected to end in {half:.0f} s; in 9 of 10 cases in {most:.0f} s."
