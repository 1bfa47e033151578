# SPDX-License-Identifier: Apache-2.0
"""One verb on many jobs, and the tags that jobs have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.tags import TagField
from mlhub.core.api.views import read_body
from mlhub.jobs.annotations import tags_in_use
from mlhub.jobs.bulk import MAX_JOBS, BulkAction, act_on_jobs
from mlhub.jobs.limits.priorities import MOST_PRIORITY
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class BulkRequestSerializer(StrictSerializer):
    action = serializers.ChoiceField(choices=BulkAction.choices, help_text="What is done to each of the jobs.")
    jobs = serializers.ListField(
        child=serializers.UUIDField(), min_length=1, max_length=MAX_JOBS, help_text="The ids of the jobs."
    )
    tag = TagField(required=False, default="", allow_blank=True, help_text="Of the actions tag and untag: the tag.")
    priority = serializers.IntegerField(
        required=False,
        min_value=-MOST_PRIORITY,
        max_value=MOST_PRIORITY,
        help_text="Of the action priority: -100 to 100; higher goes first.",
    )


class JobOutcomeSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="The job's id.")
    name = serializers.CharField(help_text="The job's name; empty when there is no such job.")
    refusal = serializers.CharField(help_text="Why the job was left as it is; empty when it was not.")
    remedy = serializers.CharField(help_text="What to do about the refusal; empty without one.")


class BulkSerializer(serializers.Serializer[Any]):
    outcomes = JobOutcomeSerializer(many=True, help_text="What became of each job, in the order of the request.")


class TagSerializer(serializers.Serializer[Any]):
    tag = serializers.CharField(help_text="The tag.")
    n_jobs = serializers.IntegerField(help_text="How many jobs have it.")


class BulkView(APIView):
    @extend_schema(request=BulkRequestSerializer, responses=BulkSerializer)
    def post(self, request: Request) -> Response:
        """Does one thing to each of the jobs; what one job refuses does not keep the others from it."""
        body = read_body(BulkRequestSerializer, request)
        outcomes = act_on_jobs(
            body["jobs"],
            action=body["action"],
            tag=body["tag"],
            priority=body.get("priority"),
            actor=caller(request),
        )
        return Response(BulkSerializer({"outcomes": outcomes}).data)


class TagsView(APIView):
    @extend_schema(responses=TagSerializer(many=True), filters=False)
    def get(self, request: Request) -> Response:
        """The tags of the jobs that the caller may see, the most used first."""
        return Response(TagSerializer(tags_in_use(caller(request)), many=True).data)
