# SPDX-License-Identifier: Apache-2.0
"""Many runs next to each other: what they were given and what they reached, and the curves of one metric.

Answers stay below 200 kB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import read_body
from mlhub.metrics.api.comparison import ManyCurvesSerializer
from mlhub.tenants.sign_in.authentication import caller
from mlhub.tracking.comparison import MAX_RUNS, MAX_TEXT, RunAxis, compare_run_curves, compare_runs
from mlhub.tracking.limits import MAX_KEY
from mlhub.tracking.models import RunStatus

if TYPE_CHECKING:
    from rest_framework.request import Request


class RunsToCompareSerializer(StrictSerializer):
    runs = serializers.ListField(
        child=serializers.UUIDField(),
        min_length=1,
        max_length=MAX_RUNS,
        help_text="The ids of the runs; jobs are compared by addresses of their own.",
    )


class RunComparisonSerializer(ManyCurvesSerializer, RunsToCompareSerializer):
    rows = "runs"
    metric = serializers.CharField(max_length=MAX_KEY, help_text="The metric, such as train/loss.")
    axis = serializers.ChoiceField(
        choices=RunAxis.choices,
        default=RunAxis.STEP,
        help_text="What the curves are drawn over; wall: seconds since the first point of each, by the client's clock.",
    )


class ComparedRunSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="The run's id, MLflow's run_id.")
    name = serializers.CharField(help_text="The run's name.")
    status = serializers.ChoiceField(choices=RunStatus.choices, help_text="What the client last said of it.")
    project = serializers.CharField(help_text="The name of the project where it lives.")


class ComparedParamSerializer(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="The parameter's name.")
    n_runs = serializers.IntegerField(help_text="How many of these runs have it.")
    values = serializers.ListField(
        child=serializers.CharField(allow_null=True),
        allow_null=True,
        help_text=(
            "Its value in each run, in their order; null in one that has none. A longer one than"
            f" {MAX_TEXT} characters is cut, and ends with its length and a checksum. null where no room was left."
        ),
    )


class ComparedRunMetricSerializer(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="The metric's name.")
    n_runs = serializers.IntegerField(help_text="How many of these runs have it.")
    values = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        allow_null=True,
        help_text=(
            "Its newest value in each run, in their order; null in one that has none, or whose value is not finite."
            " null where no room was left."
        ),
    )


class ComparedRunsSerializer(serializers.Serializer[Any]):
    runs = ComparedRunSerializer(many=True, help_text="Those of the runs that are described, in the order asked for.")
    params = ComparedParamSerializer(many=True, help_text="Their parameters, those of the most runs first.")
    metrics = ComparedRunMetricSerializer(many=True, help_text="Their metrics, those of the most runs first.")
    n_params = serializers.IntegerField(help_text="How many parameters they have, with those that are left out.")
    n_metrics = serializers.IntegerField(help_text="How many metrics they have, with those that are left out.")
    missing = serializers.ListField(
        child=serializers.UUIDField(), help_text="Ids of which there is no run, or none that the caller may see."
    )
    left = serializers.ListField(
        child=serializers.UUIDField(), help_text="Ids for which no room was left: ask for these next."
    )


class ComparedRunCurveSerializer(serializers.Serializer[Any]):
    run = serializers.UUIDField(help_text="The run's id.")
    x = serializers.ListField(child=serializers.FloatField(), help_text="Positions on the axis, by step.")
    y = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        help_text="The metric's values there, to six significant digits; null for one that is not finite.",
    )


class ComparedRunCurvesSerializer(serializers.Serializer[Any]):
    curves = ComparedRunCurveSerializer(
        many=True, help_text="Of the runs that the caller may see and that have the metric, in the order asked for."
    )
    left = serializers.ListField(
        child=serializers.UUIDField(), help_text="Ids whose curves are too long for this answer: ask for these next."
    )


class CompareRunsView(APIView):
    required_scope = "read"  # the body only has too many ids for an address

    @extend_schema(request=RunsToCompareSerializer, responses=ComparedRunsSerializer)
    def post(self, request: Request) -> Response:
        """Names, parameters and newest values of many runs: a column for each name, with a value for each run."""
        body = read_body(RunsToCompareSerializer, request)
        return Response(ComparedRunsSerializer(compare_runs(caller(request), body["runs"])).data)


class CompareRunCurvesView(APIView):
    required_scope = "read"

    @extend_schema(request=RunComparisonSerializer, responses=ComparedRunCurvesSerializer)
    def post(self, request: Request) -> Response:
        """The curves of one metric of many runs: of each its ends, and the lowest and highest point of each stretch."""
        body = read_body(RunComparisonSerializer, request)
        asked = {name: body[name] for name in ("metric", "axis", "max_points")}
        curves, left = compare_run_curves(caller(request), body["runs"], **asked)
        return Response(ComparedRunCurvesSerializer({"curves": curves, "left": left}).data)
