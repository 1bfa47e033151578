# SPDX-License-Identifier: Apache-2.0
"""How much slower each running job trains because of others on the same hardware: as its own pods measured it, else as
jobs of its family measured it next to such a job."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from mlhub.control.learning.learned_pairs import LEAST_REPORTS, learned_slowdowns
from mlhub.jobs.live import JobSlowdown, SlowdownBasis
from mlhub.metrics.measurements.colocation import ColocatedAttempts, colocations
from mlhub.metrics.measurements.pairs import LEAST_STEPS
from mlhub.metrics.models import PairSample, SpeedSample


def slowdowns_of(attempts: Collection[UUID]) -> dict[UUID, JobSlowdown]:
    """Returns the slow-down of each live attempt of which it is known: not where several others are there at once, or
    where such a pair was not measured yet."""
    around = colocations(attempts)
    own = {
        (row.attempt_id, row.other_family, row.resource): row.slowdown
        for row in PairSample.objects.filter(
            attempt__in=around, slowdown__gt=0, n_steps__gte=LEAST_STEPS, n_reports__gte=LEAST_REPORTS
        )
    }
    shapes = {
        attempt: (family, gpu_type)
        for attempt, family, gpu_type in SpeedSample.objects.filter(attempt__in=around).values_list(
            "attempt_id", "family", "gpu_type"
        )
    }
    needs_pairs = any(one.family for one in around.values())
    pairs = learned_slowdowns() if needs_pairs else []
    learned = {(s.family, s.other_family, str(s.resource), s.gpu_type): s.slowdown for s in pairs}

    def of(attempt: UUID, near: ColocatedAttempts) -> JobSlowdown | None:
        if near.resource is None:
            return JobSlowdown(1.0, SlowdownBasis.ALONE)
        resource = str(near.resource)
        if measured := own.get((attempt, near.family, resource)):
            return JobSlowdown(measured, SlowdownBasis.MEASURED, resource)
        family, gpu_type = shapes.get(attempt, ("", ""))
        predicted = learned.get((family, near.family, resource, gpu_type))
        return None if predicted is None else JobSlowdown(predicted, SlowdownBasis.PREDICTED, resource)

    return {attempt: found for attempt, near in around.items() if (found := of(attempt, near)) is not None}
