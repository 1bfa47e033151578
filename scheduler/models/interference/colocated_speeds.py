# SPDX-License-Identifier: Apache-2.0
"""How fast jobs run on the same GPUs, each relative to itself alone, as far as it can be predicted."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.api.sharing_measurements import PairObservation, PairResource
from scheduler.api.snapshot import JobSnapshot
from scheduler.models.interference.interference_cache import InterferenceCache
from scheduler.models.interference.interleaving import CONTENTION, Stages, joint_step_s, stages_of
from scheduler.models.interference.model import MIN_PAIRS

REFIT = 1.15  # the model is learnt anew when there are so many times as many pairs as before
CAUTION = 0.25  # standard deviations by which a predicted speed is taken to be lower, by default


class ColocatedSpeeds:
    """Predicts the speeds of co-located jobs, from the pairs that ran together so far.

    A pair with a speed of 0 cannot be together: it counts as measured, and the model does not learn from it.
    Where the stages of all are known they interleave. Jobs that were never profiled, and more than two jobs without
    stages, have no prediction and are not co-located.
    """

    def __init__(self, pairs: Sequence[PairObservation], *, cache: InterferenceCache | None = None) -> None:
        on_gpus = [p for p in pairs if p.resource is PairResource.GPU]
        self._measured = {(p.family_a, p.family_b): (p.norm_a, p.norm_b) for p in on_gpus}
        self._measured |= {(p.family_b, p.family_a): (p.norm_b, p.norm_a) for p in on_gpus}
        fitting = tuple(p for p in on_gpus if min(p.norm_a, p.norm_b) > 0)
        self._predictions = (cache or InterferenceCache()).predictions(fitting[: _upto(len(fitting))])

    def norms(
        self, jobs: Sequence[JobSnapshot], *, alone_s: Sequence[float], sds: float = -CAUTION
    ) -> tuple[float, ...] | None:
        """Returns the speeds, in (0, 1], of these jobs together; None where they may not be.

        alone_s: the step of each of them alone, on as many GPUs.

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
        return self._predictions.norms(families[0], families[1], sds) if len(jobs) == 2 else None

    def is_measured(self, one: JobSnapshot, other: JobSnapshot) -> bool:
        """Returns whether jobs of these families ran together."""
        return (one.family, other.family) in self._measured


def _upto(n: int) -> int:
    """How many of the first n pairs are learnt from: a ladder, so that few new pairs do not cost a new model."""
    if n < MIN_PAIRS:
        return 0
    step = MIN_PAIRS
    while (following := max(step + 1, int(step * REFIT))) <= n:
        step = following
    return step
