# SPDX-License-Identifier: Apache-2.0
"""Stored rounds of earlier versions can still be read, and every reason has a text that its facts fill."""

from __future__ import annotations

import json
import string

import pytest

from scheduler import Explanation, Reason, decide, plan_from_json, plan_to_json, policy_named
from scheduler.api.reasons import SENTENCES
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


@pytest.mark.parametrize("reason", ["quota_gpus", "user_quota_gpus"])
def test_a_record_from_before_sentences_named_who_can_raise_a_limit_is_read_and_shown(reason: str) -> None:
    case = cluster(gpus=1).running(job("a", gpus=1)).waiting(job("b", gpus=1))
    plan = decide(case.snapshot, policy=policy_named("fifo", {}), memory=case.memory)
    stored = json.loads(json.dumps(plan_to_json(plan)))
    facts = {"tenant": "vision", "user": "ada", "used": 2, "quota": 2, "need": 1, "scope": ""}
    stored["decisions"][1]["explanations"] = [{"reason": reason, "facts": facts}]
    (explanation,) = plan_from_json(stored).of("b").explanations
    assert "An admin of the organisation" in explanation.sentence


def test_one_gpu_that_shortens_the_average_has_a_verb_in_the_singular() -> None:
    sentence = Explanation(Reason.SHORTENS_AVERAGE, {"n_workers": 1}).sentence
    assert sentence == "Admitted: giving it 1 GPU shortens the average completion time the most."


def test_only_one_thing_is_in_the_singular() -> None:
    facts = {"n_workers": 2, "partners": "1 guaranteed jobs"}
    sentence = Explanation(Reason.COLOCATED_OPPORTUNISTIC, facts).sentence
    assert sentence == "It is co-located with 1 guaranteed job and uses what they leave of 2 GPUs."
    share = {"tenant": "vision", "part": 2.1, "weight": 1.0}
    assert "2.1 GPUs" in Explanation(Reason.FAIR_SHARE_REACHED, share).sentence
    share["part"] = 11
    assert "11 GPUs" in Explanation(Reason.FAIR_SHARE_REACHED, share).sentence


def test_one_other_job_waits() -> None:
    facts = {"study": "sweep", "tenant": "vision", "part": 1, "rivals": 1}
    sentence = Explanation(Reason.STUDY_SHARE_REACHED, facts).sentence
    assert sentence.endswith("as one in vision: 1 GPU is its part while 1 other job waits there.")


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_sentence(reason: Reason) -> None:
    facts = {name: 1 for _, name, _, _ in string.Formatter().parse(SENTENCES[reason]) if name}
    sentence = Explanation(reason, facts).sentence
    assert sentence.endswith(".")
    assert "{" not in sentence
