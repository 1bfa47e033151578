# SPDX-License-Identifier: Apache-2.0
"""A job's curves, for people and programs: bounded answers, which a client that has seen them need not load again."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.response import Response

from mlhub.core.api.views import read_query
from mlhub.core.errors import InvalidInputError
from mlhub.core.paging.answer_size import n_fitting
from mlhub.jobs.api.parts import JobPartView
from mlhub.jobs.cursor import cursor_of
from mlhub.metrics.api import curve_serializers as s
from mlhub.metrics.points import curves

if TYPE_CHECKING:
    from rest_framework.request import Request


class MetricsView(JobPartView):
    @extend_schema(
        parameters=[s.MetricsQuerySerializer],
        responses={200: s.MetricsSerializer, 304: OpenApiResponse(description="The curves are as If-None-Match has.")},
    )
    def get(self, request: Request, **_: Any) -> Response:
        """The curves that count: where a later attempt trained a step again, its point stands.

        Long curves are thinned to the lowest and highest point of each stretch of steps; ask for a range of steps to
        see more of it. The entity tag changes with the points that are stored.
        """
        job = self.job(request)
        query = read_query(s.MetricsQuerySerializer, request)
        if query["exact"] and not query.get("key"):
            raise InvalidInputError("`exact` is of one metric.", field="exact", remedy="Name it by `key`.")
        cursor = cursor_of(job.pk)
        parts = curves.curve_parts(job.pk, key=query.get("key"), after=query.get("after"))
        shown = curves.within_answer(parts, max_points=query["max_points"])
        headers = {"ETag": _tag(query, shown, is_last=len(shown) == len(parts)), "Cache-Control": "private, no-cache"}
        if headers["ETag"] in request.headers.get("If-None-Match", ""):
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers=headers)
        series, next_step = _read(shown, query)
        found = {
            "series": series,
            "next": shown[-1].key if len(shown) < len(parts) else None,
            "next_step": next_step,
            "cursor": str(cursor),
        }
        return Response(s.MetricsSerializer(found).data, headers=headers)


class MetricNamesView(JobPartView):
    @extend_schema(parameters=[s.MetricNamesQuerySerializer], responses=s.MetricNamesSerializer)
    def get(self, request: Request, **_: Any) -> Response:
        """The names of the job's metrics with their newest values, without their curves."""
        job = self.job(request)
        query = read_query(s.MetricNamesQuerySerializer, request)
        names = curves.metric_names(job.pk, **{**query, "limit": query["limit"] + 1})
        rows = s.MetricNameSerializer(names[: query["limit"]], many=True).data
        shown = names[: n_fitting(rows)]
        found = {"names": shown, "next": shown[-1].key if len(shown) < len(names) else None}
        return Response(s.MetricNamesSerializer(found).data)


def _read(parts: Any, query: dict[str, Any]) -> tuple[list[curves.Curve], int | None]:
    """The curves asked for; of an exact one, too, the step where the next answer begins."""
    asked = curves.StepRange(query["first_step"], query["last_step"], query.get("since", -1))
    limit = query["max_points"]
    if not query["exact"]:
        return [curves.read_curve(one, max_points=limit, asked=asked) for one in parts], None
    found, next_step = [], None
    for one in parts:  # at most one: exact is of one metric
        points = curves.exact_points(one, limit=limit + 1, asked=asked)
        if len(points) > limit:
            next_step = points[-1].step
            points = [point for point in points if point.step < next_step]
        found.append(curves.Curve(one.key, points, is_thinned=False))
    return found, next_step


def _tag(query: dict[str, Any], parts: Any, *, is_last: bool) -> str:
    """The entity tag of these curves: it changes when a point is stored, an attempt begins, or the query differs."""
    stored = [(one.key, one.series, one.until, one.n_points) for one in parts]
    text = json.dumps([sorted(query.items()), stored, is_last])
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
