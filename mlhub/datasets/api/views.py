# SPDX-License-Identifier: Apache-2.0
"""Datasets: list, upload, look, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import django_filters
from django.db.models import QuerySet
from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.response import Response

from mlhub.core.api.views import AddressedView, AnyAccept, VisibleMixin, read_body, read_query
from mlhub.core.errors import NotFoundError
from mlhub.core.paging.pagination import InOrder
from mlhub.datasets import actions, references
from mlhub.datasets.api import serializers as s
from mlhub.datasets.api.sources import ShardSerializer
from mlhub.datasets.column_choice import choose_columns
from mlhub.datasets.models import Dataset, DatasetVersion, VersionState
from mlhub.datasets.preview_clips import read_preview_clip
from mlhub.storage.api.serializers import WITH_QUEUE
from mlhub.storage.downloads import blob_response, bytes_response
from mlhub.storage.models import Blob
from mlhub.storage.uploads import UploadMixin, uploaded
from mlhub.tenants.models import Organisation, Project
from mlhub.tenants.named import NamedFilter
from mlhub.tenants.refs import RefFilter
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class DatasetFilter(django_filters.FilterSet):
    project = NamedFilter(Project, help_text="Only those of this project, by id or name.")
    organisation = NamedFilter(
        Organisation, "project__organisation", help_text="Only those of this organisation, by id or name."
    )
    name = django_filters.CharFilter(help_text="Only the one of exactly this name.")
    search = django_filters.CharFilter("name", "icontains", help_text="Only those whose name contains this.")
    ref = RefFilter()

    class Meta:
        model = Dataset
        fields: list[str] = []


class DatasetsView(UploadMixin, VisibleMixin, generics.ListAPIView[Dataset]):
    """Datasets of projects that the caller sees, each with its latest version."""

    queryset = Dataset.objects.select_related("project__organisation", "created_by").with_latest_version(preview=False)
    serializer_class = s.DatasetSerializer
    filterset_class = DatasetFilter

    @extend_schema(request=s.DatasetUploadSerializer, responses={201: s.DatasetSerializer})
    def post(self, request: Request) -> Response:
        """Uploads a dataset; its first version is then inspected. 422 when over quota or unreadable as a request."""
        body = read_body(s.DatasetUploadSerializer, request)
        project, actor = _project_of(request, body), caller(request)
        with uploaded(body, project=project, actor=actor) as (staging, filename):
            created = actions.upload_dataset(project, staging=staging, filename=filename, actor=actor, **body)
        return Response(_shown(created), status=status.HTTP_201_CREATED)


class DatasetView(VisibleMixin, generics.RetrieveAPIView[Dataset]):
    """One dataset, with its latest version."""

    queryset = Dataset.objects.select_related("project__organisation", "created_by").with_latest_version(preview=True)
    serializer_class = s.DatasetSerializer

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), **WITH_QUEUE}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """With all its versions; 409 while jobs use one."""
        actions.delete_dataset(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class DatasetVersionsView(UploadMixin, AddressedView, generics.ListAPIView[DatasetVersion]):
    """All versions of a dataset."""

    queryset = DatasetVersion.objects.select_related("dataset").defer("preview", "statistics")
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
        actor = caller(request)
        with uploaded(body, project=dataset.project, actor=actor) as (staging, filename):
            created = actions.upload_version(dataset, staging=staging, filename=filename, actor=actor, **body)
        return Response(s.DatasetVersionSerializer(created).data, status=status.HTTP_201_CREATED)


class DatasetVersionView(VisibleMixin, generics.RetrieveAPIView[DatasetVersion]):
    """One version of a dataset, with its files, its columns and what its inspection found."""

    queryset = DatasetVersion.objects.select_related("dataset__project__organisation")
    serializer_class = s.DatasetVersionSerializer

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), **WITH_QUEUE}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """With its files; 409 while jobs use it, or when the dataset has no other version."""
        actions.delete_version(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class DatasetDownloadView(VisibleMixin, generics.GenericAPIView[DatasetVersion]):
    content_negotiation_class = AnyAccept
    queryset = DatasetVersion.objects.defer("preview", "statistics")
    serializer_class = s.DatasetVersionSerializer

    @extend_schema(
        parameters=[s.FileQuerySerializer], responses={(200, "application/octet-stream"): OpenApiTypes.BINARY}
    )
    def get(self, request: Request, **_: Any) -> HttpResponseBase:
        """A version's file as it was uploaded; one byte range, and an entity tag to ask again. 404 after a refusal,
        since no file is kept then."""
        asked = read_query(s.FileQuerySerializer, request).get("file")
        version = self.get_object()
        if not version.files:
            raise NotFoundError("The version's file was not fetched.")
        file = next((one for one in version.files if asked in (None, one["name"])), None)
        if file is None:
            raise NotFoundError(f"The version has no file called {asked}.")
        blob = Blob.objects.filter(pk=file["sha256"]).first()
        if version.state == VersionState.REFUSED or blob is None:
            raise NotFoundError("The version was refused, and its file is not kept.")
        return blob_response(request._request, blob, filename=file["name"])


class PreviewClipView(VisibleMixin, generics.GenericAPIView[DatasetVersion]):
    content_negotiation_class = AnyAccept
    queryset = DatasetVersion.objects.defer("statistics")
    serializer_class = s.DatasetVersionSerializer

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, number: int, **_: Any) -> HttpResponseBase:
        """A clip of the preview of a version of audio, as it was uploaded, by its number from 0 on; one byte range, and
        an entity tag to ask again. 404 for a clip that is not in the preview, and one of more than 8 MiB."""
        clip = read_preview_clip(self.get_object(), number)
        return bytes_response(
            request._request, clip.content, etag=clip.etag, filename=clip.filename, content_type=clip.media_type
        )


class DatasetReferencesView(generics.GenericAPIView[Dataset]):
    queryset = Dataset.objects.none()
    serializer_class = s.DatasetSerializer
    rate_limit_budgets = {"POST": "uploads"}

    @extend_schema(
        operation_id="datasets_create_by_reference",
        request=s.DatasetReferenceSerializer,
        responses={201: s.DatasetSerializer},
    )
    def post(self, request: Request) -> Response:
        """Creates a dataset by reference: its first version is fetched from its source, then inspected."""
        body = read_body(s.DatasetReferenceSerializer, request)
        project = _project_of(request, body)
        referred = references.refer_to_dataset(project, actor=caller(request), **body)
        return Response(_shown(referred), status=status.HTTP_201_CREATED)


class VersionReferencesView(VisibleMixin, generics.GenericAPIView[Dataset]):
    queryset = Dataset.objects.select_related("project__organisation", "created_by")
    serializer_class = s.DatasetVersionSerializer
    rate_limit_budgets = {"POST": "uploads"}

    @extend_schema(request=s.VersionReferenceSerializer, responses={201: s.DatasetVersionSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """Creates another version by reference: it is fetched from its source, then inspected."""
        dataset = self.get_object()
        body = read_body(s.VersionReferenceSerializer, request)
        referred = references.refer_to_version(dataset, actor=caller(request), **body)
        return Response(s.DatasetVersionSerializer(referred).data, status=status.HTTP_201_CREATED)


class ShardsView(VisibleMixin, generics.GenericAPIView[DatasetVersion]):
    queryset = DatasetVersion.objects.defer("preview", "statistics")
    serializer_class = ShardSerializer
    pagination_class = InOrder

    @extend_schema(operation_id="dataset_versions_shards_list", responses={200: ShardSerializer(many=True)})
    def get(self, request: Request, **_: Any) -> Response:  # noqa: ARG002 (the protocol's)
        """The addresses of a version of many files by reference, each with what was found there; none of others."""
        source = self.get_object().source or {}
        page = self.paginate_queryset(source.get("shards", []))
        return self.get_paginated_response(ShardSerializer(page, many=True).data)


class RefreshView(VisibleMixin, generics.GenericAPIView[DatasetVersion]):
    rate_limit_budgets = {"POST": "uploads"}
    queryset = DatasetVersion.objects.select_related("dataset__project__organisation")
    serializer_class = s.DatasetVersionSerializer

    @extend_schema(request=None, responses={201: s.DatasetVersionSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """Looks at the version's address again: a new version of what is there now, whose source says whether it is
        another file. 409 for an uploaded version, and while the dataset is being fetched."""
        added = references.refresh_version(self.get_object(), actor=caller(request))
        return Response(s.DatasetVersionSerializer(added).data, status=status.HTTP_201_CREATED)


class ColumnChoiceView(VisibleMixin, generics.GenericAPIView[DatasetVersion]):
    queryset = DatasetVersion.objects.select_related("dataset__project__organisation")
    serializer_class = s.DatasetVersionSerializer

    @extend_schema(request=s.ColumnChoiceSerializer, responses={200: s.DatasetVersionSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """Reads the same file by another choice of columns, without another upload. A version that waits for its
        columns takes the choice and is inspected again; of a ready one a new version over the same files is made.
        409 while it is inspected, 422 for a column that is not there."""
        choice = read_body(s.ColumnChoiceSerializer, request)
        chosen = choose_columns(self.get_object(), actor=caller(request), **choice)
        return Response(s.DatasetVersionSerializer(chosen, context=WITH_QUEUE).data)


def _project_of(request: Request, body: dict[str, Any]) -> Project:
    """Takes the project out of the body. Raises InvalidInputError for one that the caller does not see."""
    found: Project = Project.objects.select_related("organisation").get_named(
        request.user, body.pop("project"), field="project", project=None
    )
    return found


def _shown(dataset: Dataset) -> dict[str, Any]:
    found = Dataset.objects.select_related("project__organisation", "created_by").with_latest_version(preview=True)
    return s.DatasetSerializer(found.get(pk=dataset.pk), context=WITH_QUEUE).data
