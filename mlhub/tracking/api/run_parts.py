# SPDX-License-Identifier: Apache-2.0
"""What a run may have thousands of, in pages that are searched: metrics, artifacts, parameters, tags and datasets."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import CharField, F, Q, QuerySet
from rest_framework import generics

from mlhub.core.paging.keyset import ByKey, SortKey
from mlhub.tracking.api import serializers as s
from mlhub.tracking.models import Run, RunArtifact, RunDataset, RunParam, RunSeries, RunTag

BY_KEY = SortKey(F("key"), CharField(), is_unique=True)


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


class RunEntryFilter(django_filters.FilterSet):
    """Of parameters and tags."""

    search = django_filters.CharFilter(
        method="by_text", help_text="Only those whose name or value contains this, in any case."
    )

    def by_text(self, rows: QuerySet[Any], _: str, text: str) -> QuerySet[Any]:
        return rows.filter(Q(key__icontains=text) | Q(value__icontains=text))


class RunDatasetFilter(django_filters.FilterSet):
    search = django_filters.CharFilter(
        "name", "icontains", help_text="Only those whose name contains this, in any case."
    )

    class Meta:
        model = RunDataset
        fields: list[str] = []


class RunPartsView(generics.ListAPIView[Any]):
    """Rows of one run that the caller may see."""

    pagination_class = ByKey

    def get_queryset(self) -> QuerySet[Any]:
        found = super().get_queryset()
        if getattr(self, "swagger_fake_view", False):
            return found
        return found.filter(run=Run.objects.external().active().get_visible(self.request.user, self.kwargs["id"]))


class RunMetricNamesView(RunPartsView):
    queryset = RunSeries.objects.filter(n_points__gt=0)
    serializer_class = s.RunMetricSerializer
    filterset_class = MetricNameFilter
    sort_key = BY_KEY

    def get(self, *args: Any, **kwargs: Any) -> Any:
        """The names of the run's metrics with their newest values, by name, without their curves."""
        return super().get(*args, **kwargs)


class RunFilesView(RunPartsView):
    queryset = RunArtifact.objects.select_related("blob")
    serializer_class = s.RunFileSerializer
    filterset_class = ArtifactFilter
    sort_key = SortKey(F("path"), CharField(), is_unique=True)

    def get(self, *args: Any, **kwargs: Any) -> Any:
        """The run's artifacts, by path."""
        return super().get(*args, **kwargs)


class RunParamsView(RunPartsView):
    queryset = RunParam.objects.all()
    serializer_class = s.RunEntrySerializer
    filterset_class = RunEntryFilter
    sort_key = BY_KEY

    def get(self, *args: Any, **kwargs: Any) -> Any:
        """The run's parameters, by name."""
        return super().get(*args, **kwargs)


class RunTagsView(RunPartsView):
    queryset = RunTag.objects.all()
    serializer_class = s.RunEntrySerializer
    filterset_class = RunEntryFilter
    sort_key = BY_KEY

    def get(self, *args: Any, **kwargs: Any) -> Any:
        """The run's tags, by name."""
        return super().get(*args, **kwargs)


class RunDatasetsView(RunPartsView):
    queryset = RunDataset.objects.defer("description", "tags")
    serializer_class = s.RunDatasetSerializer
    filterset_class = RunDatasetFilter
    sort_key = SortKey(F("name"), CharField())

    def get(self, *args: Any, **kwargs: Any) -> Any:
        """The datasets that the run names as its inputs, by name."""
        return super().get(*args, **kwargs)
