# SPDX-License-Identifier: Apache-2.0
"""Datasets: list, upload, look, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.response import Response

from mlhub.core.api.views import VisibleMixin, read_body
from mlhub.datasets import actions
from mlhub.datasets.api import serializers as s
from mlhub.datasets.models import Dataset, DatasetVersion
from mlhub.storage.api.serializers import WITH_QUEUE
from mlhub.storage.uploads import UploadMixin, staging_of
from mlhub.tenants.authentication import caller
from mlhub.tenants.models import Project

if TYPE_CHECKING:
    from rest_framework.request import Request


class DatasetFilter(django_filters.FilterSet):
    project = django_filters.UUIDFilter(help_text="Only those of this project.")
    organisation = django_filters.UUIDFilter("project__organisation", help_text="Only those of this organisation.")
    name = django_filters.CharFilter(help_text="Only the one of exactly this name.")

    class Meta:
        model = Dataset
        fields: list[str] = []


class DatasetsView(UploadMixin, VisibleMixin, generics.ListAPIView[Dataset]):
    queryset = Dataset.objects.select_related("project__organisation", "created_by").with_latest_version(preview=False)
    serializer_class = s.DatasetSerializer
    filterset_class = DatasetFilter

    @extend_schema(request=s.DatasetUploadSerializer, responses={201: s.DatasetSerializer})
    def post(self, request: Request) -> Response:
        """Uploads a dataset; its first version is then inspected. 422 when over quota or unreadable as a request."""
        body = read_body(s.DatasetUploadSerializer, request)
        project = Project.objects.select_related("organisation").get_named(
            request.user, body.pop("project"), field="project", project=None
        )
        file = body.pop("file")
        created = actions.upload_dataset(
            project, staging=staging_of(file), filename=file.name, actor=caller(request), **body
        )
        return Response(_shown(created), status=status.HTTP_201_CREATED)


class DatasetView(VisibleMixin, generics.RetrieveAPIView[Dataset]):
    queryset = Dataset.objects.select_related("project__organisation", "created_by").with_latest_version(preview=True)
    serializer_class = s.DatasetSerializer

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), **WITH_QUEUE}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """With all its versions; 409 while jobs use one."""
        actions.delete_dataset(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class DatasetVersionsView(UploadMixin, generics.ListAPIView[DatasetVersion]):
    queryset = DatasetVersion.objects.select_related("dataset").defer("preview")
    serializer_class = s.DatasetVersionSerializer

    def get_queryset(self) -> QuerySet[DatasetVersion]:
        if getattr(self, "swagger_fake_view", False):
            return super().get_queryset()
        return super().get_queryset().filter(dataset=self.dataset)

    @property
    def dataset(self) -> Dataset:
        datasets = Dataset.objects.select_related("project__organisation", "created_by")
        found: Dataset = datasets.get_visible(self.request.user, self.kwargs["id"])
        return found

    @extend_schema(request=s.VersionUploadSerializer, responses={201: s.DatasetVersionSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """Uploads another version, which is then inspected."""
        dataset = self.dataset
        body = read_body(s.VersionUploadSerializer, request)
        file = body.pop("file")
        created = actions.upload_version(
            dataset, staging=staging_of(file), filename=file.name, actor=caller(request), **body
        )
        return Response(s.DatasetVersionSerializer(created).data, status=status.HTTP_201_CREATED)


class DatasetVersionView(VisibleMixin, generics.RetrieveAPIView[DatasetVersion]):
    queryset = DatasetVersion.objects.select_related("dataset__project__organisation")
    serializer_class = s.DatasetVersionSerializer

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), **WITH_QUEUE}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """With its files; 409 while jobs use it, or when the dataset has no other version."""
        actions.delete_version(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _shown(dataset: Dataset) -> dict[str, Any]:
    found = Dataset.objects.select_related("project__organisation", "created_by").with_latest_version(preview=True)
    return s.DatasetSerializer(found.get(pk=dataset.pk), context=WITH_QUEUE).data
