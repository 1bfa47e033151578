# SPDX-License-Identifier: Apache-2.0
"""What a policy does wrong is reported with its name, before any job is placed by its answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from scheduler import decide
from scheduler.api.proposal import Grant, Proposal
from scheduler.policies import View
from scheduler.quota.budget import Budget
from scheduler.round.policy_answer import PolicyError
from tests.scheduler.cases import cluster, job

Answer = Callable[[View, Budget], Any]


@dataclass(frozen=True)
class Scripted:
    """A policy that answers as the test says."""

    answer: Answer
    name: str = "scripted"

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Any:
        return self.answer(view, budget)


def granting(*grants: tuple[str, Any], gpu_type: str | None = None) -> Answer:
    """Reserves one GPU for every job, and then grants these, of that type or of the one that was reserved."""

    def answer(view: View, budget: Budget) -> Proposal:
        for each in view.jobs:
            assert budget.reserve(each, 1)
        own_type = gpu_type or budget.gpu_type(view.jobs[0])
        return Proposal(tuple(Grant(job_id, n, own_type, ()) for job_id, n in grants), ())

    return answer


def fail(view: View, _: Budget) -> Proposal:
    raise KeyError(view.jobs[0].id)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (fail, "failed in test_policy_answer.py, line"),
        (lambda *_: None, "returned NoneType; propose() must return a Proposal"),
        (lambda *_: Proposal((), (), memory=[]), "has a memory of type list; it must be a dict of JSON values"),
        (lambda *_: Proposal((), (), wake_at_s=float("nan")), "has wake_at_s nan; it must be a finite number, or None"),
        (granting(("z", 1)), "grants GPUs to 'z', which is none of view.jobs"),
        (granting(("a", 1), ("a", 1)), "grants GPUs to job 'a' twice; give each job one grant"),
        (granting(("a", 0)), "grants 0 workers to job 'a'; it must be a whole number of at least 1"),
        (granting(("a", 1.5)), "grants 1.5 workers to job 'a'; it must be a whole number of at least 1"),
        (granting(("a", 2)), "grants 2 workers to job 'a' and reserved 1; call budget.reserve() before"),
        (granting(("a", 1), gpu_type="tpu"), "grants GPUs of type 'tpu' to job 'a' and reserved"),
    ],
)
def test_an_answer_that_cannot_be_carried_out_names_the_policy(answer: Answer, problem: str) -> None:
    case = cluster(nodes=1, gpus=4).waiting(job("a", gpus=1), job("b", gpus=1))
    with pytest.raises(PolicyError, match="^" + re.escape(f"policy 'scripted' {problem}")):
        decide(case.snapshot, policy=Scripted(answer), memory=case.memory)


def test_what_was_reserved_is_launched() -> None:
    case = cluster(nodes=1, gpus=4).waiting(job("a", gpus=1), job("b", gpus=1))
    plan = decide(case.snapshot, policy=Scripted(granting(("b", 1))), memory=case.memory)
    assert [type(decision).__name__ for decision in plan.decisions] == ["Wait", "Launch"]
