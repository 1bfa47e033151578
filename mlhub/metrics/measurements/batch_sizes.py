# SPDX-License-Identifier: Apache-2.0
"""What is learnt of a batch that changed while an attempt trained: its step time, its memory and the noise scale."""

from __future__ import annotations

from typing import Any

from mlhub.jobs.models import Job
from mlhub.jobs.submission.batch_ranges import batch_range_of
from mlhub.metrics.models import SpeedSample
from mlhub.wire.report import ProgressReport

PARTS = ("step_s", "compute_s", "sync_s", "input_s", "wait_s")
MAX_BATCHES = 32  # of an attempt, without its first one
MAX_NOISE_POINTS = 64  # of an attempt's curve; beyond, every second one is dropped


def may_use_batch(job: Job, batch_size: int) -> bool:
    """Returns whether steps of that batch can be of the job: pods are not trusted."""
    if batch_size == job.batch_size:
        return True
    most = batch_range_of(job)
    return most is not None and job.batch_size <= batch_size <= most


def learn_other_batch(
    sample: SpeedSample, report: ProgressReport, n_new: int, *, measured: dict[str, float], is_alone: bool
) -> None:
    """Takes the steps of a batch that is not the sample's into means of its own; the caller saves the sample.

    The first interval warms up and counts for nothing, as it does for the sample's own batch. is_alone: no other job
    slows these steps; else their times are not learnt.
    """
    key = str(report.batch_size)
    before: dict[str, Any] | None = sample.by_batch.get(key)
    keep_noise_scale(sample, measured, step=report.steps_done)
    sample.measured = {**sample.measured, **{n: v for n, v in measured.items() if n == "noise_scale"}}
    if before is None:
        if len(sample.by_batch) < MAX_BATCHES:
            sample.by_batch = {**sample.by_batch, key: {"n_steps": 0}}
        return
    if not is_alone:
        return
    n_old = before["n_steps"]
    means = {p: (before.get(p, 0.0) * n_old + getattr(report, p) * n_new) / (n_old + n_new) for p in PARTS}
    found: dict[str, Any] = {"n_steps": n_old + n_new, **means}
    memory_bytes = max(before.get("gpu_memory_bytes", 0.0), measured.get("gpu_memory_bytes", 0.0))
    if memory_bytes:
        found["gpu_memory_bytes"] = memory_bytes
    sample.by_batch = {**sample.by_batch, key: found}


def keep_noise_scale(sample: SpeedSample, measured: dict[str, float], *, step: int) -> None:
    """Adds the noise scale to its course over the training."""
    if "noise_scale" in measured:
        curve = [*sample.noise_curve, [step, measured["noise_scale"]]]
        sample.noise_curve = curve[::2] if len(curve) > MAX_NOISE_POINTS else curve
