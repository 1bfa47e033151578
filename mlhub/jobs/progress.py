# SPDX-License-Identifier: Apache-2.0
"""What the steps of a job are, and how many of them it has made."""

from __future__ import annotations

from enum import StrEnum

from mlhub.jobs.models import Job
from mlhub.registry.models import Kind


class StepUnit(StrEnum):
    """EPOCH: of a script whose progress is known by the epochs that it prints."""

    STEP = "step"
    EPOCH = "epoch"


def step_unit(job: Job) -> StepUnit:
    """By what was reported: where each step is an epoch, as many epochs as steps were made."""
    is_script = job.model_version.kind == Kind.SCRIPT
    counts_epochs = job.steps_total > 0 and job.epoch > 0 and int(job.epoch) == job.steps_done
    return StepUnit.EPOCH if is_script and counts_epochs else StepUnit.STEP


def steps_made(job: Job) -> float:
    """With the part of an epoch that is trained now, where epochs are the steps."""
    return job.epoch if step_unit(job) is StepUnit.EPOCH else float(job.steps_done)
