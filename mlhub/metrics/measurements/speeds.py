# SPDX-License-Identifier: Apache-2.0
"""What attempts measured of themselves, stored for the scheduler and for people: one row an attempt, one a shard."""

from __future__ import annotations

from dataclasses import replace

from django.utils import timezone

from mlhub.clusters.models import Node
from mlhub.jobs.execution.families import family_of
from mlhub.jobs.models import Attempt
from mlhub.metrics.measurements.batch_sizes import PARTS, keep_noise_scale, learn_other_batch, may_use_batch
from mlhub.metrics.measurements.colocation import colocation_of
from mlhub.metrics.measurements.links import observe_links
from mlhub.metrics.measurements.pairs import learn_pair
from mlhub.metrics.measurements.plausibility import record_refused, sound_measurements
from mlhub.metrics.models import SharedResource, SpeedSample, Staleness
from mlhub.runtime.strategies.catalogue.schema import parse
from mlhub.wire.report import ProgressReport, StalenessReport

MEMORY_STEPS = 2000  # later steps count as much as earlier ones until here; then the mean follows
OF_THE_GPU = ("gpu_utilisation", "gpu_memory_bytes", "memory_bandwidth")


def as_gang(attempt: Attempt, report: ProgressReport) -> ProgressReport:
    """The report with the gang's times: seconds from one step of the whole gang to the next.

    Where workers go at their own pace, step_s is what one of them takes for its part of the work; n of them make n in
    that time. Of a step in k parts (soft-sync's group, the first k of n) each takes one.
    """
    n_at_once = steps_at_once(attempt)
    return report if n_at_once == 1 else replace(report, **{part: getattr(report, part) / n_at_once for part in PARTS})


def steps_at_once(attempt: Attempt) -> float:
    """How many steps of the gang are made in the time of one worker's: 1 in lockstep."""
    strategy = parse(attempt.job.strategy)
    if strategy.declaration.is_lockstep or attempt.n_workers < 2:
        return 1.0
    parts = int(strategy.parameters.get("group") or strategy.parameters.get("k") or 1)
    return attempt.n_workers / parts


def learn(attempt: Attempt, report: ProgressReport) -> set[str]:
    """Takes a progress report into the attempt's means. The first interval warms up caches and counts for nothing.
    Returns the fields that cannot be true: they are recorded, and nothing is learnt from them.

    Steps on GPUs that another job holds, too, count for the pair alone. Steps with other gangs on the same nodes or
    links count as long as the attempt was never without; what it measures alone takes their place. An interval in
    which others came or left counts for nothing.
    """
    measured, refused = sound_measurements(attempt, report)
    record_refused(attempt, refused)
    is_sound = not any(problem.spoils_times for problem in refused)
    if (
        is_sound
        and may_use_batch(attempt.job, report.batch_size)
        and report.steps_done > attempt.last_step
        and report.step_s > 0
    ):
        _learn_times(attempt, replace(report, measured=measured), measured)
    return {problem.field for problem in refused}


def _learn_times(attempt: Attempt, report: ProgressReport, measured: dict[str, float]) -> None:
    n_new = report.steps_done - attempt.last_step
    sample = SpeedSample.objects.filter(attempt=attempt).first()
    colocation = colocation_of(attempt)
    on_shared_gpus = colocation.resource is SharedResource.GPU
    if on_shared_gpus:  # whose counters show what all of its jobs do
        measured = {name: value for name, value in measured.items() if name not in OF_THE_GPU}
    if sample is None:
        SpeedSample.objects.create(
            attempt=attempt,
            n_steps=0,
            updated_at=timezone.now(),
            colocated_with=colocation.key,
            **_shape(attempt, report, measured),
        )
        Attempt.objects.filter(pk=attempt.pk).update(measured_step_s=report.step_s)
        return
    if report.batch_size != sample.batch_size:
        is_alone = colocation.resource is None and sample.colocated_with == colocation.key
        learn_other_batch(sample, report, n_new, measured=measured, is_alone=is_alone)
        sample.colocated_with, sample.updated_at = colocation.key, timezone.now()
        sample.save()
        return
    is_mixed, sample.colocated_with = sample.colocated_with != colocation.key, colocation.key
    _keep_measured(sample, measured, step=report.steps_done)
    if not is_mixed:
        if on_shared_gpus:
            sample.n_colocated_steps += n_new
        else:
            _add(sample, report, n_new, is_shared=colocation.resource is not None)
        observe_links(attempt, report)
        learn_pair(attempt, sample, colocation, step_s=report.step_s, n_steps=n_new)
    sample.updated_at = timezone.now()
    sample.save()
    step_s = report.step_s if on_shared_gpus else sample.step_s
    Attempt.objects.filter(pk=attempt.pk).update(measured_step_s=step_s)


def _add(sample: SpeedSample, report: ProgressReport, n_new: int, *, is_shared: bool) -> None:
    """Takes the steps into the means: those measured alone before all others."""
    if is_shared and sample.n_steps and not sample.is_shared:
        return
    n_old = 0 if sample.is_shared and not is_shared else min(sample.n_steps, MEMORY_STEPS)
    sample.n_steps = n_new if n_old == 0 else sample.n_steps + n_new
    sample.is_shared = is_shared
    for part in PARTS:
        mean = (getattr(sample, part) * n_old + getattr(report, part) * n_new) / (n_old + n_new)
        setattr(sample, part, mean)


def _keep_measured(sample: SpeedSample, measured: dict[str, float], *, step: int) -> None:
    """The newest values; of a GPU's memory the largest, of the noise scale its course, too."""
    before = sample.measured.get("gpu_memory_bytes", 0)
    sample.measured = {**sample.measured, **measured}
    if "gpu_memory_bytes" in measured:
        sample.measured["gpu_memory_bytes"] = max(before, measured["gpu_memory_bytes"])
    keep_noise_scale(sample, measured, step=step)


def keep_staleness(attempt: Attempt, report: StalenessReport, *, shard: int) -> None:
    """Counts are of the whole attempt, so the newest ones stand."""
    found = {"counts": report.counts, "n_discarded": report.n_discarded}
    Staleness.objects.update_or_create(attempt=attempt, shard=shard, defaults=found)


def _shape(attempt: Attempt, report: ProgressReport, measured: dict[str, float]) -> dict[str, object]:
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
        "batch_size": report.batch_size,
        "measured": measured,
        **{name: getattr(report, name) for name in PARTS},
    }
