# SPDX-License-Identifier: Apache-2.0
"""What attempts measured of themselves, stored for the scheduler and for people: one row an attempt, one a shard."""

from __future__ import annotations

from dataclasses import replace

from django.utils import timezone

from mlhub.clusters.models import Node
from mlhub.jobs.families import family_of
from mlhub.jobs.models import Attempt
from mlhub.metrics.models import SpeedSample, Staleness
from mlhub.runtime.strategies.catalogue.schema import parse
from mlhub.wire.measurements import known
from mlhub.wire.report import ProgressReport, StalenessReport

PARTS = ("step_s", "compute_s", "sync_s", "input_s", "wait_s")
MEMORY_STEPS = 2000  # later steps count as much as earlier ones until here; then the mean follows


def as_gang(attempt: Attempt, report: ProgressReport) -> ProgressReport:
    """The report with the gang's times: seconds from one step of the whole gang to the next.

    Where workers go at their own pace, step_s is what one of them takes for its part of the work; n of them make n in
    that time. Of a step in k parts (soft-sync's group, the first k of n) each takes one.
    """
    strategy = parse(attempt.job.strategy)
    if strategy.declaration.is_lockstep or attempt.n_workers < 2:
        return report
    parts = int(strategy.parameters.get("group") or strategy.parameters.get("k") or 1)
    n_at_once = attempt.n_workers / parts
    return replace(report, **{part: getattr(report, part) / n_at_once for part in PARTS})


def learn(attempt: Attempt, report: ProgressReport) -> None:
    """Takes a progress report into the attempt's mean. The first interval warms up caches and counts for nothing."""
    n_new = report.steps_done - attempt.last_step
    if report.step_s <= 0 or n_new <= 0 or report.batch_size != attempt.job.batch_size:
        return  # the speed model's step is of the declared batch
    sample = SpeedSample.objects.filter(attempt=attempt).first()
    if sample is None:
        SpeedSample.objects.create(attempt=attempt, n_steps=0, updated_at=timezone.now(), **_shape(attempt, report))
        Attempt.objects.filter(pk=attempt.pk).update(measured_step_s=report.step_s)
        return
    n_old = min(sample.n_steps, MEMORY_STEPS)
    for part in PARTS:
        mean = (getattr(sample, part) * n_old + getattr(report, part) * n_new) / (n_old + n_new)
        setattr(sample, part, mean)
    sample.measured = {**sample.measured, **known(report.measured)}
    sample.n_steps += n_new
    sample.updated_at = timezone.now()
    sample.save()
    Attempt.objects.filter(pk=attempt.pk).update(measured_step_s=sample.step_s)


def keep_staleness(attempt: Attempt, report: StalenessReport, *, shard: int) -> None:
    """Counts are of the whole attempt, so the newest ones stand."""
    found = {"counts": report.counts, "n_discarded": report.n_discarded}
    Staleness.objects.update_or_create(attempt=attempt, shard=shard, defaults=found)


def _shape(attempt: Attempt, report: ProgressReport) -> dict[str, object]:
    nodes = {a.node for a in attempt.allocations.all() if a.slots}
    found = Node.objects.filter(name__in=nodes)
    return {
        "family": family_of(attempt.job),
        "mode": attempt.mode,
        "n_workers": attempt.n_workers,
        "n_servers": attempt.n_servers,
        "n_nodes": max(1, len(nodes)),
        "n_racks": max(1, len({n.rack_id for n in found})),
        "gpu_type": next((n.gpu_type for n in found), ""),
        "batch_size": attempt.job.batch_size,
        "measured": known(report.measured),
        **{name: getattr(report, name) for name in PARTS},
    }
