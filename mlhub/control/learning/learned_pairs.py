# SPDX-License-Identifier: Apache-2.0
"""Which families of jobs slow each other, and by how much, read from what their attempts measured."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mlhub.metrics.measurements.pairs import LEAST_STEPS
from mlhub.metrics.models import PairSample
from scheduler.api.sharing_measurements import PairObservation, PairResource

LEAST_REPORTS = 3  # before a pair counts
LOOKED_AT = 4000  # the newest samples, of all families together
NEWEST = 10  # samples of a pair that count
GRAIN = 50  # speeds are rounded to 1 / GRAIN: a model is learnt anew when they change, and not at each report
FASTEST = 1.5  # relative to alone; measurements are noisy, but no job is so much faster with another one


@dataclass(frozen=True)
class Slowdown:
    """How many times longer a family's step takes with another family on the same resource.

    error: the standard error of the mean. n: attempts that measured it; n_steps: of all of them.
    """

    family: str
    other_family: str
    resource: PairResource
    gpu_type: str
    slowdown: float
    error: float
    n: int
    n_steps: int


def learned_slowdowns() -> list[Slowdown]:
    """Returns what was measured often enough, in the order in which it was first measured."""
    rows = PairSample.objects.filter(slowdown__gt=0, n_steps__gte=LEAST_STEPS, n_reports__gte=LEAST_REPORTS)
    groups: defaultdict[tuple[str, str, str, str], list[PairSample]] = defaultdict(list)
    for row in sorted(rows.order_by("-id")[:LOOKED_AT], key=lambda row: row.pk):
        groups[row.family, row.other_family, row.resource, row.gpu_type].append(row)
    return [_mean(group[-NEWEST:]) for group in groups.values()]


def learned_pairs() -> tuple[PairObservation, ...]:
    """Returns the pairs as the snapshot has them. A direction that was not measured yet is taken to be like the other:
    a job that never trained without another one has nothing to compare with."""
    found = {(s.family, s.other_family, s.resource, s.gpu_type): s for s in learned_slowdowns()}
    pairs = []
    for (family, other, resource, gpu_type), one in found.items():
        back = found.get((other, family, resource, gpu_type))
        if back is not None and family > other:
            continue  # it is there the other way round
        n = one.n if back is None else min(one.n, back.n)
        pairs.append(PairObservation(family, other, _norm(one), _norm(back or one), resource, gpu_type, n))
    return tuple(pairs)


def _mean(rows: Sequence[PairSample]) -> Slowdown:
    """Weighted by steps. The error has what reports of one attempt vary by, and what attempts differ by."""
    n_steps = sum(row.n_steps for row in rows)
    mean = sum((row.slowdown or 1.0) * row.n_steps for row in rows) / n_steps
    within = sum(row.variance / (row.alone_s or row.step_s) ** 2 / row.n_reports for row in rows) / len(rows) ** 2
    between = sum(((row.slowdown or 1.0) - mean) ** 2 for row in rows) / len(rows) ** 2
    newest = rows[-1]
    return Slowdown(
        newest.family,
        newest.other_family,
        PairResource(newest.resource),
        newest.gpu_type,
        mean,
        math.sqrt(within + between),
        len(rows),
        n_steps,
    )


def _norm(slowdown: Slowdown) -> float:
    return max(1 / GRAIN, min(FASTEST, round(GRAIN / slowdown.slowdown) / GRAIN))
