# SPDX-License-Identifier: Apache-2.0
"""A job's move in the queue: simulated only. What brings it there is its priority, which PATCH of the job gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.control.advice.queue_moves import QueueMove, simulate
from mlhub.control.api.effects import EffectSerializer, visible_among
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import read_body
from mlhub.core.errors import InvalidInputError
from mlhub.jobs.models import Job
from mlhub.jobs.states import JobState, predicate
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import User
from mlhub.tenants.roles import Role
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class QueueMoveSerializer(StrictSerializer):
    """A waiting job, and exactly one of before and after: the waiting job next to which it shall be."""

    job = serializers.UUIDField(help_text="The id of the job that would move.")
    before = serializers.UUIDField(required=False, help_text="The id of the job before which it would be served.")
    after = serializers.UUIDField(required=False, help_text="The id of the job behind which it would be served.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("before" in attrs) == ("after" in attrs):
            raise serializers.ValidationError({"before": "Name one job: before which, or after which, it shall be."})
        return attrs


class SimulatedMoveSerializer(serializers.Serializer[Any]):
    """What the move would take and change. Nothing of it is done."""

    policy = serializers.CharField(help_text="The policy that decided.")
    as_of = serializers.DateTimeField(help_text="When it was predicted.")
    decide_ms = serializers.FloatField(help_text="How long the policy took for all decisions, in milliseconds.")
    n_jobs = serializers.IntegerField(help_text="The number of jobs that took part, other organisations' included.")
    present_priority = serializers.IntegerField(help_text="The job's priority as it is.")
    priority = serializers.IntegerField(
        help_text="The priority that brings the job there, or as near as any does: PATCH /jobs/{id} gives it."
    )
    present_place = serializers.IntegerField(help_text="Its place among all jobs that wait, from 1.")
    place = serializers.IntegerField(help_text="Its place with that priority.")
    is_reached = serializers.BooleanField(
        help_text="Whether it would be where it was asked for; false where quotas or sizes count for more."
    )
    effects = EffectSerializer(many=True, help_text="The effects on jobs that the caller may see.")


class QueueMovesView(APIView):
    required_scope = "read"  # nothing is changed by it

    @extend_schema(request=QueueMoveSerializer, responses=SimulatedMoveSerializer)
    def post(self, request: Request) -> Response:
        """Which priority would bring a waiting job before or behind another one, and what that costs whom: the live
        policy decides with and without it. For those who may change the job's priority."""
        body = read_body(QueueMoveSerializer, request)
        user = caller(request)
        side = "before" if "before" in body else "after"
        if body[side] == body["job"]:
            raise InvalidInputError("That is the job itself.", field=side, remedy="Name another job that waits.")
        job = _waiting(user, body["job"], field="job")
        require_role(user, job.project, Role.SUBMITTER if job.created_by_id == user.id else Role.ADMIN)
        move = QueueMove(job, _waiting(user, body[side], field=side), is_before=side == "before")
        found = simulate(move, actor=user, visible=lambda ids: visible_among(user, ids), now=timezone.now())
        return Response(SimulatedMoveSerializer(found).data)


def _waiting(user: User, job_id: Any, *, field: str) -> Job:
    job: Job = Job.objects.select_related("project__organisation").get_visible(user, job_id, field=field)
    if job.state != JobState.QUEUED:
        raise InvalidInputError(
            f"{job.name} has no place in the queue: it {predicate(job.state)}.",
            field=field,
            remedy="Name a job that waits.",
        )
    return job
