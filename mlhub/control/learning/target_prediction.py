# SPDX-License-Identifier: Apache-2.0
"""When jobs that end at a target are expected to reach it: from the curve that they reported so far."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from uuid import UUID

from mlhub.backends.protocol import ItemKind
from mlhub.control.fault_isolation.isolation import FaultIsolation
from mlhub.jobs.models import Job
from mlhub.metrics.points.curves import curves
from mlhub.wire.report import is_better_when_low
from scheduler.models.convergence import reaching

MAX_POINTS = 200


def expected_steps(jobs: Iterable[Job], *, isolation: FaultIsolation | None = None) -> dict[UUID, int]:
    """Of the whole training, by job; jobs whose curve does not say yet, or that end at no target, are absent.

    A target is looked at after each epoch, so training ends with the epoch in which it is reached.
    """
    isolation = FaultIsolation() if isolation is None else isolation
    found = {}
    for job in jobs:
        steps = isolation.attempt(partial(_expected, job), kind=ItemKind.JOB, name=str(job.id), default=None)
        if steps is not None:
            found[job.id] = steps
    return found


def _expected(job: Job) -> int | None:
    if not job.hyperparameters.get("stop_at_target") or job.target_value is None or not job.steps_total:
        return None
    series = curves(job.id, key=job.target_metric, max_points=MAX_POINTS)
    points = [(float(p.step), p.value) for _, curve in series for p in curve]
    falls = is_better_when_low(job.target_metric)
    reached = reaching(points, target=job.target_value, falls=falls)
    if reached is None:
        return None
    steps_per_epoch = max(1, job.steps_total // max(1, job.epochs))
    steps = math.ceil(min(reached.step, job.steps_total) / steps_per_epoch) * steps_per_epoch
    return max(1, min(steps, job.steps_total))
