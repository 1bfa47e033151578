# SPDX-License-Identifier: Apache-2.0
"""What a round answers: one decision for every job, each with its reasons; the Plan holds them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scheduler.api.memory import RoundMemory
from scheduler.api.reasons import SENTENCES, filled_in
from scheduler.api.reasons import Reason as Reason
from scheduler.api.snapshot import GangAllocation


@dataclass(frozen=True)
class Explanation:
    """Holds a reason with its numbers; sentence is the text for people."""

    reason: Reason
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """Returns the text for people, with the numbers filled in."""
        return filled_in(SENTENCES[self.reason], self.facts)


class Prediction(NamedTuple):
    """Holds when a job is predicted to start and end, in seconds on the snapshot's clock; None means not known yet."""

    start_p50_s: float | None = None
    start_p90_s: float | None = None
    finish_p50_s: float | None = None
    finish_p90_s: float | None = None
    step_s: float | None = None  # predicted step time on the decided allocation


NO_PREDICTION = Prediction()


@dataclass(frozen=True)
class Launch:
    """Starts a waiting job on this allocation."""

    job: str
    allocation: GangAllocation
    explanations: tuple[Explanation, ...]
    prediction: Prediction = NO_PREDICTION


@dataclass(frozen=True)
class Resize:
    """Restarts a running job from its checkpoint with another mode, size or place.

    Its own GPUs count as free for it.
    """

    job: str
    allocation: GangAllocation
    explanations: tuple[Explanation, ...]
    prediction: Prediction = NO_PREDICTION


@dataclass(frozen=True)
class Preempt:
    """Takes a running job's GPUs back; the job waits again."""

    job: str
    explanations: tuple[Explanation, ...]
    prediction: Prediction = NO_PREDICTION


@dataclass(frozen=True)
class Keep:
    """Leaves a job that holds an allocation as it is."""

    job: str
    explanations: tuple[Explanation, ...]
    prediction: Prediction = NO_PREDICTION


@dataclass(frozen=True)
class Wait:
    """Leaves a waiting job waiting; explanations say why, the most binding reason first."""

    job: str
    explanations: tuple[Explanation, ...]
    prediction: Prediction = NO_PREDICTION


Decision = Launch | Resize | Preempt | Keep | Wait


def with_prediction(decision: Decision, prediction: Prediction, *, why: Explanation | None = None) -> Decision:
    """Returns the same decision with this prediction, and with one more explanation, if one is given:
    dataclasses.replace(), in a third of the time.
    """
    explanations = decision.explanations if why is None else (*decision.explanations, why)
    if isinstance(decision, Launch | Resize):
        return type(decision)(decision.job, decision.allocation, explanations, prediction)
    return type(decision)(decision.job, explanations, prediction)


@dataclass(frozen=True)
class BatchChoice:
    """Holds the global batch that a job trains with from its next epoch or checkpoint on.

    noise_scale: of the gradient, in examples, by which it was chosen and the learning rate is scaled; None = not known.
    """

    batch_size: int
    noise_scale: float | None = None


@dataclass(frozen=True)
class Plan:
    """Holds a decision for every job of the snapshot, in the snapshot's order, and the memory for the next round.

    wake_at_s: when the policy wants to decide again although nothing else happens; None = it does not mind.
    order: all jobs that the policy decided on, the one that gets the next GPUs first.
    batches: of jobs whose user allows a range, where they start or train on.
    """

    decisions: tuple[Decision, ...]
    memory: RoundMemory
    policy: str
    wake_at_s: float | None = None
    order: tuple[str, ...] = ()
    batches: Mapping[str, BatchChoice] = field(default_factory=dict)

    def of(self, job: str) -> Decision:
        """Returns the job's decision. Raises KeyError for a job that was not in the snapshot."""
        for decision in self.decisions:
            if decision.job == job:
                return decision
        raise KeyError(job)
