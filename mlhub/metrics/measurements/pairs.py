# SPDX-License-Identifier: Apache-2.0
"""How much slower an attempt trains while another gang uses the same resource, from the reports of its own pods."""

from __future__ import annotations

from django.db.models import F
from django.utils import timezone

from mlhub.jobs.models import Attempt
from mlhub.metrics.measurements.colocation import ColocatedAttempts
from mlhub.metrics.models import PairSample, SharedResource, SpeedSample

LEAST_STEPS = 10  # behind a mean that others are compared with
MEMORY_REPORTS = 200  # later reports count as much as earlier ones until here; then the mean follows
LAYOUT = ("mode", "n_workers", "n_servers", "n_nodes", "gpu_type", "batch_size")


def learn_pair(
    attempt: Attempt, sample: SpeedSample, colocation: ColocatedAttempts, *, step_s: float, n_steps: int
) -> None:
    """Takes one report into the pair with the only co-located attempt; or, alone, into what pairs are compared with.

    sample: the attempt's own means. step_s: the gang's, mean of n_steps steps.
    """
    if colocation.resource is not None and colocation.family:
        _add(attempt, sample, colocation, step_s=step_s, n_steps=n_steps)
    elif colocation.resource is None and sample.n_steps >= LEAST_STEPS:
        rows = PairSample.objects.filter(attempt=attempt)
        rows.update(alone_s=sample.step_s, slowdown=F("step_s") / sample.step_s)


def _add(attempt: Attempt, sample: SpeedSample, colocation: ColocatedAttempts, *, step_s: float, n_steps: int) -> None:
    resource = SharedResource(colocation.resource or "")
    row = PairSample.objects.filter(attempt=attempt, other_family=colocation.family, resource=resource).first()
    if row is None:
        row = PairSample(
            attempt=attempt,
            family=sample.family,
            other_family=colocation.family,
            resource=resource,
            gpu_type=sample.gpu_type,
            step_s=step_s,
            n_steps=0,
            n_reports=0,
        )
    n_old = min(row.n_reports, MEMORY_REPORTS)
    away = step_s - row.step_s
    row.step_s += away / (n_old + 1)
    row.variance = (row.variance * n_old + away * (step_s - row.step_s)) / (n_old + 1)
    row.n_steps, row.n_reports, row.at = row.n_steps + n_steps, row.n_reports + 1, timezone.now()
    row.alone_s = _alone_s(sample, resource) or row.alone_s
    row.slowdown = row.step_s / row.alone_s if row.alone_s else None
    row.save()


def _alone_s(sample: SpeedSample, resource: SharedResource) -> float | None:
    """The attempt's own step alone, else the newest one of its family on the same layout."""

    def is_baseline(one: SpeedSample) -> bool:
        return one.n_steps >= LEAST_STEPS and (resource is SharedResource.GPU or not one.is_shared)

    if is_baseline(sample):
        return sample.step_s
    layout = {name: getattr(sample, name) for name in LAYOUT}
    others = SpeedSample.objects.filter(family=sample.family, n_steps__gte=LEAST_STEPS, **layout)
    newest = next((one for one in others.order_by("is_shared", "-updated_at")[:3] if is_baseline(one)), None)
    return None if newest is None else newest.step_s
