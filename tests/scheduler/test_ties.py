# SPDX-License-Identifier: Apache-2.0
"""Identical jobs keep their places from round to round: who was first stays first."""

from __future__ import annotations

import pytest

from scheduler import POLICIES
from tests.scheduler.cases import cluster, job

NAMES = ("d", "b", "e", "a", "c")  # neither submission nor snapshot order is that of the ids
TAKES_TURNS = {"gandiva"}  # it preempts one identical job for another on purpose


@pytest.mark.parametrize("apart_s", [0.0, 1.0])
@pytest.mark.parametrize("policy", sorted(set(POLICIES) - TAKES_TURNS))
def test_identical_waiting_jobs_never_swap_places_between_rounds(policy: str, apart_s: float) -> None:
    """The two GPUs are busy throughout; the clock goes on, and every round gets the memory of the one before."""
    waiting = [job(name, gpus=2, length_s=2e6, at=1.0 + apart_s * i) for i, name in enumerate(NAMES)]
    case = cluster(nodes=1, gpus=2).running(job("busy", gpus=2, length_s=1e6)).waiting(*waiting)
    orders, starts = [], []
    for _ in range(6):
        plan = case.decide(policy)
        orders.append([job_id for job_id in plan.order if job_id in NAMES])
        starts.append(sorted(NAMES, key=lambda name: (plan.of(name).prediction.start_p50_s or 0.0, name)))
        case = case.after(plan, seconds=7.0)
    assert sorted(orders[0]) == sorted(NAMES)
    assert orders == [orders[0]] * 6
    assert starts == [starts[0]] * 6
    if apart_s:
        assert orders[0] == list(NAMES)
