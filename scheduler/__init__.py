"""Decides who trains where: cluster and job snapshots in, a Plan out.

Pure: standard library, numpy, scipy and networkx only; no clock, no global random state, no disk but in commands/.
The live control loop and the simulator call the same decide().
"""

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
from scheduler.policies import POLICIES, Policy, parameters_of, policy_named
from scheduler.records import plan_from_json, plan_to_json, snapshot_from_json, snapshot_to_json
from scheduler.round import decide
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

__all__ = [
    "POLICIES",
    "Allocation",
    "ClusterSnapshot",
    "Decision",
    "Explanation",
    "JobSnapshot",
    "Keep",
    "Launch",
    "Mode",
    "Node",
    "PairObservation",
    "Phase",
    "Plan",
    "Policy",
    "PolicyMemory",
    "Prediction",
    "Preempt",
    "Profile",
    "Rack",
    "Reason",
    "Resize",
    "Share",
    "SpeedObservation",
    "TenantSnapshot",
    "Wait",
    "decide",
    "parameters_of",
    "plan_from_json",
    "plan_to_json",
    "policy_named",
    "snapshot_from_json",
    "snapshot_to_json",
]
