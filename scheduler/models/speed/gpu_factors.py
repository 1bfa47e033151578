# SPDX-License-Identifier: Apache-2.0
"""How long a pass takes on each GPU type relative to the others, learnt over families of jobs.

The seconds of a pass are taken to be a family's own, times a factor of the GPU type: a matrix of rank one, in
logarithms a sum of two effects (two-way additive model), fitted by least squares with the types' effects drawn to 0
(ridge). What a family has on one type then predicts it on a type that it never ran on, with an error: how far families
deviate from the common factors. A family that never ran has its dry run only, which was made on another processor: what
others took of their own dry runs' seconds on the cluster's GPUs is its level. Families are much alike in that, so that
two that ran on one type each tell these apart as well: effects of families with a dry run are random about that level
(a mixed model; Searle, Casella and McCulloch, Variance Components, 1992), those of others are free.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

import numpy as np

from scheduler.api.snapshot import JobSnapshot, SpeedObservation

DEFAULT_EXAMPLE_S = 0.002  # nothing known: a small network on a small GPU
_PRIOR_SPREAD = 0.8  # standard deviation of types' effects: half to double is usual, a tenth is possible
_PRIOR_RESIDUAL = 0.25  # of a family from the common factors, worth _WORTH observations
_DRY_RUN_SPREAD = 0.4  # of families' effects about the level; 0.15 to 0.3 on the testbed, whose kinds are five
_WORTH = 4.0
_RIDGE = (_PRIOR_RESIDUAL / _PRIOR_SPREAD) ** 2
_GRAIN = 0.05  # of logarithms: models are not fitted anew for less


@dataclass(frozen=True)
class GpuFactors:
    """Holds logarithms of the types' factors (0 if missing), and about how many families are behind each.

    residual: standard deviation of a family's logarithm from the common factors. level: logarithm of what passes take
    over those of the dry run, on the mean type.
    """

    log_factors: tuple[tuple[str, float], ...] = ()
    n_families: tuple[tuple[str, int], ...] = ()
    residual: float = _PRIOR_RESIDUAL
    level: float = 0.0
    _logs: Mapping[str, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_logs", dict(self.log_factors))

    def ratio(self, gpu_type: str, reference: str | None) -> float:
        """Returns the time of a pass on a type over that on the reference; None = the mean of all types."""
        if gpu_type == reference:
            return 1.0
        return math.exp(self._logs.get(gpu_type, 0.0) - (self._logs.get(reference, 0.0) if reference else 0.0))

    def of_dry_run(self, gpu_type: str) -> float:
        """Returns the time of a pass on a type over that of the dry run, for a family that never ran."""
        return math.exp(self.level) * self.ratio(gpu_type, None)

    def error(self, gpu_type: str) -> float:
        """Returns the relative error of a family on a type that it never ran on: one standard deviation."""
        n = dict(self.n_families).get(gpu_type, 0)
        return self.residual * math.sqrt(1 + 1 / n) if n else _PRIOR_SPREAD


NO_FACTORS = GpuFactors()
Levels = Mapping[str, float]  # by GPU type, the logarithm of a family's seconds over those of its preflight


def levels_of(job: JobSnapshot) -> Levels:
    """Returns the family's levels by GPU type, from the measurements that the job carries."""
    by_type: dict[str, list[float]] = {}
    for o in job.observations:
        if o.compute_s > 0 and o.n_workers > 0:
            by_type.setdefault(o.gpu_type, []).append(math.log(o.compute_s / _preflight_s(job, o)))
    return {gpu_type: median(logs) for gpu_type, logs in by_type.items()}


def _preflight_s(job: JobSnapshot, o: SpeedObservation) -> float:
    each_s = DEFAULT_EXAMPLE_S if job.example_s is None else job.example_s
    return max(job.step_overhead_s + each_s * o.batch_size / o.n_workers, 1e-7)


def learn_gpu_factors(families: Iterable[Levels], tried_out: Iterable[Levels] = ()) -> GpuFactors:
    """Returns the factors that fit best to the levels of several families.

    tried_out: those of the families that had a dry run. Others tell nothing of types unless they ran on several.
    """
    each, with_dry_run = list(families), list(tried_out)
    known = [levels for levels in each if len(levels) > 1]
    alone = [levels for levels in with_dry_run if len(levels) == 1] if each else []
    types = sorted({gpu_type for levels in (*known, *alone) for gpu_type in levels})
    if len(types) < 2:
        level = _common_level(with_dry_run, {})
        return GpuFactors(level=level) if level else NO_FACTORS
    of_dry_runs = [levels for levels in with_dry_run if levels]
    free = [levels for levels in known if not any(levels is one for one in of_dry_runs)]
    logs = _fitted(free, of_dry_runs, types)
    level = _common_level(with_dry_run, logs)
    squares, n_free = _WORTH * _PRIOR_RESIDUAL**2, _WORTH
    for levels in known:
        rest = [level - logs[t] for t, level in levels.items()]
        mean = fmean(rest)
        squares += sum([(each - mean) ** 2 for each in rest])
        n_free += len(rest) - 1
    counts = {t: sum(t in levels for levels in (*known, *alone)) for t in types}
    n_families = tuple((t, 1 << (n.bit_length() - 1)) for t, n in counts.items())
    rounded = tuple((t, _rounded(logs[t])) for t in types)
    return GpuFactors(rounded, n_families, _rounded(math.sqrt(squares / n_free)), level)


def _common_level(families: Iterable[Levels], logs: Mapping[str, float]) -> float:
    """The median family's, with the types' factors taken out. One family is enough: a dry run's processor may be as far
    from the cluster's GPUs as a small CPU, and that is more than families differ by."""
    own = [fmean([level - logs.get(t, 0.0) for t, level in levels.items()]) for levels in families if levels]
    return _rounded(median(own)) if own else 0.0


def _rounded(value: float) -> float:
    return round(value / _GRAIN) * _GRAIN


def _fitted(free: Sequence[Levels], random: Sequence[Levels], types: Sequence[str]) -> dict[str, float]:
    """The normal equations of the types' effects, and of the level of the families whose effects are random about it.

    free: families whose own effects are taken out whatever they are. Axes: F families, T types; the level follows them.
    """
    place, n_types = {gpu_type: i for i, gpu_type in enumerate(types)}, len(types)
    has_FT, log_FT = np.zeros((2, len(free) + len(random), n_types))
    for f, levels in enumerate((*free, *random)):
        for gpu_type, log in levels.items():
            has_FT[f, place[gpu_type]], log_FT[f, place[gpu_type]] = 1.0, log
    n_F, is_random_F = has_FT.sum(axis=1), np.arange(len(has_FT)) >= len(free)
    taken_out_F = 1 / (n_F + is_random_F * (_PRIOR_RESIDUAL / _DRY_RUN_SPREAD) ** 2)
    of_level_F = is_random_F * (1 - taken_out_F * n_F)
    log_F = log_FT.sum(axis=1)
    normal_XX, right_X = np.diag([_RIDGE] * n_types + [1e-9]), np.zeros(n_types + 1)
    normal_XX[:-1, :-1] += np.diag(has_FT.sum(axis=0)) - (has_FT.T * taken_out_F) @ has_FT
    normal_XX[:-1, -1] = normal_XX[-1, :-1] = of_level_F @ has_FT
    normal_XX[-1, -1] += of_level_F @ n_F
    right_X[:-1] = log_FT.sum(axis=0) - (taken_out_F * log_F) @ has_FT
    right_X[-1] = of_level_F @ log_F
    return dict(zip(types, np.linalg.solve(normal_XX, right_X)[:-1].tolist(), strict=True))
