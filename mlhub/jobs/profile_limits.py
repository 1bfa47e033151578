# SPDX-License-Identifier: Apache-2.0
"""Whether a job fits what its dry run measured: divisible among its workers, with room for the trained weights."""

from __future__ import annotations

from typing import Any

from mlhub.jobs.models import Job
from mlhub.storage import actions as storage


def misfit(job: Job, profile: dict[str, Any]) -> dict[str, Any] | None:
    """The error {code, field, message, remedy} of a job that its profile forbids; None of one that may go on."""
    return _indivisible(job, profile) or _too_large(job, profile)


def _indivisible(job: Job, profile: dict[str, Any]) -> dict[str, Any] | None:
    """An error when the model cannot be divided among as many workers as the job insists on."""
    possible = profile.get("workers_possible")
    if possible is None or any(job.min_workers <= n <= job.max_workers for n in possible):
        return None
    return {
        "code": "invalid_strategy",
        "field": "min_workers",
        "message": f"{profile['strategy']} cannot divide this model among {job.min_workers} workers.",
        "remedy": f"Possible: {', '.join(map(str, possible))}.",
    }


def _too_large(job: Job, profile: dict[str, Any]) -> dict[str, Any] | None:
    """An error when the trained weights could not be stored, before the job holds GPUs for hours."""
    left = storage.bytes_left(job.project.organisation)
    needed = int(profile.get("parameters_bytes") or 0)
    if left is None or needed <= left:
        return None
    return {
        "code": "storage_quota",
        "field": None,
        "message": f"The weights take {needed:,} bytes, and the quota has room for {max(0, left):,}.",
        "remedy": "",
    }
