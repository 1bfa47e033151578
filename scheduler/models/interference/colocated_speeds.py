"""How fast jobs run on the same GPUs, each relative to itself alone, as far as that can be said of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from scheduler.api.snapshot import JobSnapshot, PairObservation
from scheduler.models.interference.interleaving import CONTENTION, Stages, joint_step_s, stages_of
from scheduler.models.interference.job_features import JobTraits, MeasuredPair, PairSpeeds
from scheduler.models.interference.model import MIN_PAIRS, Interference

REFIT = 1.15  # the model is learnt anew when there are so many times as many pairs as before
CAUTION = 0.25  # standard deviations by which a predicted speed is taken to be lower, if nothing else is said
MOST_FORETOLD = 4096  # pairs of a model that are foretold at once


class ColocatedSpeeds:
    """Learnt from the pairs that ran together so far, in the order in which they did.

    A pair with a speed of 0 cannot be together: it counts as measured, and tells nothing of others.
    Where the stages of all are known they interleave. Of what was never profiled, and of more than two without stages,
    nothing is said, and nothing is to be shared.
    """

    def __init__(self, pairs: Sequence[PairObservation]) -> None:
        self._measured = {(p.family_a, p.family_b): (p.norm_a, p.norm_b) for p in pairs}
        self._measured |= {(p.family_b, p.family_a): (p.norm_b, p.norm_a) for p in pairs}
        fitting = tuple(p for p in pairs if min(p.norm_a, p.norm_b) > 0)
        self._model = _learnt(fitting[: _upto(len(fitting))])

    def norms(
        self, jobs: Sequence[JobSnapshot], *, alone_s: Sequence[float], sds: float = -CAUTION
    ) -> tuple[float, ...] | None:
        """Speeds in (0, 1] of these jobs together. alone_s: the step of each of them alone, on as many GPUs.

        sds: standard deviations by which a speed that is only predicted counts as higher.
        """
        if len(jobs) == 1:
            return (1.0,)
        if any(job.profile is None for job in jobs):
            return None
        families = tuple(job.family for job in jobs)
        if len(jobs) == 2 and families in self._measured:
            return self._measured[families[0], families[1]]
        stages: list[Stages] = [s for job in jobs if (s := stages_of(job)) is not None]
        if len(stages) == len(jobs):
            if len(jobs) > len(CONTENTION):
                return None
            together_s = joint_step_s(stages) * CONTENTION[len(jobs) - 1]
            return tuple(min(1.0, s / together_s) for s in alone_s)
        return _foretold(self._model, families[0], families[1], sds) if len(jobs) == 2 else None

    def is_measured(self, one: JobSnapshot, other: JobSnapshot) -> bool:
        return (one.family, other.family) in self._measured


def _upto(n: int) -> int:
    """How many of the first n pairs are learnt from: a ladder, so that few new pairs do not cost a new model."""
    if n < MIN_PAIRS:
        return 0
    step = MIN_PAIRS
    while (following := max(step + 1, int(step * REFIT))) <= n:
        step = following
    return step


@lru_cache(maxsize=1 << 14)
def _foretold(model: Interference, one: str, other: str, sds: float) -> tuple[float, float]:
    """The prior is the same for all and tells none from another: it is taken as it is."""
    speeds = _table(model)(one, other)
    if model.is_prior:
        return speeds.norm_a, speeds.norm_b
    both = (speeds.norm_a, speeds.sd_a), (speeds.norm_b, speeds.sd_b)
    first, second = (max(0.01, min(1.0, norm + sds * sd)) for norm, sd in both)
    return first, second


@lru_cache(maxsize=8)
def _table(model: Interference) -> Callable[[str, str], PairSpeeds]:
    """What it says of all that it knows, asked at once; of others one by one."""
    both = [(one, other) for one in model.names for other in model.names]
    known = dict(zip(both, model.predict_all(both), strict=True)) if len(both) <= MOST_FORETOLD else {}
    return lambda one, other: known.get((one, other)) or model.predict(one, other)


@lru_cache(maxsize=8)
def _learnt(pairs: tuple[PairObservation, ...]) -> Interference:
    return Interference([MeasuredPair(JobTraits(p.family_a), JobTraits(p.family_b), p.norm_a, p.norm_b) for p in pairs])
