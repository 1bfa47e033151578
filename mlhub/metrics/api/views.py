# SPDX-License-Identifier: Apache-2.0
"""A job's speeds, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from mlhub.jobs.api.parts import JobPartView
from mlhub.metrics.api import serializers as s
from mlhub.metrics.family_labels import family_labels
from mlhub.metrics.measurements.worker_steps import breakdown_by_worker
from mlhub.metrics.models import PairSample, RefusedMeasurement, SpeedSample

if TYPE_CHECKING:
    from rest_framework.request import Request


class SpeedView(JobPartView):
    @extend_schema(responses=s.SpeedsSerializer)
    def get(self, request: Request, **_: Any) -> Response:
        """What the job measured of itself, and the scheduler learns from."""
        job = self.job(request)
        samples = SpeedSample.objects.filter(attempt__job=job).select_related("attempt")
        pairs = PairSample.objects.filter(attempt__job=job).select_related("attempt").order_by("attempt__number", "id")
        refused = RefusedMeasurement.objects.filter(attempt__job=job).select_related("attempt")
        found = {
            "samples": samples.prefetch_related("attempt__staleness").order_by("attempt__number"),
            "slowdowns": pairs,
            "refused": refused.order_by("attempt__number", "field"),
            "workers": breakdown_by_worker(job.attempts.order_by("number").last()),
        }
        labels = family_labels({pair.other_family for pair in pairs}, user=request.user)
        return Response(s.SpeedsSerializer(found, context={"labels": labels}).data)
