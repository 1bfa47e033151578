# SPDX-License-Identifier: Apache-2.0
"""What a start, a resize, a move and a preemption cost: seconds in which a gang holds GPUs and does not train.

Three things are measured of every attempt: a start (launch to first step), a leave (asked to leave, to having left: the
checkpoint), and the loss (work done after the last checkpoint, done again after the next start). Of these,
    start = start,  preemption = leave + loss, and later a start,  resize = move = leave + loss + start.
The model: logarithms of seconds scatter by family and within a family (one-way random effects; e.g. Searle, Casella
and McCulloch, Variance Components, 1992). A family's estimate is its own median, drawn to that of all families by as
much as its few observations may mislead; families that never ran have that of all; before anything ran, a prior.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist, median

from scheduler.api.snapshot import JobSnapshot

NEWEST = 20  # observations of a family and a kind count; what they cost changes with code and images
FEWEST = 3  # of its own, below which a family's estimate counts as resting on few
OFFSET_S = 0.1  # added before logarithms: nothing was ever lost in most stops
PRIOR_S = {"start": 15.0, "leave": 2.0, "loss": 0.0}
_PRIOR_WITHIN, _PRIOR_BETWEEN = 0.3**2, 0.8**2  # variances of logarithms, each worth _WORTH observations
_WORTH = 4.0


class CostKind(StrEnum):
    """Names what was measured."""

    START = "start"
    LEAVE = "leave"
    LOSS = "loss"


class Basis(StrEnum):
    """Names what an estimate rests on."""

    UNSAVED = "unsaved"  # of a loss: work that is in no checkpoint yet, as the job has done it by now
    FAMILY = "family"
    FEW = "few"  # of the family's own
    OTHERS = "others"
    PRIOR = "prior"


@dataclass(frozen=True)
class CostObservation:
    """Holds the seconds that one attempt took, as its pods reported; newest first where order matters."""

    family: str
    kind: CostKind
    seconds: float


@dataclass(frozen=True)
class Estimate:
    """Predicts the seconds of the next one: their median, and the interval low_s to high_s that holds two of three.

    n: the number of the family's own observations.
    """

    seconds: float
    low_s: float
    high_s: float
    n: int
    basis: Basis

    @property
    def log_error(self) -> float:
        """Returns the standard deviation of the logarithm of the seconds; 0 where they are 0."""
        return math.log(self.high_s / self.seconds) if self.seconds > 0.0 else 0.0

    @property
    def error_s(self) -> float:
        """Returns half of the interval that holds two of three, in seconds."""
        return (self.high_s - self.low_s) / 2

    @property
    def short(self) -> str:
        """Returns the estimate in one line, such as "31 s ± 4 s (7 observations)"; without ± where it is known."""
        digits = 0 if self.seconds >= 10 else 1
        spread = f" ± {self.error_s:.{digits}f} s" if self.error_s else ""
        seen = f"{self.n} observation{'' if self.n == 1 else 's'}"
        rests_on = {
            Basis.UNSAVED: "in no checkpoint yet",
            Basis.FAMILY: seen,
            Basis.FEW: f"{seen} and others'",
            Basis.OTHERS: "others'",
            Basis.PRIOR: "a guess",
        }
        return f"{self.seconds:.{digits}f} s{spread} ({rests_on[self.basis]})"

    @property
    def sentence(self) -> str:
        """Returns the estimate as a sentence that says what it rests on."""
        about = f"{self.seconds:.1f} s, mostly {self.low_s:.1f} to {self.high_s:.1f} s"
        words = {
            Basis.UNSAVED: f"{about}; what it trained that is in no checkpoint yet.",
            Basis.FAMILY: f"{about}; from {self.n} of its own.",
            Basis.FEW: f"{about}; too few of its own ({self.n}), so that others' count, too.",
            Basis.OTHERS: f"{about}; never measured of its family: as others'.",
            Basis.PRIOR: f"{about}; nothing was measured yet: a guess.",
        }
        return words[self.basis]


@dataclass(frozen=True)
class Costs:
    """Holds the estimated costs of one family."""

    start: Estimate
    leave: Estimate
    loss: Estimate

    @property
    def preempt_s(self) -> float:
        """Returns the seconds that a preemption costs: of leaving, and of work that is done again."""
        return self.leave.seconds + self.loss.seconds

    @property
    def resize_s(self) -> float:
        """Returns the seconds that a resize or a move costs."""
        return self.preempt_s + self.start.seconds

    @property
    def restart(self) -> Estimate:
        """Returns the estimate of leave, loss and start together, with independent errors and the weakest of their
        bases.

        Where nothing of its own was lost so far, or nothing left yet, n is 0, though starts were measured.
        """
        parts = (self.start, self.leave, self.loss)
        seconds = self.resize_s
        error_s = math.hypot(*(part.error_s for part in parts))
        weakest = max(parts, key=lambda part: list(Basis).index(part.basis))
        low_s = max(0.0, seconds - error_s)
        return Estimate(seconds, low_s, low_s + 2 * error_s, min(part.n for part in parts), weakest.basis)


def known_loss(seconds: float) -> Estimate:
    """Returns the loss of a job that would lose these seconds of work if it were stopped now."""
    return Estimate(seconds, seconds, seconds, 0, Basis.UNSAVED)


class CostModel:
    """Estimates what starting, leaving and losing work costs the jobs of each family, in seconds.

    observations: newest first; of each family and kind the NEWEST count. Source: shrinkage of means in logarithms, with
    the spread between families as the prior's variance.
    """

    def __init__(self, observations: Collection[CostObservation]) -> None:
        self._kinds = {kind: _Kind(kind, [o for o in observations if o.kind is kind]) for kind in CostKind}

    def of(self, family: str) -> Costs:
        """Returns the estimated costs of the family; of one without observations those of all families."""
        start, leave, loss = (self._kinds[kind].of(family) for kind in (CostKind.START, CostKind.LEAVE, CostKind.LOSS))
        return Costs(start, leave, loss)


class _Kind:
    """One kind of cost. _logs: by family; mean, between, within: of all families' logarithms."""

    def __init__(self, kind: CostKind, observations: Collection[CostObservation]) -> None:
        self._logs: dict[str, list[float]] = {}
        for each in observations:
            mine = self._logs.setdefault(each.family, [])
            if len(mine) < NEWEST:
                mine.append(math.log(max(0.0, each.seconds) + OFFSET_S))
        own = {family: median(logs) for family, logs in self._logs.items()}
        prior = math.log(PRIOR_S[kind] + OFFSET_S)
        self._mean = median(own.values()) if own else prior
        self._within = _variance(_PRIOR_WITHIN, self._logs, own)
        between = _WORTH * _PRIOR_BETWEEN + sum((m - self._mean) ** 2 for m in own.values())
        self._between = between / (_WORTH + max(0, len(own) - 1))
        self._own = own

    def of(self, family: str) -> Estimate:
        n = len(self._logs.get(family, ()))
        weight = n * self._between / (n * self._between + self._within)
        at = weight * self._own.get(family, self._mean) + (1 - weight) * self._mean
        spread = math.sqrt((1 - weight) * self._between + self._within)
        low_s, seconds, high_s = (max(0.0, math.exp(at + k * spread) - OFFSET_S) for k in (-1, 0, 1))
        basis = Basis.FAMILY if n >= FEWEST else Basis.FEW if n else Basis.OTHERS if self._own else Basis.PRIOR
        return Estimate(seconds, low_s, high_s, n, basis)


def _variance(prior: float, logs: Mapping[str, list[float]], centres: Mapping[str, float]) -> float:
    """Pooled within families, held by the prior."""
    squares = sum((log - centres[family]) ** 2 for family, each in logs.items() for log in each)
    freedom = sum(len(each) - 1 for each in logs.values())
    return (_WORTH * prior + squares) / (_WORTH + freedom)


def start_left_s(job: JobSnapshot, *, elapsed_s: float) -> float:
    """Returns the seconds until the first step that a start, which has taken so long, still takes in the median.

    Starts are log-normal, with the median start_s: one that takes longer than most is not about to end at once.
    """
    if job.start_s <= 0.0:
        return 0.0
    if elapsed_s <= 0.0 or job.start_error <= 0.0:
        return max(0.0, job.start_s - max(0.0, elapsed_s))
    normal = NormalDist(math.log(job.start_s), job.start_error)
    passed = min(normal.cdf(math.log(elapsed_s)), 0.999)
    return max(0.0, math.exp(normal.inv_cdf((1 + passed) / 2)) - elapsed_s)


def start_cost_s(job: JobSnapshot) -> float:
    """Returns the expected seconds from launch to the first step."""
    return max(0.0, job.start_s)


def restart_cost_s(job: JobSnapshot) -> float:
    """Returns the seconds to save and leave, to start again and to repeat lost work: the cost of a resize, and in the
    end of a preemption.
    """
    checkpoint_s, lost_s, start_s = job.checkpoint_s, job.lost_s, job.start_s
    cost_s = checkpoint_s if checkpoint_s > 0.0 else 0.0
    if lost_s > 0.0:
        cost_s += lost_s
    return cost_s + start_s if start_s > 0.0 else cost_s
