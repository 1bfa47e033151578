# SPDX-License-Identifier: Apache-2.0
"""Measurements that cannot be true: a pod is not trusted, and a clock may jump. They are recorded, and not learnt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F, Max, Min
from django.utils import timezone

from mlhub.clusters.models import Node
from mlhub.jobs.models import Attempt
from mlhub.metrics.models import RefusedMeasurement
from mlhub.wire.measurements import known
from mlhub.wire.report import CheckpointReport, ProgressReport

TIMES = ("step_s", "compute_s", "sync_s", "input_s", "wait_s")
CHECKPOINT_TIMES = ("write_s", "stall_s")
LEAST_STEP_S = 1e-6
SLACK = 1.1  # rounding of a step's parts
SLACK_S = 600.0  # between the clock of the pod and that of the platform
MAX_NOISE_SCALE = 1e12  # examples
MAX_STEPS_TOTAL = 10**12
MAX_EPOCH = 1e9


@dataclass(frozen=True)
class ImplausibleValue:
    """A field, its value, and why it cannot be true. spoils_times: none of the report's times is to be learnt from."""

    field: str
    value: float
    reason: str
    spoils_times: bool = False


def sound_measurements(attempt: Attempt, report: ProgressReport) -> tuple[dict[str, float], list[ImplausibleValue]]:
    """Returns the known measurements that can be true, and all of the report that cannot."""
    refused = [*_times(attempt, report), *_extent(report)]
    measured = known(report.measured)
    for name, most, what in _limits(attempt, measured):
        if most and measured[name] > most:
            refused.append(ImplausibleValue(name, measured[name], f"{what} has {most:,.0f} bytes."))
    noise_scale = measured.get("noise_scale")
    if noise_scale is not None and not 0 < noise_scale <= MAX_NOISE_SCALE:
        refused.append(ImplausibleValue("noise_scale", noise_scale, "A noise scale is above 0, and finite."))
    names = {problem.field for problem in refused}
    return {name: value for name, value in measured.items() if name not in names}, refused


def record_refused(attempt: Attempt, refused: Sequence[ImplausibleValue]) -> None:
    """Stores each field once, with its newest value and how often it came."""
    for problem in refused:
        newest = {"value": problem.value, "reason": problem.reason, "at": timezone.now()}
        row, is_new = RefusedMeasurement.objects.get_or_create(attempt=attempt, field=problem.field, defaults=newest)
        if not is_new:
            RefusedMeasurement.objects.filter(pk=row.pk).update(**newest, n=F("n") + 1)


def _times(attempt: Attempt, report: ProgressReport) -> list[ImplausibleValue]:
    """Times are positive, their parts add up to the step at most, and all steps fit into the attempt's life."""
    for name in TIMES:
        value = getattr(report, name)
        if value < 0:
            return [ImplausibleValue(name, value, "A time is not negative.", spoils_times=True)]
    parts_s = report.compute_s + report.sync_s + report.input_s
    if report.step_s == 0 and parts_s == 0:
        return []  # not measured
    if report.step_s < LEAST_STEP_S:
        return [ImplausibleValue("step_s", report.step_s, "No step takes less than a microsecond.", spoils_times=True)]
    if parts_s > SLACK * report.step_s + 1e-3:
        return [ImplausibleValue("step_s", report.step_s, f"Its parts take {parts_s:g} s.", spoils_times=True)]
    if report.wait_s > SLACK * report.sync_s + 1e-3:
        reason = f"It is a part of sync_s, which is {report.sync_s:g} s."
        return [ImplausibleValue("wait_s", report.wait_s, reason, spoils_times=True)]
    n_new = max(1, report.steps_done - attempt.last_step)
    lived_s = (timezone.now() - attempt.created_at).total_seconds()
    if report.step_s * n_new > SLACK * lived_s * max(1, attempt.n_workers) + SLACK_S:
        reason = f"{n_new:,} such steps take longer than the attempt has existed."
        return [ImplausibleValue("step_s", report.step_s, reason, spoils_times=True)]
    return []


def refused_extent(attempt: Attempt, report: ProgressReport) -> set[str]:
    """Returns the fields of how far training is, and how long it is to be, that cannot be true: they are recorded."""
    refused = _extent(report)
    record_refused(attempt, refused)
    return {problem.field for problem in refused}


def _extent(report: ProgressReport) -> list[ImplausibleValue]:
    if report.steps_total > MAX_STEPS_TOTAL:
        reason = f"No training has more than {MAX_STEPS_TOTAL:,} steps."
        return [ImplausibleValue("steps_total", report.steps_total, reason, spoils_times=True)]
    beyond = step_beyond(report.steps_total, report.steps_done)
    if beyond is not None:
        return [beyond]
    if not 0 <= report.epoch <= MAX_EPOCH:
        return [ImplausibleValue("epoch", report.epoch, "An epoch is not negative, and finite.", spoils_times=True)]
    return []


def checkpoint_times(attempt: Attempt, report: CheckpointReport) -> tuple[dict[str, float], list[ImplausibleValue]]:
    """Returns write_s and stall_s as they are stored, 0 where one cannot be true, and those that cannot."""
    lived_s = (timezone.now() - attempt.created_at).total_seconds()
    refused = []
    for name in CHECKPOINT_TIMES:
        value = getattr(report, name)
        if value < 0:
            refused.append(ImplausibleValue(name, value, "A time is not negative."))
        elif value > SLACK * lived_s + SLACK_S:
            refused.append(ImplausibleValue(name, value, "It is longer than the attempt has existed."))
    names = {problem.field for problem in refused}
    return {name: 0.0 if name in names else getattr(report, name) for name in CHECKPOINT_TIMES}, refused


def implausible_step(attempt: Attempt, step: int) -> ImplausibleValue | None:
    """Returns why the attempt cannot go on from that step; None if it can."""
    return step_beyond(attempt.job.steps_total, step)


def step_beyond(steps_total: int, step: int) -> ImplausibleValue | None:
    """Returns why a training of so many steps, 0 where that is not known, has no such step; None if it may."""
    total = steps_total or MAX_STEPS_TOTAL
    if step <= total:
        return None
    return ImplausibleValue("steps_done", step, f"The whole training has {total:,} steps.", spoils_times=True)


def _limits(attempt: Attempt, measured: dict[str, float]) -> list[tuple[str, float, str]]:
    """Of the memory measurements, the most that there is on the attempt's nodes; 0 where that is not known."""
    names = [name for name in ("gpu_memory_bytes", "peak_memory_bytes") if name in measured]
    if not names:
        return []
    nodes = Node.objects.filter(name__in=[a.node for a in attempt.allocations.all()])
    found = nodes.aggregate(least=Min("gpu_memory_bytes"), gpu=Max("gpu_memory_bytes"), node=Max("memory_bytes"))
    of_gpu = float(found["gpu"] or 0) if found["least"] else 0.0
    most = {"gpu_memory_bytes": (of_gpu, "The GPU"), "peak_memory_bytes": (float(found["node"] or 0), "The node")}
    return [(name, *most[name]) for name in names]
