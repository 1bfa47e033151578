# SPDX-License-Identifier: Apache-2.0
"""The dashboard explains every policy, each of its parameters and each cause of waiting in words."""

from __future__ import annotations

import re
from pathlib import Path

from scheduler.api.reasons import Reason
from scheduler.policies.registry import POLICIES, parameters_of

PAGES = Path(__file__).parents[2] / "frontend" / "src" / "features" / "scheduler"
WORDS = PAGES / "policyWords.ts"
SPREAD = "...SERVICE,"  # of those that several policies have


def blocks(text: str, start: str) -> dict[str, str]:
    """By policy, what the table that begins so says of it; an entry may name a table in its place."""
    table = text.split(start, 1)[1].split("\n};", 1)[0]
    parts = re.split(r"^  (\w+): ", table, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_policy_and_parameter_has_words() -> None:
    text = WORDS.read_text()
    service = text.split("const SERVICE", 1)[1].split("\n};", 1)[0]
    policies = blocks(text, "export const POLICIES")
    assert sorted(policies) == sorted(POLICIES)
    parameters = blocks(text, "export const PARAMETERS")
    missing = []
    for name in POLICIES:
        said = parameters.get(name, "").replace(SPREAD, service)
        said = service if said.strip() == "SERVICE," else said
        missing += [
            f"{name}: {one}" for one in parameters_of(name) if not re.search(rf"\b{one}: (\{{ label|[A-Z_]+\b)", said)
        ]
    assert missing == []


def test_every_cause_of_waiting_has_words() -> None:
    reasons = list(Reason)
    causes = set(reasons[: reasons.index(Reason.FITS)])  # which come first
    named = set(re.findall(r"^  (\w+): t`", (PAGES / "waitCauses.ts").read_text(), flags=re.MULTILINE))
    assert causes - named == set()
    assert named <= set(reasons)
