# SPDX-License-Identifier: Apache-2.0
"""Every policy decides as it was recorded, in the environments that need no outside data."""

from __future__ import annotations

import json

import pytest

from scheduler import POLICIES
from tests.scheduler.golden_plans import CASES, FILE, golden_plans

RECORDED = json.loads(FILE.read_text())


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_policy_decides_as_recorded(policy: str) -> None:
    cases = [case for case in CASES if case.endswith(f"/{policy}")]
    assert golden_plans(cases) == {case: RECORDED[case] for case in cases}


def test_what_is_recorded_is_what_is_tested() -> None:
    assert sorted(RECORDED) == CASES


def test_different_policies_decide_differently() -> None:
    """If the hash did not see what is decided, all would be alike."""
    assert len({RECORDED[f"counting/{policy}"] for policy in ("fifo", "srtf", "fair", "mlhub", "las")}) == 5
