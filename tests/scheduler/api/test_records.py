# SPDX-License-Identifier: Apache-2.0
"""Stored rounds of earlier versions can still be read, and every reason has a text that its facts fill."""

from __future__ import annotations

import json
import string

import pytest

from scheduler import Explanation, Reason, decide, plan_from_json, plan_to_json, policy_named
from scheduler.api.plan import SENTENCES
from tests.scheduler.cases import cluster, job


def test_a_plan_with_the_reason_codes_of_the_version_before_is_read() -> None:
    case = cluster(gpus=1).running(job("a", gpus=1)).waiting(job("b", gpus=1))
    plan = decide(case.snapshot, policy=policy_named("fifo", {}), memory=case.memory)
    stored = json.loads(json.dumps(plan_to_json(plan)))
    stored["version"] = 2
    stored["decisions"][1]["explanations"] = [{"reason": "waits_for_preemption", "facts": {"need": 1, "leaving": 1}}]
    stored["memory"] = {"policy": "fifo", "values": {}, "resizing": {}}
    (explanation,) = plan_from_json(stored).of("b").explanations
    assert explanation.reason is Reason.WAITS_FOR_PREEMPTION
    assert explanation.sentence == "Pending: 1 GPU is reserved for it; preemption of 1 job is under way."


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_sentence(reason: Reason) -> None:
    facts = {name: 1 for _, name, _, _ in string.Formatter().parse(SENTENCES[reason]) if name}
    sentence = Explanation(reason, facts).sentence
    assert sentence.endswith(".")
    assert "{" not in sentence
