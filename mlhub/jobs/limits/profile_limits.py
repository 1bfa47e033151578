# SPDX-License-Identifier: Apache-2.0
"""Whether a job fits what its dry run measured: divisible among its workers, with room for the trained weights."""

from __future__ import annotations

from typing import Any

from mlhub.jobs.models import Job
from mlhub.storage import actions as storage


def misfit(job: Job, profile: dict[str, Any]) -> dict[str, Any] | None:
    """The error {code, field, message, remedy} of a job that its profile forbids; None of one that may go on."""
    return indivisible(job.min_workers, job.max_workers, profile) or _too_large(job, profile)


def indivisible(least: int, most: int, profile: dict[str, Any]) -> dict[str, Any] | None:
    """An error when the model cannot be divided among any number of workers from least to most."""
    possible = profile.get("workers_possible")
    if possible is None or any(least <= n <= most for n in possible):
        return None
    return {
        "code": "invalid_strategy",
        "field": "min_workers",
        "message": f"{profile['strategy']} cannot divide this model among {least} workers.",
        "remedy": f"Possible: {', '.join(map(str, possible))}.",
    }


def _too_large(job: Job, profile: dict[str, Any]) -> dict[str, Any] | None:
    """An error when the trained weights could not be stored, before the job holds GPUs for hours."""
    left = storage.bytes_left_for(job.project, job.created_by)
    needed = int(profile.get("parameters_bytes") or 0)
    if left is None or needed <= left:
        return None
    return {
        "code": "storage_quota",
        "field": None,
        "message": f"The weights take {needed:,} bytes, and the quota has room for {max(0, left):,}.",
        "remedy": "",
    }
