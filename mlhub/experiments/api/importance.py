# SPDX-License-Identifier: Apache-2.0
"""How much each setting of compared jobs matters: the measure of studies, over rows that the caller gives.

The rows are in the request, since they may be of jobs, of runs from elsewhere, or only those that somebody picked out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.strict import FiniteFloatField, StrictSerializer
from mlhub.core.api.views import read_body
from mlhub.experiments.algorithms.importance import FEWEST, METHOD, importance
from mlhub.experiments.api.serializers import ParameterImportanceSerializer

if TYPE_CHECKING:
    from rest_framework.request import Request

MAX_ROWS = 2000
MAX_PARAMETERS = 200
MAX_TEXT = 500


class ComparedRowsSerializer(StrictSerializer):
    """A table by columns: what rows, such as jobs, were asked to do, and what each of them reached."""

    results = serializers.ListField(
        child=FiniteFloatField(allow_null=True),
        min_length=1,
        max_length=MAX_ROWS,
        help_text="What each row reached; null where it has reached nothing yet.",
    )
    parameters = serializers.DictField(
        child=serializers.ListField(child=serializers.JSONField(allow_null=True), max_length=MAX_ROWS),
        help_text="By name, the value that each row has, in the order of `results`: a number, a text, or null.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        columns, n_rows = attrs["parameters"], len(attrs["results"])
        if len(columns) > MAX_PARAMETERS:
            raise serializers.ValidationError({"parameters": f"Give at most {MAX_PARAMETERS}."})
        for name, column in columns.items():
            if len(column) != n_rows:
                problem = f"{name} has {len(column)} values for {n_rows} results. Give one for each, or null."
                raise serializers.ValidationError({"parameters": problem})
            if wrong := [value for value in column if not _is_value(value)]:
                problem = (
                    f"{name} has {str(wrong[0])[:40]!r}. Give numbers, null or texts of up to {MAX_TEXT} characters."
                )
                raise serializers.ValidationError({"parameters": problem})
        return attrs


class ComparedParameterSerializer(ParameterImportanceSerializer):
    """How much one parameter matters by itself, and in which direction."""

    n = serializers.IntegerField(help_text="Rows that have both the parameter and a result.")
    correlation = serializers.FloatField(
        allow_null=True,
        help_text="Spearman's, -1 to 1; above 0: larger values came with larger results. Null of what is no number.",
    )


class ComparedImportanceSerializer(serializers.Serializer[Any]):
    """How much each parameter matters by itself."""

    method = serializers.CharField(help_text="How the shares are computed, in words.")
    needed = serializers.IntegerField(help_text="Rows that a parameter needs; with fewer it is left out.")
    n_rows = serializers.IntegerField(help_text="Rows with a result.")
    parameters = ComparedParameterSerializer(many=True, help_text="Those that vary, the largest share first.")


class CompareImportanceView(APIView):
    required_scope = "read"  # the body only has too many values for an address

    @extend_schema(request=ComparedRowsSerializer, responses=ComparedImportanceSerializer)
    def post(self, request: Request) -> Response:
        """How much each parameter matters by itself for the result, over rows such as compared jobs."""
        body = read_body(ComparedRowsSerializer, request)
        found = importance(body["parameters"], body["results"])
        answer = {
            "method": METHOD,
            "needed": FEWEST,
            "n_rows": sum(result is not None for result in body["results"]),
            "parameters": [{"name": name, **vars(each)} for name, each in found.items()],
        }
        return Response(ComparedImportanceSerializer(answer).data)


def _is_value(value: object) -> bool:
    return value is None or isinstance(value, int | float) or (isinstance(value, str) and len(value) <= MAX_TEXT)
