# SPDX-License-Identifier: Apache-2.0
"""Models: list, upload, look, download, delete."""

from __future__ import annotations

import hashlib
import json
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
from mlhub.registry import actions, uploads
from mlhub.registry.annotations import annotate_version
from mlhub.registry.api import serializers as s
from mlhub.registry.models import Kind, Model, ModelVersion
from mlhub.registry.querysets import ModelQuerySet
from mlhub.storage.api.serializers import WITH_QUEUE
from mlhub.storage.downloads import blob_response, bytes_response
from mlhub.storage.uploads import UploadMixin, uploaded
from mlhub.tenants.models import Organisation, Project
from mlhub.tenants.named import NamedFilter
from mlhub.tenants.refs import RefFilter
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request

LINEAGE = ("code_version__model", "dataset_version__dataset", "environment")


class ModelFilter(django_filters.FilterSet):
    project = NamedFilter(Project, help_text="Only those of this project, by id or name.")
    organisation = NamedFilter(
        Organisation, "project__organisation", help_text="Only those of this organisation, by id or name."
    )
    name = django_filters.CharFilter(help_text="Only the one of exactly this name.")
    search = django_filters.CharFilter("name", "icontains", help_text="Only those whose name contains this.")
    builtin = django_filters.BooleanFilter(
        "project", lookup_expr="isnull", help_text="true: only built-in models; false: only others."
    )
    ready = django_filters.BooleanFilter(
        method="of_ready",
        help_text="true: only those whose newest code passed its check, so that jobs can train it; false: only others.",
    )
    ref = RefFilter()

    class Meta:
        model = Model
        fields: list[str] = []

    def of_ready(self, models: ModelQuerySet, _: str, is_ready: bool) -> ModelQuerySet:
        return models.with_ready_code(is_ready)


class ModelVersionFilter(django_filters.FilterSet):
    source = django_filters.ChoiceFilter(choices=s.SOURCES)

    class Meta:
        model = ModelVersion
        fields: list[str] = []


class ModelsView(UploadMixin, VisibleMixin, generics.ListAPIView[Model]):
    """Models of projects that the caller sees, each with its latest version."""

    queryset = Model.objects.select_related("project__organisation", "created_by")
    serializer_class = s.ModelSerializer
    filterset_class = ModelFilter

    def get_queryset(self) -> QuerySet[Model]:
        return super().get_queryset().with_versions()

    @extend_schema(request=s.ModelUploadSerializer, responses={201: s.ModelSerializer})
    def post(self, request: Request) -> Response:
        """Uploads a model's code; its first version is then validated."""
        body = read_body(s.ModelUploadSerializer, request)
        project = Project.objects.select_related("organisation").get_named(
            request.user, body.pop("project"), field="project", project=None
        )
        actor = caller(request)
        with uploaded(body, project=project, actor=actor) as (staging, filename):
            created = uploads.upload_model(project, staging=staging, filename=filename, actor=actor, **body)
        shown = self.get_queryset().get(pk=created.pk)
        return Response(s.ModelSerializer(shown, context=WITH_QUEUE).data, status=status.HTTP_201_CREATED)


class ModelView(VisibleMixin, generics.RetrieveAPIView[Model]):
    """One model, with its latest version."""

    queryset = Model.objects.select_related("project__organisation", "created_by")
    serializer_class = s.ModelSerializer

    def get_queryset(self) -> QuerySet[Model]:
        return super().get_queryset().with_versions()

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), **WITH_QUEUE}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """With all its versions; 409 while jobs use one, 403 for built-in models."""
        actions.delete_model(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class ModelVersionsView(UploadMixin, AddressedView, generics.ListAPIView[ModelVersion]):
    """All versions of a model."""

    queryset = ModelVersion.objects.select_related("model", *LINEAGE).prefetch_related("aliases")
    serializer_class = s.ModelVersionSerializer
    filterset_class = ModelVersionFilter

    def get_queryset(self) -> QuerySet[ModelVersion]:
        if getattr(self, "swagger_fake_view", False):
            return super().get_queryset()
        return super().get_queryset().filter(model=self.model)

    @property
    def model(self) -> Model:
        models = Model.objects.select_related("project__organisation", "created_by")
        found: Model = models.get_visible(self.request.user, self.kwargs["id"])
        return found

    @extend_schema(request=s.ModelVersionUploadSerializer, responses={201: s.ModelVersionSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """Uploads another version of the code, which is then validated."""
        model = self.model
        body = read_body(s.ModelVersionUploadSerializer, request)
        actor = caller(request)
        with uploaded(body, project=actions.own_project(model), actor=actor) as (staging, filename):
            created = uploads.upload_version(model, staging=staging, filename=filename, actor=actor, **body)
        return Response(s.ModelVersionSerializer(created).data, status=status.HTTP_201_CREATED)


class ModelVersionView(VisibleMixin, generics.RetrieveAPIView[ModelVersion]):
    """One version of a model, uploaded or trained."""

    queryset = ModelVersion.objects.select_related("model__project__organisation", *LINEAGE)
    serializer_class = s.ModelVersionDetailSerializer

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), **WITH_QUEUE}

    @extend_schema(request=s.ModelVersionChangeSerializer, responses=s.ModelVersionDetailSerializer)
    def patch(self, request: Request, **_: Any) -> Response:
        """Writes its tags and notes, at any time; 403 for built-in models."""
        written = read_body(s.ModelVersionChangeSerializer, request)
        annotate_version(self.get_object(), actor=caller(request), **written)
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """With its files; 409 while jobs or trained models use it, or when the model has no other version."""
        actions.delete_version(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class DownloadView(VisibleMixin, generics.GenericAPIView[ModelVersion]):
    content_negotiation_class = AnyAccept
    queryset = ModelVersion.objects.select_related("model", "package", "weights")
    serializer_class = s.DownloadSerializer

    @extend_schema(
        parameters=[s.DownloadSerializer], responses={(200, "application/octet-stream"): OpenApiTypes.BINARY}
    )
    def get(self, request: Request, **_: Any) -> HttpResponseBase:
        """Weights (safetensors), package (zip) or metadata (JSON); one byte range, and an entity tag to ask again."""
        version = self.get_object()
        what = read_query(s.DownloadSerializer, request)["what"]
        name = f"{version.model.name}-{version.number}"
        if what == "metadata" and version.source == "training":
            return _metadata(request, version, f"{name}.json")
        if what == "weights" and version.weights is not None:
            return blob_response(request._request, version.weights, filename=f"{name}.safetensors")
        if what == "package" and version.package is not None:
            return blob_response(
                request._request, version.package, filename=f"{name}.zip", content_type="application/zip"
            )
        kinds = {"weights": "trained versions", "package": "uploaded versions", "metadata": "trained versions"}
        is_builtin = version.kind == Kind.BUILTIN
        raise NotFoundError(
            f"This version has no {what}: only {kinds[what]} {'that are not built in ' * is_builtin}have them."
        )


def _metadata(request: Request, version: ModelVersion, filename: str) -> HttpResponseBase:
    """What one must know to use the weights elsewhere: hyperparameters, classes, metrics, and where they come from."""
    ids = {
        "model_version": version.id,
        "code_version": version.code_version_id,
        "dataset_version": version.dataset_version_id,  # none once that dataset was deleted
        "job": version.job_id,
        "weights_sha256": version.weights_id,
    }
    lineage = {name: None if value is None else str(value) for name, value in ids.items()}
    metadata = {**version.metadata, "metrics": version.metrics, "lineage": lineage}
    content = json.dumps(metadata, indent=2, sort_keys=True).encode()
    return bytes_response(
        request._request,
        content,
        etag=hashlib.sha256(content).hexdigest(),
        filename=filename,
        content_type="application/json",
    )
