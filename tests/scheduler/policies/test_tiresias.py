# SPDX-License-Identifier: Apache-2.0
"""Tiresias' two rules, worked out by hand."""

from __future__ import annotations

import pytest

from scheduler.policies.tiresias import gittins_index
from tests.scheduler.cases import cluster, job, kinds

SHORT_OR_LONG = (100.0,) * 20 + (10_000.0,) * 20


def test_the_index_is_the_chance_to_end_by_what_the_stretch_costs() -> None:
    """Half end after 100: a stretch of 1000 costs 20 x 100 + 20 x 1000. Beyond 100 none ends before 10,000."""
    assert gittins_index(SHORT_OR_LONG, 0.0, stretch=1000.0) == pytest.approx(20 / 22_000)
    assert gittins_index(SHORT_OR_LONG, 100.0, stretch=1000.0) == 0.0
    assert gittins_index(SHORT_OR_LONG, 9_500.0, stretch=1000.0) == pytest.approx(20 / 10_000)
    assert gittins_index(SHORT_OR_LONG, 20_000.0, stretch=1000.0) == 0.0


@pytest.mark.parametrize(("rule", "kept"), [("las", "Keep"), ("gittins", "Preempt")])
def test_gittins_prefers_who_may_end_soon_and_las_who_is_served(rule: str, kept: str) -> None:
    """Both in the first queue: a, long past the short ones, runs; b may be a short one."""
    old = job("a", gpus=1, executed_gpu_s=3000.0)
    case = cluster(gpus=1).running(old).waiting(job("b", gpus=1, at=10))
    plan = case.decide("tiresias", rule=rule, samples=SHORT_OR_LONG if rule == "gittins" else ())
    assert kinds(plan)["a"] == kept


def test_without_samples_gittins_is_las_until_jobs_have_ended() -> None:
    case = cluster(gpus=1).running(job("a", gpus=1, executed_gpu_s=3000.0)).waiting(job("b", gpus=1, at=10))
    assert kinds(case.decide("tiresias", rule="gittins"))["a"] == "Keep"


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="rule 'best' of policy 'tiresias' is unknown; known: las, gittins"):
        cluster().waiting(job("a", gpus=1)).decide("tiresias", rule="best")
