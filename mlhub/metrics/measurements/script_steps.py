# SPDX-License-Identifier: Apache-2.0
"""How far a script has come, which reports no phases: its first step begins the training, its metrics move it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.utils import timezone

from mlhub.jobs.execution.startup import FIRST_STEP, mark_attempt
from mlhub.jobs.models import Attempt, Job

OF_LOOP = "gang_ready"  # a mark that only MLHub's own loops make


def record_steps(attempt: Attempt, steps: Collection[int], *, at: datetime) -> None:
    """Steps of a script's metrics, the first of them made at that time by its clock. A script that reports its progress
    says by that how far it is.
    """
    if OF_LOOP in attempt.startup:
        return
    record_first_step(attempt, at)
    last = max(steps)
    if last <= attempt.last_step:
        return
    its_job = Job.objects.filter(pk=attempt.job_id, steps_total=0, step_s=None)
    if its_job.exists():
        attempt.last_step = last
        Attempt.objects.filter(pk=attempt.pk, last_step__lt=last).update(last_step=last)
        its_job.filter(steps_done__lt=last).update(steps_done=last, progress_at=timezone.now())


def record_first_step(attempt: Attempt, at: datetime) -> None:
    """The first report of a step, made at that time by the pod's clock, ends the start; a script then trains."""
    now = timezone.now()
    if FIRST_STEP not in attempt.startup:
        mark_attempt(attempt, FIRST_STEP, at, now=now)
    if OF_LOOP not in attempt.startup and attempt.training_at is None:
        begin_training(attempt, min(max(at, attempt.created_at), now))


def begin_training(attempt: Attempt, at: datetime, **columns: int) -> None:
    """The attempt has made its first step, and gets these columns; what an earlier report said stays."""
    Attempt.objects.filter(pk=attempt.pk, training_at=None).update(training_at=at, **columns)
    Job.objects.filter(pk=attempt.job_id, started_at=None).update(started_at=at)
    attempt.training_at = attempt.training_at or at
