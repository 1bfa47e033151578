# SPDX-License-Identifier: Apache-2.0
"""The preview of a job's plan: the body of a submission in, the plan and two alternatives out. Nothing is stored."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.control.advice.preview import preview
from mlhub.control.api.effects import ProspectSerializer
from mlhub.control.api.whatif import hypothetical_job
from mlhub.core.api.views import read_body
from mlhub.jobs.api.requests import JobSubmitSerializer
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class PlannedJobSerializer(JobSubmitSerializer):
    """The body of a submission, and by when the job shall have finished."""

    finish_by = serializers.DateTimeField(
        required=False,
        help_text="When it shall have finished: the cheapest size that is in time is then one of the alternatives.",
    )

    def validate_finish_by(self, finish_by: datetime) -> datetime:
        if finish_by <= timezone.now():
            raise serializers.ValidationError("This is in the past: give a time that is to come.")
        return finish_by


class PlannedRunSerializer(ProspectSerializer):
    """What would become of the job. n_workers: while it waits, the size that it would start with at least."""

    n_workers = serializers.IntegerField(help_text="The number of workers; while it waits, the least to start with.")
    gpu_type = serializers.CharField(allow_blank=True, help_text="The type of its GPUs; empty while it waits.")
    nodes = serializers.ListField(child=serializers.CharField(), help_text="Its nodes; empty while it waits.")
    start_p90_at = serializers.DateTimeField(
        allow_null=True, help_text="When it is predicted to have started with a probability of 90 %; null when unknown."
    )
    gpu_hours = serializers.FloatField(
        allow_null=True, help_text="GPU-hours from its start to its finish; null when unknown."
    )


class PlanAlternativeSerializer(serializers.Serializer[Any]):
    goal = serializers.ChoiceField(
        choices=["earliest", "cheapest", "by_date"],
        help_text="earliest: it finishes first; cheapest: it takes fewest GPU-hours; by_date: it takes fewest "
        "GPU-hours of those that have finished by finish_by in nine cases of ten.",
    )
    run = PlannedRunSerializer(help_text="What would become of the job at exactly that size.")
    finish_delta_s = serializers.FloatField(help_text="Seconds by which it would finish later; negative: earlier.")
    gpu_hours_delta = serializers.FloatField(help_text="GPU-hours that it would take more; negative: fewer.")


class QuotaEffectSerializer(serializers.Serializer[Any]):
    used_gpus = serializers.IntegerField(help_text="GPUs that the organisation uses now.")
    used_gpus_with_job = serializers.IntegerField(help_text="GPUs that it would use with the job.")
    max_gpus = serializers.IntegerField(allow_null=True, help_text="The most that it may use; null: no limit.")
    guarantee = serializers.IntegerField(allow_null=True, help_text="GPUs guaranteed to it; null: none.")


class JobPreviewSerializer(serializers.Serializer[Any]):
    policy = serializers.CharField(help_text="The policy that decided.")
    as_of = serializers.DateTimeField(help_text="When it was predicted.")
    decide_ms = serializers.FloatField(help_text="How long the policy took for all decisions, in milliseconds.")
    basis = serializers.CharField(help_text="What the job's speed rests on: measured, validated or guessed.")
    plan = PlannedRunSerializer(help_text="What would become of the job as it would be submitted.")
    quota = QuotaEffectSerializer(help_text="What it would mean for the organisation's quota.")
    n_delayed = serializers.IntegerField(help_text="Other jobs of the organisation that would finish later.")
    alternatives = PlanAlternativeSerializer(
        many=True, help_text="Other sizes that finish earlier or cost less; at most one of each goal."
    )


class JobPreviewView(APIView):
    required_scope = "read"  # nothing is changed by it

    @extend_schema(request=PlannedJobSerializer, responses=JobPreviewSerializer)
    def post(self, request: Request) -> Response:
        """What the live policy would make of a job: size, place, start, finish, cost, and two alternatives. Nothing is
        stored; 422 as for the submission itself."""
        body = read_body(PlannedJobSerializer, request)
        finish_by = body.pop("finish_by", None)
        hypothetical = hypothetical_job(caller(request), body)
        found = preview(hypothetical.job, now=timezone.now(), finish_by=finish_by)
        shown = {"basis": hypothetical.basis, **{k: getattr(found, k) for k in found.__annotations__}}
        return Response(JobPreviewSerializer(shown).data)
