# SPDX-License-Identifier: Apache-2.0
"""Explaining is an extra: what is decided does not depend on it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import POLICIES, RoundMemory, decide, policy_named
from scheduler.api.plan import Launch, Resize
from scheduler.simulator.busy_cluster.cluster import BusyCluster


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_the_same_is_decided_without_explanations(policy: str) -> None:
    cluster, memory = BusyCluster(n_gpus=32, n_jobs=14), RoundMemory()
    for _ in range(5):
        snapshot = cluster.snapshot()
        plan = decide(snapshot, policy=policy_named(policy, {}), memory=memory)
        terse = decide(snapshot, policy=policy_named(policy, {}), memory=memory, explain=False)
        assert [_core(decision) for decision in terse.decisions] == [_core(decision) for decision in plan.decisions]
        assert _without_forecasts(terse.memory) == _without_forecasts(plan.memory)
        memory = plan.memory
        cluster.carry_out(plan)
        cluster.advance(60.0)


def _core(decision):
    return type(decision), decision.job, decision.allocation if isinstance(decision, Launch | Resize) else None


def _without_forecasts(memory: RoundMemory):
    """Intervals learn from predictions, and there are none without explanations."""
    return replace(memory, prediction_intervals={}, start_intervals={}, arrival_effects={})
