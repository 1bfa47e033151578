# SPDX-License-Identifier: Apache-2.0
"""The files of a job: its predictions, or what its script left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from mlhub.core.api.views import AddressedView, AnyAccept
from mlhub.core.errors import NotFoundError
from mlhub.jobs.models import Artifact, Job
from mlhub.storage.downloads import blob_response

if TYPE_CHECKING:
    from rest_framework.request import Request


class ArtifactSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(
        read_only=True, help_text="The file's path: output/ and where it is in the script's output folder."
    )
    size_bytes = serializers.IntegerField(read_only=True, source="blob.size_bytes", help_text="The size in bytes.")
    sha256 = serializers.CharField(read_only=True, source="blob_id", help_text="The SHA-256 of its bytes.")
    at = serializers.DateTimeField(read_only=True, help_text="When it was uploaded.")


class JobArtifactsView(AddressedView):
    @extend_schema(responses=ArtifactSerializer(many=True), filters=False)
    def get(self, request: Request, **_: Any) -> Response:
        """Files that people download from the job, by name: its predictions, or what its script left."""
        job: Job = Job.objects.get_visible(request.user, self.kwargs["id"])
        return Response(ArtifactSerializer(Artifact.objects.downloadable(job), many=True).data)


class JobArtifactView(AddressedView):
    content_negotiation_class = AnyAccept

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, name: str, **_: Any) -> HttpResponseBase:
        """One of the job's files; one byte range, and an entity tag to ask again."""
        job: Job = Job.objects.get_visible(request.user, self.kwargs["id"])
        found = Artifact.objects.downloadable(job).filter(name=name).first()
        if found is None:
            raise NotFoundError(
                f"{job.name} has no file {name[:200]}; GET /jobs/{{id}}/artifacts lists those that it has."
            )
        return blob_response(request._request, found.blob, filename=name.rpartition("/")[2])
