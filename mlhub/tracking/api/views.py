# SPDX-License-Identifier: Apache-2.0
"""Runs from elsewhere, to look at, to download from and to delete. They are written by the MLflow protocol alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import django_filters
from django.db.models import QuerySet
from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.views import AnyAccept, VisibleMixin, read_query
from mlhub.core.errors import NotFoundError
from mlhub.storage.downloads import blob_response
from mlhub.tenants.models import Organisation, Project
from mlhub.tenants.named import NamedFilter
from mlhub.tenants.sign_in.authentication import caller
from mlhub.tracking import actions, artifacts
from mlhub.tracking.api import serializers as s
from mlhub.tracking.curves import read_curve
from mlhub.tracking.models import Run, RunStatus
from mlhub.tracking.run_search import search

if TYPE_CHECKING:
    from rest_framework.request import Request

RELATED = ("project__organisation", "created_by")


class RunFilter(django_filters.FilterSet):
    project = NamedFilter(Project, help_text="Only those of this project, by id or name.")
    organisation = NamedFilter(
        Organisation, "project__organisation", help_text="Only those of this organisation, by id or name."
    )
    parent_job = django_filters.UUIDFilter("parent_job", help_text="Only those that this job's pods started.")
    search = django_filters.CharFilter(
        method="by_text",
        help_text="Only those of which each word is in the name, project or owner, or begins the id, in any case; of a "
        "word such as lr=0.1, those with a parameter or tag of that name and value; lr=: of that name; loss<0.5 (>, "
        "<=, >=): with a parameter, or the newest value of a metric, of which this is so. Quotation marks keep spaces.",
    )
    status = django_filters.ChoiceFilter(choices=RunStatus.choices, help_text="Only those of this status.")

    class Meta:
        model = Run
        fields: list[str] = []

    def by_text(self, rows: QuerySet[Run], name: str, text: str) -> QuerySet[Run]:
        return search(rows, text, field=name)


class RunsView(VisibleMixin, generics.ListAPIView[Run]):
    """Runs that programs elsewhere logged, and those that jobs started besides their own; newest first."""

    queryset = Run.objects.external().active().select_related(*RELATED)
    serializer_class = s.RunSerializer
    filterset_class = RunFilter

    def get_queryset(self) -> QuerySet[Run]:
        rows: Any = generics.GenericAPIView.get_queryset(self)
        found: QuerySet[Run] = rows.visible_in_list_to(self.request.user)
        return found


class RunView(VisibleMixin, generics.RetrieveDestroyAPIView[Run]):
    """One run; its parameters, tags, metrics and files have addresses of their own."""

    queryset = Run.objects.external().select_related(*RELATED)
    serializer_class = s.RunDetailSerializer

    def get_queryset(self) -> QuerySet[Run]:
        """One that a client of MLflow deleted is not shown, but can be deleted for good."""
        found = super().get_queryset()
        return found if self.request.method == "DELETE" else found.filter(deleted_at=None)

    def delete(self, request: Request, *_: Any, **__: Any) -> Response:
        """For good, with curves and artifacts. For who made it, and admins."""
        actions.delete_run(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class RunCurveView(APIView):
    @extend_schema(parameters=[s.RunCurveQuerySerializer], responses=s.RunCurveSerializer)
    def get(self, request: Request, **_: Any) -> Response:
        """One metric's curve, or the part of it within a range of steps, of which less is left out."""
        run: Run = Run.objects.external().get_visible(request.user, self.kwargs["id"])
        query = read_query(s.RunCurveQuerySerializer, request)
        series = run.series.filter(key=query["key"]).first()
        if series is None:
            raise NotFoundError(f"{run.name} has no metric {query['key']}.", field="key")
        asked = {name: query.get(name) for name in ("first_step", "last_step")}
        curve = read_curve(series, max_points=query["max_points"], **asked)
        return Response(s.RunCurveSerializer(s.described_curve(curve)).data)


class RunFileView(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, path: str, **_: Any) -> HttpResponseBase:
        """One of the run's artifacts; one byte range, and an entity tag to ask again."""
        run: Run = Run.objects.external().get_visible(request.user, self.kwargs["id"])
        return blob_response(request._request, artifacts.file_of(run, path), filename=path.rpartition("/")[2])
