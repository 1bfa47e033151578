"""What it costs all who are here to finish a job: the weights with which an elastic policy shares GPUs out.

Without arrivals, the plan with the least sum of completion times gives every job a constant price p and shares GPUs
out so that the sum of p · speed is greatest; that sum is at all times the number of jobs that are not done (the maximum
principle with free end: each job costs one second a second). From the last to end to the first, each price follows from
those before: the least p for which one more job raises the greatest sum by one. For speeds that are powers of the GPUs
this is heSRPT (Berg et al., 2020); here speeds are any curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MOST_JOBS = 192  # more are represented by so many of them
MOST_UNITS = 1024  # finer than so many parts the cluster is not cut


@dataclass(frozen=True)
class Curve:
    """A job's sizes in GPUs, ascending, and its remaining seconds at each."""

    sizes: Sequence[int]
    left_s: Sequence[float]


def prices(curves: Sequence[Curve], *, n_gpus: float) -> list[float]:
    """Seconds by which the job adds to the sum of completion times, for each curve; last to end first.

    n_gpus: what the jobs may share. Of many jobs every k-th is priced on a k-th of the GPUs, which comes to the same;
    the others' prices lie between, in proportion to their remaining time at the least size.
    """
    if not curves:
        return []
    every = max(1.0, len(curves) / MOST_JOBS)
    chosen = sorted({min(len(curves) - 1, int((i + 0.5) * every)) for i in range(min(len(curves), MOST_JOBS))})
    share = n_gpus * len(chosen) / len(curves)
    priced = _exact([curves[i] for i in chosen], n_gpus=max(share, 1.0))
    if len(chosen) == len(curves):
        return priced
    each_s = np.array([p / max(curves[i].left_s[0], 1e-9) for p, i in zip(priced, chosen, strict=True)])
    between = np.interp(np.arange(len(curves)), chosen, each_s)
    return [float(x) * max(curve.left_s[0], 1e-9) for x, curve in zip(between, curves, strict=True)]


def _exact(curves: Sequence[Curve], *, n_gpus: float) -> list[float]:
    """best_C: the greatest sum of p · speed over the jobs so far, with C units of GPUs."""
    useful = sum(max(curve.sizes) for curve in curves)
    unit = max(1.0, min(n_gpus, useful) / MOST_UNITS)
    n_units = max(1, round(min(n_gpus, useful) / unit))
    best_C = np.zeros(n_units + 1)
    found = []
    for curve in curves:
        steps = [(min(n_units, max(1, round(n / unit))), max(s, 1e-9)) for n, s in zip(*_columns(curve), strict=True)]
        p = min((1.0 + best_C[-1] - best_C[n_units - n]) * s for n, s in steps)
        found.append(float(p))
        with_it_C = best_C.copy()
        for n, s in steps:
            np.maximum(with_it_C[n:], p / s + best_C[: n_units + 1 - n], out=with_it_C[n:])
        best_C = with_it_C
    return found


def _columns(curve: Curve) -> tuple[Sequence[int], Sequence[float]]:
    return curve.sizes, curve.left_s


def prices_by_rank(curves: Sequence[Curve], *, n_gpus: float) -> list[float]:
    """As prices(), for jobs that have one size each: the same in the limit of many jobs that are small for the cluster.

    There the exact prices are a staircase with steps as wide as the cluster. Jobs on one step are worth the same, and
    a job that passes another moves the edges for all others: who runs would change all the time.
    """
    work_gpu_s = [curve.left_s[0] * curve.sizes[0] for curve in curves]
    return [max(work, 1e-9) * (0.5 + k / max(n_gpus, 1.0)) for k, work in enumerate(work_gpu_s)]
