# SPDX-License-Identifier: Apache-2.0
"""The metrics and the artifacts of a run, which may be thousands: in pages, by name, searched by a part of it."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import CharField, F, QuerySet
from rest_framework import generics

from mlhub.core.paging.keyset import ByKey, SortKey
from mlhub.tracking.api import serializers as s
from mlhub.tracking.models import Run, RunArtifact, RunSeries


class NamesPage(ByKey):
    """Names may have 250 letters and paths 500, of four bytes each: an answer stays below 200 kB."""

    max_page_size = 80


class MetricNameFilter(django_filters.FilterSet):
    search = django_filters.CharFilter("key", "icontains", help_text="Only those with this in their name, in any case.")

    class Meta:
        model = RunSeries
        fields: list[str] = []


class ArtifactFilter(django_filters.FilterSet):
    search = django_filters.CharFilter(
        "path", "icontains", help_text="Only those whose path contains this, in any case."
    )

    class Meta:
        model = RunArtifact
        fields: list[str] = []


class RunPartsView(generics.ListAPIView[Any]):
    """Rows of one run that the caller may see."""

    pagination_class = NamesPage

    def get_queryset(self) -> QuerySet[Any]:
        found = super().get_queryset()
        if getattr(self, "swagger_fake_view", False):
            return found
        return found.filter(run=Run.objects.external().active().get_visible(self.request.user, self.kwargs["id"]))


class RunMetricNamesView(RunPartsView):
    queryset = RunSeries.objects.filter(n_points__gt=0)
    serializer_class = s.RunMetricSerializer
    filterset_class = MetricNameFilter
    sort_key = SortKey(F("key"), CharField())

    def get(self, *args: Any, **kwargs: Any) -> Any:
        """The names of the run's metrics with their newest values, by name, without their curves."""
        return super().get(*args, **kwargs)


class RunFilesView(RunPartsView):
    queryset = RunArtifact.objects.select_related("blob")
    serializer_class = s.RunFileSerializer
    filterset_class = ArtifactFilter
    sort_key = SortKey(F("path"), CharField())

    def get(self, *args: Any, **kwargs: Any) -> Any:
        """The run's artifacts, by path."""
        return super().get(*args, **kwargs)
