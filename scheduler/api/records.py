# SPDX-License-Identifier: Apache-2.0
"""Snapshots and plans as JSON and back, exactly: what a stored round is made of. Raises ValueError for bad records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

from scheduler.api.allocation_json import allocation_from_json, allocation_to_json
from scheduler.api.gpu_budgets import BudgetPeriod, GpuHourBudget, OnExhausted, QuotaChange
from scheduler.api.memory import RoundMemory
from scheduler.api.plan import (
    BatchChoice,
    Decision,
    Explanation,
    Keep,
    Launch,
    Plan,
    Prediction,
    Preempt,
    Reason,
    Resize,
    Wait,
)
from scheduler.api.reasons import SENTENCES
from scheduler.api.sharing_measurements import PairObservation, PairResource, Profile
from scheduler.api.snapshot import (
    RULES_BY_TYPE,
    ClusterSnapshot,
    JobSnapshot,
    Mode,
    Phase,
    Reclaim,
    SpeedObservation,
    TenantSnapshot,
)
from scheduler.api.topology import FETCH_BPS, InputSet, NodeSnapshot, RackSnapshot
from scheduler.api.user_limits import UserLimit

VERSION = 3
READ = (1, 2, 3)  # 1 had every job's observations in the job itself; 2 had other codes for some reasons

_KINDS: Mapping[str, type[Decision]] = {
    "launch": Launch,
    "resize": Resize,
    "preempt": Preempt,
    "keep": Keep,
    "wait": Wait,
}
_JOB = tuple(f.name for f in fields(JobSnapshot))
_PREDICTION = Prediction._fields
_OBSERVATION = tuple(f.name for f in fields(SpeedObservation))
_KIND_OF = {kind: name for name, kind in _KINDS.items()}
_ADDED_FACTS: Mapping[str, str] = {"above": "the organisation or of the platform", "admins": "the organisation"}
_RENAMED_REASONS: Mapping[str, str] = {  # codes of version 2
    "kept_for_owner": "reserved_for_owner",
    "kept_for_turn": "reserved_for_fair_share",
    "fair_part": "fair_share_reached",
    "lent_out": "guarantee_borrowed",
    "nodes_closed": "nodes_cordoned",
    "node_closed": "node_cordoned",
    "room_is_made": "waits_for_preemption",
    "promised_gpus": "reserved_gpus",
    "makes_room": "shrinks_for_others",
    "links_give": "link_bandwidth",
    "better_links": "higher_link_bandwidth",
    "moves": "migrates",
    "goes_aside": "defragmentation",
    "harms_others": "network_contention",
    "higher_band": "higher_priority",
    "lent": "borrowed",
    "fair_turn": "fair_share_turn",
    "fair_reclaim": "fair_share_reclaimed",
    "served_more": "attained_service",
    "worth_more": "more_gain_elsewhere",
    "shares_with": "colocated",
    "shares_what_is_left": "colocated_opportunistic",
    "sharing_tried": "colocation_measured",
    "sharing_not_worth_it": "colocation_not_worth_it",
    "network_choice": "learned_policy",
    "ending": "stopping",
}


def snapshot_to_json(snapshot: ClusterSnapshot) -> dict[str, Any]:
    """Returns the snapshot as JSON values; the bandwidth of a link without a limit is null."""
    return {
        "version": VERSION,
        "now_s": snapshot.now_s,
        "seed": snapshot.seed,
        "round_number": snapshot.round_number,
        "nodes": [_node_to_json(node) for node in snapshot.nodes],
        "racks": [{"name": rack.name, "uplink_bps": _finite(rack.uplink_bps)} for rack in snapshot.racks],
        "tenants": [asdict(tenant) for tenant in snapshot.tenants],
        **_jobs_to_json(snapshot.jobs),
        "pairs": [asdict(pair) for pair in snapshot.pairs],
        "withdrawn": list(snapshot.withdrawn),
        "input_sets": [asdict(one) for one in snapshot.input_sets],
        "fetch_bps": snapshot.fetch_bps,
        "coming": [asdict(change) for change in snapshot.coming],
    }


def snapshot_from_json(value: Mapping[str, Any]) -> ClusterSnapshot:
    """Returns the snapshot that snapshot_to_json() wrote.

    Raises KeyError, TypeError or ValueError for any other value.
    """
    _check_version(value, "snapshot")
    try:
        return ClusterSnapshot(
            now_s=value["now_s"],
            seed=value["seed"],
            round_number=value["round_number"],
            nodes=tuple(_node_from_json(node) for node in value["nodes"]),
            racks=tuple(RackSnapshot(rack["name"], _bandwidth(rack["uplink_bps"])) for rack in value["racks"]),
            tenants=tuple(_tenant_from_json(tenant) for tenant in value["tenants"]),
            jobs=_jobs_from_json(value),
            pairs=tuple(_pair_from_json(pair) for pair in value.get("pairs", ())),
            withdrawn=tuple(value.get("withdrawn", ())),
            input_sets=tuple(_input_set_from_json(one) for one in value.get("input_sets", ())),
            fetch_bps=value.get("fetch_bps", FETCH_BPS),
            coming=tuple(_quota_change_from_json(change) for change in value.get("coming", ())),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a snapshot's record: {error}") from error


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """Returns the plan as JSON values.

    Each explanation carries its sentence too, for readers that do not know the reasons.
    """
    return {
        "version": VERSION,
        "policy": plan.policy,
        "wake_at_s": plan.wake_at_s,
        "memory": plan.memory.to_json(),
        "order": list(plan.order),
        "decisions": [_decision_to_json(decision) for decision in plan.decisions],
        "batches": {job: asdict(choice) for job, choice in plan.batches.items()},
    }


def plan_from_json(value: Mapping[str, Any]) -> Plan:
    """Returns the plan that plan_to_json() wrote. Raises KeyError, TypeError or ValueError for any other value."""
    _check_version(value, "plan")
    try:
        decisions = tuple(_decision_from_json(decision) for decision in value["decisions"])
        memory, order = RoundMemory.from_json(value["memory"]), tuple(value.get("order", ()))
        batches = {job: BatchChoice(**choice) for job, choice in value.get("batches", {}).items()}
        return Plan(decisions, memory, value["policy"], value.get("wake_at_s"), order, batches)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a plan's record: {error}") from error


def _tenant_from_json(value: Mapping[str, Any]) -> TenantSnapshot:
    budgets = tuple(_budget_from_json(budget) for budget in value.get("budgets", ()))
    user_limits = tuple(_user_limit_from_json(limit) for limit in value.get("user_limits", ()))
    by_type = {name: _numbers_by_type(value, name) for name in RULES_BY_TYPE}
    tenant = TenantSnapshot(**{**value, "budgets": budgets, "user_limits": user_limits, **by_type})
    return replace(tenant, reclaim=Reclaim(tenant.reclaim))


def _user_limit_from_json(value: Mapping[str, Any]) -> UserLimit:
    by_type = _numbers_by_type(value)
    budgets = tuple(_budget_from_json(budget) for budget in value.get("budgets", ()))
    return UserLimit(**{**value, "gpus_by_type": by_type, "budgets": budgets})


def _numbers_by_type(value: Mapping[str, Any], name: str = "gpus_by_type") -> tuple[tuple[str, int], ...]:
    return tuple((gpu_type, most) for gpu_type, most in value.get(name, ()))


def _budget_from_json(value: Mapping[str, Any]) -> GpuHourBudget:
    budget = GpuHourBudget(**value)
    return replace(budget, period=BudgetPeriod(budget.period), on_exhausted=OnExhausted(budget.on_exhausted))


def _quota_change_from_json(value: Mapping[str, Any]) -> QuotaChange:
    by_type = {name: _numbers_by_type(value, name) for name in ("gpus_by_type", "guarantee_by_type")}
    return QuotaChange(**{**value, **by_type})


def _input_set_from_json(value: Mapping[str, Any]) -> InputSet:
    return InputSet(**{**value, "held": tuple((node, n_bytes) for node, n_bytes in value["held"])})


def _pair_from_json(value: Mapping[str, Any]) -> PairObservation:
    pair = PairObservation(**value)
    return replace(pair, resource=PairResource(pair.resource))


def _node_to_json(node: NodeSnapshot) -> dict[str, Any]:
    return {**asdict(node), "nic_bps": _finite(node.nic_bps)}


def _jobs_to_json(jobs: Sequence[JobSnapshot]) -> dict[str, Any]:
    """Jobs of a family share their observations: each list of them is written once, and jobs refer to it by number."""
    lists: list[tuple[SpeedObservation, ...]] = []
    of_family: dict[str, list[int]] = {}  # comparing a tuple with itself is fast, hashing it is not
    written = []
    for job in jobs:
        known = of_family.setdefault(job.family, [])
        number = next((n for n in known if lists[n] == job.observations), len(lists))
        if number == len(lists):
            lists.append(job.observations)
            known.append(number)
        written.append(_job_to_json(job, observations=number))
    return {"observations": [[_observation_to_json(o) for o in each] for each in lists], "jobs": written}


def _node_from_json(value: Mapping[str, Any]) -> NodeSnapshot:
    """unusable_gpus is absent from records of earlier versions."""
    unusable = tuple(value.get("unusable_gpus", ()))
    return NodeSnapshot(**{**value, "nic_bps": _bandwidth(value["nic_bps"]), "unusable_gpus": unusable})


def _jobs_from_json(value: Mapping[str, Any]) -> tuple[JobSnapshot, ...]:
    shared = [_observations_from_json(each) for each in value.get("observations", ())]
    found = []
    for job in value["jobs"]:
        own = job["observations"]
        found.append(_job_from_json(job, shared[own] if isinstance(own, int) else _observations_from_json(own)))
    return tuple(found)


def _observations_from_json(values: Sequence[Mapping[str, Any]]) -> tuple[SpeedObservation, ...]:
    return tuple(SpeedObservation(**{**o, "mode": Mode(o["mode"])}) for o in values)


def _observation_to_json(observation: SpeedObservation) -> dict[str, Any]:
    value = {name: getattr(observation, name) for name in _OBSERVATION}
    value["mode"] = observation.mode.value
    return value


def _job_to_json(job: JobSnapshot, *, observations: int) -> dict[str, Any]:
    value = {name: getattr(job, name) for name in _JOB}
    value["phase"] = job.phase.value
    value["mode"] = job.mode.value if job.mode else None
    value["allocation"] = allocation_to_json(job.allocation) if job.allocation else None
    value["observations"] = observations
    value["gpu_types"] = list(job.gpu_types)
    value["noise_ahead"] = [list(point) for point in job.noise_ahead]
    value["profile"] = asdict(job.profile) if job.profile else None
    return value


def _job_from_json(value: Mapping[str, Any], observations: tuple[SpeedObservation, ...]) -> JobSnapshot:
    job = dict(value)
    job["phase"] = Phase(job["phase"])
    job["mode"] = Mode(job["mode"]) if job["mode"] else None
    job["allocation"] = allocation_from_json(job["allocation"]) if job["allocation"] else None
    job["observations"] = observations
    job["gpu_types"] = tuple(job["gpu_types"])
    job["noise_ahead"] = tuple((steps, noise) for steps, noise in job.get("noise_ahead", ()))
    job["profile"] = Profile(**job["profile"]) if job.get("profile") else None
    return JobSnapshot(**job)


def _decision_to_json(decision: Decision) -> dict[str, Any]:
    value: dict[str, Any] = {
        "kind": _KIND_OF[type(decision)],
        "job": decision.job,
        "explanations": [
            {"reason": e.reason.value, "facts": dict(e.facts), "sentence": e.sentence} for e in decision.explanations
        ],
        "prediction": {name: getattr(decision.prediction, name) for name in _PREDICTION},
    }
    if isinstance(decision, Launch | Resize):
        value["allocation"] = allocation_to_json(decision.allocation)
    return value


def _explanation_from_json(value: Mapping[str, Any]) -> Explanation:
    """Records from before their sentences named who can raise a limit lack these facts."""
    reason = _reason(value["reason"])
    added = {name: words for name, words in _ADDED_FACTS.items() if f"{{{name}}}" in SENTENCES[reason]}
    return Explanation(reason, {**added, **value["facts"]})


def _decision_from_json(value: Mapping[str, Any]) -> Decision:
    explanations = tuple(_explanation_from_json(e) for e in value["explanations"])
    prediction = Prediction(**value["prediction"])
    kind = _KINDS[value["kind"]]
    if kind is Launch or kind is Resize:
        return kind(value["job"], allocation_from_json(value["allocation"]), explanations, prediction)
    return kind(value["job"], explanations, prediction)  # type: ignore[arg-type]


def _reason(code: str) -> Reason:
    return Reason(_RENAMED_REASONS.get(code, code))


def _finite(bps: float) -> float | None:
    return None if bps == float("inf") else bps


def _bandwidth(bps: float | None) -> float:
    return float("inf") if bps is None else bps


def _check_version(value: Any, what: str) -> None:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is no {what}'s record")
    if value.get("version") not in READ:
        known = f"{', '.join(map(str, READ[:-1]))} and {READ[-1]}"
        raise ValueError(f"this {what} has version {value.get('version')!r}; this MLHub reads versions {known}")
