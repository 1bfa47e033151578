# SPDX-License-Identifier: Apache-2.0
"""The files of a job: what its script left, and its checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.views import AnyAccept
from mlhub.core.errors import NotFoundError
from mlhub.jobs.checkpoint_retention import jobs_without_checkpoints
from mlhub.jobs.models import Artifact, Checkpoint, Job
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


class CheckpointSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(read_only=True, help_text="Its path below the job's folder of checkpoints.")
    step = serializers.IntegerField(read_only=True, help_text="The step that it was made at; 0 when that is unknown.")
    attempt = serializers.IntegerField(
        read_only=True, source="attempt.number", help_text="The number of the attempt that wrote it."
    )
    size_bytes = serializers.IntegerField(read_only=True, help_text="The size in bytes.")
    at = serializers.DateTimeField(read_only=True, help_text="When it was complete.")


class JobArtifactsView(APIView):
    @extend_schema(responses=ArtifactSerializer(many=True), filters=False)
    def get(self, request: Request, **_: Any) -> Response:
        """Files that people download from the job, by name: its predictions, or what its script left."""
        job: Job = Job.objects.get_visible(request.user, self.kwargs["id"])
        return Response(ArtifactSerializer(Artifact.objects.downloadable(job), many=True).data)


class JobArtifactView(APIView):
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


class CheckpointsView(APIView):
    @extend_schema(responses=CheckpointSerializer(many=True), filters=False)
    def get(self, request: Request, **_: Any) -> Response:
        """The job's checkpoints that are there, the newest first. A failed job is resumed from them."""
        job: Job = Job.objects.get_visible(request.user, self.kwargs["id"])
        found = Checkpoint.objects.filter(attempt__job=job).select_related("attempt").order_by("-at", "-id")
        if jobs_without_checkpoints(timezone.now()).filter(pk=job.pk).exists():
            found = found.none()
        return Response(CheckpointSerializer(found, many=True).data)
