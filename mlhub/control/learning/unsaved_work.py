# SPDX-License-Identifier: Apache-2.0
"""What a stop takes from a script: all that it trained since its newest checkpoint.

MLHub's own loops save before they leave, so that what a family's stops lost, as it was measured, is what the next one
will lose. A script saves at times of its own, or never: the longer it trains, the more a stop loses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db.models import Max

from mlhub.jobs.models import Attempt, Checkpoint, Job
from mlhub.registry.models import Kind
from scheduler.models.cost import Costs, known_loss


def checkpoint_times(jobs: Iterable[Job]) -> dict[UUID, datetime]:
    """When each script among the jobs wrote its newest checkpoint, of any attempt; one without any is absent."""
    scripts = [job.id for job in jobs if job.model_version.kind == Kind.SCRIPT]
    if not scripts:
        return {}
    rows = Checkpoint.objects.filter(attempt__job__in=scripts).values_list("attempt__job").annotate(Max("at"))
    return dict(rows.order_by())


def with_unsaved_work(
    costs: Costs, job: Job, live: Attempt | None, *, saved_at: Mapping[UUID, datetime], now: datetime
) -> Costs:
    """The costs of the job's family, with what a stop would lose of its live attempt now, where it is a script.

    saved_at: as checkpoint_times() gives it, by the clocks of pods: a checkpoint of the future counts as written now.
    """
    if live is None or job.model_version.kind != Kind.SCRIPT:
        return costs
    begun = live.training_at or live.started_at  # a script need not report any step
    if begun is None:
        return costs
    unsaved_s = (now - max(begun, saved_at.get(job.id, begun))).total_seconds()
    return replace(costs, loss=known_loss(max(0.0, unsaved_s)))
