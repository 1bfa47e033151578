# SPDX-License-Identifier: Apache-2.0
"""Many jobs next to each other: the curves of one metric, and which metrics they have. Answers stay below 200 kB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import read_body
from mlhub.core.paging.answer_size import n_fitting
from mlhub.jobs.models import Job
from mlhub.metrics.api.curve_serializers import MAX_NAME
from mlhub.metrics.points.comparison import MAX_JOBS, MAX_POINTS, Axis, compared_curves, metrics_in_common
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request

    from mlhub.tenants.models import User


class ComparedJobsSerializer(StrictSerializer):
    jobs = serializers.ListField(
        child=serializers.UUIDField(),
        min_length=1,
        max_length=MAX_JOBS,
        help_text="The ids of the jobs; those that the caller may not see are left out.",
    )


class WantedMetricsSerializer(ComparedJobsSerializer):
    search = serializers.CharField(
        max_length=MAX_NAME,
        required=False,
        allow_blank=True,
        default="",
        help_text="Only metrics whose names contain this.",
    )


class ManyCurvesSerializer(StrictSerializer):
    """One metric, and the jobs or runs whose curves are to be compared."""

    rows: ClassVar[str]  # the field with their ids
    max_points = serializers.IntegerField(
        min_value=10, max_value=1000, default=40, help_text=f"Of a curve; times the curves at most {MAX_POINTS}."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        n_curves = len(attrs[self.rows])
        if attrs["max_points"] * n_curves > MAX_POINTS:
            most = max(10, MAX_POINTS // n_curves)
            raise serializers.ValidationError({"max_points": f"Give at most {most} for so many {self.rows}."})
        return attrs


class ComparisonSerializer(ManyCurvesSerializer, ComparedJobsSerializer):
    rows = "jobs"
    metric = serializers.CharField(max_length=MAX_NAME, help_text="The metric, such as train/loss.")
    axis = serializers.ChoiceField(
        choices=Axis.choices,
        default=Axis.STEP,
        help_text="What the curves are drawn over; wall: seconds since the job's first step.",
    )


class ComparedCurveSerializer(serializers.Serializer[Any]):
    job = serializers.UUIDField(help_text="The job's id.")
    x = serializers.ListField(child=serializers.FloatField(), help_text="Positions on the axis, by step.")
    y = serializers.ListField(
        child=serializers.FloatField(), help_text="The metric's values there, to six significant digits."
    )


class ComparedCurvesSerializer(serializers.Serializer[Any]):
    curves = ComparedCurveSerializer(many=True, help_text="Of the jobs that have the metric, in the order asked for.")


class CommonMetricSerializer(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="The metric's name.")
    n_jobs = serializers.IntegerField(help_text="How many of the jobs have it.")


class CommonMetricsSerializer(serializers.Serializer[Any]):
    metrics = CommonMetricSerializer(many=True, help_text="The metrics, those of the most jobs first.")
    n_metrics = serializers.IntegerField(help_text="How many there are: `search` finds those that are not listed.")


class CompareCurvesView(APIView):
    required_scope = "read"  # the body only has too many ids for an address

    @extend_schema(request=ComparisonSerializer, responses=ComparedCurvesSerializer)
    def post(self, request: Request) -> Response:
        """The curves of one metric of many jobs: of each its ends, and the lowest and highest point of each stretch."""
        body = read_body(ComparisonSerializer, request)
        asked = {name: body[name] for name in ("metric", "axis", "max_points")}
        curves = compared_curves(_visible(caller(request), body), **asked)
        return Response(ComparedCurvesSerializer({"curves": curves}).data)


class CompareMetricsView(APIView):
    required_scope = "read"

    @extend_schema(request=WantedMetricsSerializer, responses=CommonMetricsSerializer)
    def post(self, request: Request) -> Response:
        """The names of the metrics that the jobs have, with how many of them have each."""
        body = read_body(WantedMetricsSerializer, request)
        jobs = _visible(caller(request), body)
        n_metrics, found = metrics_in_common((job.pk for job in jobs), search=body["search"])
        metrics = CommonMetricSerializer(found, many=True).data
        return Response({"metrics": metrics[: n_fitting(metrics)], "n_metrics": n_metrics})


def _visible(user: User, body: dict[str, Any]) -> list[Job]:
    """Those of the jobs that the user may see, in the order of the request."""
    found = Job.objects.visible_to(user).filter(pk__in=body["jobs"]).only("id", "started_at", "submitted_at")
    by_id = {job.pk: job for job in found}
    return [by_id[pk] for pk in dict.fromkeys(body["jobs"]) if pk in by_id]
