"""Snapshots and plans as JSON and back, exactly: what a stored round is made of. Raises ValueError for bad records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from scheduler.decisions import (
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
from scheduler.snapshot import (
    Allocation,
    ClusterSnapshot,
    JobSnapshot,
    Mode,
    PairObservation,
    Phase,
    PolicyMemory,
    Profile,
    Share,
    SpeedObservation,
    TenantSnapshot,
)
from scheduler.topology import Node, Rack

VERSION = 1

_KINDS: Mapping[str, type[Decision]] = {
    "launch": Launch,
    "resize": Resize,
    "preempt": Preempt,
    "keep": Keep,
    "wait": Wait,
}
_KIND_OF = {kind: name for name, kind in _KINDS.items()}


def snapshot_to_json(snapshot: ClusterSnapshot) -> dict[str, Any]:
    """JSON values only; links without a limit have bandwidth null."""
    return {
        "version": VERSION,
        "now_s": snapshot.now_s,
        "seed": snapshot.seed,
        "round_number": snapshot.round_number,
        "nodes": [_node_to_json(node) for node in snapshot.nodes],
        "racks": [{"name": rack.name, "uplink_bps": _finite(rack.uplink_bps)} for rack in snapshot.racks],
        "tenants": [asdict(tenant) for tenant in snapshot.tenants],
        "jobs": [_job_to_json(job) for job in snapshot.jobs],
        "pairs": [asdict(pair) for pair in snapshot.pairs],
    }


def snapshot_from_json(value: Mapping[str, Any]) -> ClusterSnapshot:
    _check_version(value, "snapshot")
    try:
        return ClusterSnapshot(
            now_s=value["now_s"],
            seed=value["seed"],
            round_number=value["round_number"],
            nodes=tuple(Node(**{**node, "nic_bps": _bandwidth(node["nic_bps"])}) for node in value["nodes"]),
            racks=tuple(Rack(rack["name"], _bandwidth(rack["uplink_bps"])) for rack in value["racks"]),
            tenants=tuple(TenantSnapshot(**tenant) for tenant in value["tenants"]),
            jobs=tuple(_job_from_json(job) for job in value["jobs"]),
            pairs=tuple(PairObservation(**pair) for pair in value.get("pairs", ())),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a snapshot's record: {error}") from error


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """JSON values only. Each explanation carries its sentence too, for readers that do not know the reasons."""
    return {
        "version": VERSION,
        "policy": plan.policy,
        "wake_at_s": plan.wake_at_s,
        "memory": dict(plan.memory.values),
        "decisions": [_decision_to_json(decision) for decision in plan.decisions],
    }


def plan_from_json(value: Mapping[str, Any]) -> Plan:
    _check_version(value, "plan")
    try:
        decisions = tuple(_decision_from_json(decision) for decision in value["decisions"])
        return Plan(decisions, PolicyMemory(value["memory"]), value["policy"], value.get("wake_at_s"))
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a plan's record: {error}") from error


def allocation_to_json(allocation: Allocation) -> dict[str, Any]:
    shares = [{"node": s.node, "gpus": list(s.gpus), "n_servers": s.n_servers} for s in allocation.shares]
    return {
        "mode": allocation.mode.value,
        "n_workers": allocation.n_workers,
        "n_servers": allocation.n_servers,
        "shares": shares,
    }


def allocation_from_json(value: Mapping[str, Any]) -> Allocation:
    shares = tuple(Share(s["node"], tuple(s["gpus"]), s["n_servers"]) for s in value["shares"])
    return Allocation(Mode(value["mode"]), value["n_workers"], value["n_servers"], shares)


def _node_to_json(node: Node) -> dict[str, Any]:
    return {**asdict(node), "nic_bps": _finite(node.nic_bps)}


def _job_to_json(job: JobSnapshot) -> dict[str, Any]:
    value = {f.name: getattr(job, f.name) for f in fields(job)}
    value["phase"] = job.phase.value
    value["mode"] = job.mode.value if job.mode else None
    value["allocation"] = allocation_to_json(job.allocation) if job.allocation else None
    value["observations"] = [{**asdict(o), "mode": o.mode.value} for o in job.observations]
    value["gpu_types"] = list(job.gpu_types)
    value["profile"] = asdict(job.profile) if job.profile else None
    return value


def _job_from_json(value: Mapping[str, Any]) -> JobSnapshot:
    job = dict(value)
    job["phase"] = Phase(job["phase"])
    job["mode"] = Mode(job["mode"]) if job["mode"] else None
    job["allocation"] = allocation_from_json(job["allocation"]) if job["allocation"] else None
    job["observations"] = tuple(SpeedObservation(**{**o, "mode": Mode(o["mode"])}) for o in job["observations"])
    job["gpu_types"] = tuple(job["gpu_types"])
    job["profile"] = Profile(**job["profile"]) if job.get("profile") else None
    return JobSnapshot(**job)


def _decision_to_json(decision: Decision) -> dict[str, Any]:
    value: dict[str, Any] = {
        "kind": _KIND_OF[type(decision)],
        "job": decision.job,
        "explanations": [
            {"reason": e.reason.value, "facts": dict(e.facts), "sentence": e.sentence} for e in decision.explanations
        ],
        "prediction": asdict(decision.prediction),
    }
    if isinstance(decision, Launch | Resize):
        value["allocation"] = allocation_to_json(decision.allocation)
    return value


def _decision_from_json(value: Mapping[str, Any]) -> Decision:
    explanations = tuple(Explanation(Reason(e["reason"]), e["facts"]) for e in value["explanations"])
    prediction = Prediction(**value["prediction"])
    kind = _KINDS[value["kind"]]
    if kind is Launch or kind is Resize:
        return kind(value["job"], allocation_from_json(value["allocation"]), explanations, prediction)
    return kind(value["job"], explanations, prediction)  # type: ignore[arg-type]


def _finite(bps: float) -> float | None:
    return None if bps == float("inf") else bps


def _bandwidth(bps: float | None) -> float:
    return float("inf") if bps is None else bps


def _check_version(value: Mapping[str, Any], what: str) -> None:
    if value.get("version") != VERSION:
        raise ValueError(f"this {what} has version {value.get('version')!r}; this MLHub reads version {VERSION}")
