# SPDX-License-Identifier: Apache-2.0
"""Files of versions that clients of MLflow registered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.views import AnyAccept
from mlhub.core.errors import NotFoundError
from mlhub.registry.api.serializers import ModelFileSerializer
from mlhub.registry.models import ModelVersion
from mlhub.storage.downloads import blob_response

if TYPE_CHECKING:
    from rest_framework.request import Request

VERSION = OpenApiParameter("id", OpenApiTypes.UUID, OpenApiParameter.PATH, description="The id of the version.")
PATH = OpenApiParameter("path", OpenApiTypes.STR, OpenApiParameter.PATH, description="Where it is among the files.")


class VersionFilesView(APIView):
    @extend_schema(parameters=[VERSION], responses=ModelFileSerializer(many=True))
    def get(self, request: Request, id: UUID, **_: Any) -> Response:
        """All files of the version, by path; none of one that no client of MLflow registered."""
        version: ModelVersion = ModelVersion.objects.get_visible(request.user, id)
        found = version.files.select_related("blob").order_by("path")
        return Response(ModelFileSerializer(found, many=True).data)


class VersionFileView(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(parameters=[VERSION, PATH], responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, id: UUID, path: str, **_: Any) -> HttpResponseBase:
        """One of them; one byte range, and an entity tag to ask again."""
        version: ModelVersion = ModelVersion.objects.get_visible(request.user, id)
        file = version.files.filter(path=path).select_related("blob").first()
        if file is None:
            raise NotFoundError(f"The version has no file {path[:200]}.", field="path")
        return blob_response(request._request, file.blob, filename=path.rpartition("/")[2])
