# SPDX-License-Identifier: Apache-2.0
"""How long a job's gang may make no step: what the job says, else the platform's setting for its kind."""

from __future__ import annotations

from django.conf import settings

from mlhub.jobs.models import Job
from mlhub.registry.models import Kind


def stall_limit_s(job: Job) -> float:
    """Returns the seconds. job: with its version of a model."""
    asked = job.limits.get("stall_s")
    if asked is not None:
        return float(asked)
    is_script = job.model_version.kind == Kind.SCRIPT
    return float(settings.SCRIPT_STALL_LIMIT_S if is_script else settings.STALL_LIMIT_S)
