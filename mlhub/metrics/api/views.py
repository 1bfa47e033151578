# SPDX-License-Identifier: Apache-2.0
"""A job's curves, log and speeds, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.views import read_query
from mlhub.jobs.cursor import cursor_of
from mlhub.jobs.models import Job
from mlhub.metrics import reads
from mlhub.metrics.api import serializers as s
from mlhub.metrics.family_labels import family_labels
from mlhub.metrics.models import PairSample, RefusedMeasurement, SpeedSample

if TYPE_CHECKING:
    from rest_framework.request import Request


class JobPartView(APIView):
    def job(self, request: Request) -> Job:
        found: Job = Job.objects.get_visible(request.user, self.kwargs["id"])
        return found


class MetricsView(JobPartView):
    @extend_schema(parameters=[s.MetricsQuerySerializer], responses=s.MetricsSerializer)
    def get(self, request: Request, **_: Any) -> Response:
        """The curves that count: where a later attempt trained a step again, its point stands."""
        job = self.job(request)
        query = read_query(s.MetricsQuerySerializer, request)
        cursor = cursor_of(job.pk)
        found = reads.curves(job.pk, key=query.get("key"), max_points=query["max_points"])
        series = [{"key": key, "points": points} for key, points in found]
        return Response(s.MetricsSerializer({"series": series, "cursor": str(cursor)}).data)


class LogsView(JobPartView):
    @extend_schema(parameters=[s.LogQuerySerializer], responses=s.LogSerializer)
    def get(self, request: Request, **_: Any) -> Response:
        """Log lines after a seq, oldest first."""
        job = self.job(request)
        asked = read_query(s.LogQuerySerializer, request)
        cursor = cursor_of(job.pk)
        lines = reads.lines_after(job.pk, asked.pop("after"), **asked)
        return Response(s.LogSerializer({"lines": lines, "cursor": str(cursor)}).data)


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
        }
        labels = family_labels({pair.other_family for pair in pairs}, user=request.user)
        return Response(s.SpeedsSerializer(found, context={"labels": labels}).data)
