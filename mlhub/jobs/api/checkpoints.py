# SPDX-License-Identifier: Apache-2.0
"""A job's checkpoints over REST: list, pin, download, delete, and fork a job from one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers, status
from rest_framework.response import Response

from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import AnyAccept, VisibleMixin, read_body, read_query
from mlhub.jobs.api.requests import JobCloneSerializer
from mlhub.jobs.api.serializers import JobSerializer
from mlhub.jobs.api.views import SUBMISSIONS, JobActionView, shown
from mlhub.jobs.artifacts import checkpoint_files, checkpoints
from mlhub.jobs.models import Checkpoint, Job
from mlhub.storage.downloads import file_response
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request

MAX_ID = 2**63 - 1


class CheckpointSerializer(serializers.Serializer[checkpoints.ListedCheckpoint]):
    """A complete checkpoint of a job, or weights that are kept for being among the best."""

    id = serializers.IntegerField(source="row.pk", help_text="The checkpoint's id.")
    name = serializers.CharField(source="row.name", help_text="Its path below the job's folder of checkpoints.")
    step = serializers.IntegerField(
        source="row.step", help_text="The step after which it was written; 0 where a script does not say it."
    )
    attempt_number = serializers.IntegerField(source="row.attempt.number", help_text="The attempt that wrote it.")
    is_best = serializers.BooleanField(
        help_text="Whether it is weights of one of the best evaluations; else a restart may continue from it."
    )
    is_pinned = serializers.BooleanField(source="row.is_pinned", help_text="Whether it stays until it is deleted.")
    is_reachable = serializers.BooleanField(
        help_text="Whether it can be downloaded, pinned, deleted and forked; false where only pods reach the files, "
        "and for a script's own."
    )
    metrics = serializers.DictField(
        source="row.metrics",
        child=serializers.FloatField(),
        help_text="The metrics of its evaluation, of the best ones; else {}.",
    )
    size_bytes = serializers.IntegerField(source="row.size_bytes", help_text="Its size in bytes.")
    at = serializers.DateTimeField(source="row.at", help_text="When it was complete.")


class CheckpointPinSerializer(StrictSerializer):
    is_pinned = serializers.BooleanField(help_text="Whether the checkpoint shall stay until a person deletes it.")


class CheckpointDeletionSerializer(StrictSerializer):
    checkpoints = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=MAX_ID),
        min_length=1,
        max_length=checkpoints.MAX_DELETED,
        help_text="The ids of the checkpoints to delete.",
    )


class CheckpointsQuerySerializer(StrictSerializer):
    after = serializers.IntegerField(
        min_value=1,
        max_value=MAX_ID,
        required=False,
        help_text="Only those that come after the checkpoint of this id: the last one of the answer before.",
    )
    limit = serializers.IntegerField(
        min_value=1,
        max_value=checkpoints.MAX_ASKED,
        default=checkpoints.MAX_LISTED,
        help_text="How many at most; an answer with fewer is the last one.",
    )


class JobForkSerializer(JobCloneSerializer):
    """The checkpoint to start from, and what shall be different from the job that it is of."""

    checkpoint = serializers.IntegerField(
        min_value=1, max_value=MAX_ID, help_text="The id of the checkpoint to start from."
    )


class CheckpointsView(JobActionView):
    pagination_class = None
    serializer_class = CheckpointSerializer

    @extend_schema(parameters=[CheckpointsQuerySerializer], responses=CheckpointSerializer(many=True), filters=False)
    def get(self, request: Request, **_: Any) -> Response:
        """The checkpoints that are there, newest first."""
        query, job = read_query(CheckpointsQuerySerializer, request), self.job(request)
        after = query.get("after")
        last = None if after is None else checkpoints.checkpoint_of(job, after)
        found = checkpoints.checkpoints_of(job, after=last, limit=query["limit"])
        return Response([CheckpointSerializer(listed).data for listed in found])


class CheckpointView(JobActionView):
    serializer_class = CheckpointSerializer

    @extend_schema(request=CheckpointPinSerializer, responses=CheckpointSerializer)
    def patch(self, request: Request, **_: Any) -> Response:
        """Pins a checkpoint, so that neither the training nor the retention removes it, or unpins it."""
        body = read_body(CheckpointPinSerializer, request)
        job = self.job(request)
        row = checkpoints.checkpoint_of(job, self.kwargs["checkpoint"])
        changed = checkpoints.pin_checkpoint(job, row, is_pinned=body["is_pinned"], actor=caller(request))
        return Response(CheckpointSerializer(checkpoints.ListedCheckpoint(changed, is_reachable=True)).data)


class CheckpointDeletionView(JobActionView):
    takes_ids_alone = ("POST",)

    @extend_schema(request=CheckpointDeletionSerializer, responses={204: None})
    def post(self, request: Request, **_: Any) -> Response:
        """Deletes these checkpoints, all or none. 409 for a pinned one, and for one that a live job needs."""
        body = read_body(CheckpointDeletionSerializer, request)
        checkpoints.delete_checkpoints(self.job(request), body["checkpoints"], actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class CheckpointWeightsView(VisibleMixin, generics.GenericAPIView[Job]):
    content_negotiation_class = AnyAccept
    queryset = Job.objects.all()
    serializer_class = CheckpointSerializer

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, **_: Any) -> HttpResponseBase:
        """The checkpoint's weights as safetensors; one byte range, and an entity tag to ask again."""
        job = self.get_object()
        row: Checkpoint = checkpoints.checkpoint_of(job, self.kwargs["checkpoint"])
        file, size_bytes = checkpoint_files.open_weights(job.pk, row.name)
        return file_response(
            request._request,
            file,
            etag=f"checkpoint-{row.pk}-{size_bytes}",
            size_bytes=size_bytes,
            filename=f"{job.name}.step-{row.step}.safetensors",
        )


class ForkView(JobActionView):
    serializer_class = JobSerializer
    rate_limit_budgets = {"POST": SUBMISSIONS}
    is_submission = True

    @extend_schema(request=JobForkSerializer, responses={201: JobSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """A new job with the same request that starts from a checkpoint's weights, but for the fields in the body."""
        overrides = read_body(JobForkSerializer, request)
        job = self.job(request)
        row = checkpoints.checkpoint_of(job, overrides.pop("checkpoint"))
        fork = checkpoints.fork_job(job, row, actor=caller(request), **overrides)
        return Response(shown(fork), status=status.HTTP_201_CREATED)
