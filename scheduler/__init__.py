# SPDX-License-Identifier: Apache-2.0
"""Decides who trains where: cluster and job snapshots in, a Plan out.

Pure: standard library, numpy, scipy and networkx only; no clock, no global random state, no disk but in commands/.
The live control loop and the simulator call the same decide().
"""

from scheduler.api.memory import RoundMemory
from scheduler.api.plan import (
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
from scheduler.api.records import plan_from_json, plan_to_json, snapshot_from_json, snapshot_to_json
from scheduler.api.sharing_measurements import PairObservation, PairResource, Profile
from scheduler.api.snapshot import (
    ClusterSnapshot,
    GangAllocation,
    JobSnapshot,
    Mode,
    NodeAllocation,
    Phase,
    SpeedObservation,
    TenantSnapshot,
)
from scheduler.api.topology import NodeSnapshot, RackSnapshot
from scheduler.policies import POLICIES, Policy, parameters_of, policy_named
from scheduler.round.cache import RoundCache
from scheduler.round.decide import decide

__all__ = [
    "POLICIES",
    "ClusterSnapshot",
    "Decision",
    "Explanation",
    "GangAllocation",
    "JobSnapshot",
    "Keep",
    "Launch",
    "Mode",
    "NodeAllocation",
    "NodeSnapshot",
    "PairObservation",
    "PairResource",
    "Phase",
    "Plan",
    "Policy",
    "Prediction",
    "Preempt",
    "Profile",
    "RackSnapshot",
    "Reason",
    "Resize",
    "RoundCache",
    "RoundMemory",
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
