# SPDX-License-Identifier: Apache-2.0
"""What starting, leaving and restarting costs, as pages show it: of one job's family, and of those that ran last."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from mlhub.control.learning.learned_models import learned_costs
from mlhub.control.learning.unsaved_work import checkpoint_times, with_unsaved_work
from mlhub.jobs.execution.families import family_of
from mlhub.jobs.models import Attempt, Job
from scheduler.models.cost import Costs, Estimate

LOOKED_AT = 200  # attempts, the newest ones, for the families that ran last


def costs_of(job: Job) -> dict[str, Any]:
    """Returns the costs that the next round will assume."""
    live = job.attempts.filter(ended_at=None).first()
    costs = learned_costs().of(family_of(job))
    return _shown(with_unsaved_work(costs, job, live, saved_at=checkpoint_times([job]), now=timezone.now()))


def costs_of_newest(n: int) -> list[dict[str, Any]]:
    """Of the n families that trained last, each with its newest job."""
    model, found = learned_costs(), dict[str, dict[str, Any]]()
    newest = Attempt.objects.exclude(speed_sample=None).select_related("speed_sample", "job").order_by("-id")
    for attempt in newest[:LOOKED_AT]:
        family = attempt.speed_sample.family
        if family not in found and len(found) < n:
            job = {"id": attempt.job_id, "name": attempt.job.name}
            found[family] = {"job": job, **_shown(model.of(family))}
    return list(found.values())


def _shown(costs: Costs) -> dict[str, Any]:
    parts = {"start": costs.start, "leave": costs.leave, "loss": costs.loss, "restart": costs.restart}
    return {name: _estimate(part) for name, part in parts.items()}


def _estimate(found: Estimate) -> dict[str, Any]:
    shown = {"seconds": found.seconds, "error_s": found.error_s, "n": found.n, "basis": found.basis.value}
    return {**shown, "sentence": found.short}
