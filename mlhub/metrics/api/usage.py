# SPDX-License-Identifier: Apache-2.0
"""What the pods of a job used of their machines over time, for charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import read_query
from mlhub.core.errors import NotFoundError
from mlhub.core.languages.catalogue import in_readers_language
from mlhub.jobs.api.parts import JobPartView
from mlhub.jobs.models import Attempt
from mlhub.metrics.measurements.usage import PODS_PER_ANSWER, newest_sampled_attempt, pods_with_samples, read_usage
from mlhub.wire.measurements import MeasurementUnit
from mlhub.wire.resource_usage import RESOURCES

if TYPE_CHECKING:
    from rest_framework.request import Request

MAX_POINTS = 400
MAX_NUMBER = 2**31 - 1


class UsageOverTimeQuerySerializer(StrictSerializer):
    attempt = serializers.IntegerField(
        min_value=1,
        max_value=MAX_NUMBER,
        required=False,
        help_text="The attempt's number; the newest one that has samples, if left out.",
    )
    first_pod = serializers.IntegerField(
        min_value=0,
        max_value=MAX_NUMBER,
        required=False,
        default=0,
        help_text="The place of the first pod to show among workers, then servers: `next_pod` of the answer before.",
    )
    max_points = serializers.IntegerField(
        min_value=10,
        max_value=MAX_POINTS,
        required=False,
        default=100,
        help_text="The most points of a pod: means over equal stretches of time.",
    )


class UsedResourceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="Its name in `values`.")
    title = serializers.CharField(help_text="What it is called on pages.")
    unit = serializers.ChoiceField(choices=list(MeasurementUnit), help_text="The unit of its values.")
    about = serializers.CharField(help_text="What it measures, in a sentence.")


class UsagePointSerializer(serializers.Serializer[Any]):
    at = serializers.DateTimeField(help_text="When the stretch of time ended.")
    values = serializers.DictField(
        child=serializers.FloatField(), help_text="Means by the names of resources; absent: not measured."
    )


class PodUsageSerializer(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=["worker", "server"], help_text="The pod's role.")
    index = serializers.IntegerField(help_text="The pod's index within its role.")
    points = UsagePointSerializer(many=True, help_text="What it used, oldest first.")


class UsageOverTimeSerializer(serializers.Serializer[Any]):
    """What the pods of one attempt used."""

    attempt_number = serializers.IntegerField(
        allow_null=True, help_text="The attempt's number; null: the job has no samples."
    )
    resources = UsedResourceSerializer(many=True, help_text="What was measured, in the order of charts.")
    pods = PodUsageSerializer(many=True, help_text=f"At most {PODS_PER_ANSWER} pods: workers before servers.")
    next_pod = serializers.IntegerField(allow_null=True, help_text="The next `first_pod`; null: there are no others.")


class JobUsageView(JobPartView):
    @extend_schema(parameters=[UsageOverTimeQuerySerializer], responses=UsageOverTimeSerializer)
    def get(self, request: Request, **_: Any) -> Response:
        """What the pods of an attempt used over time: CPUs, memory, GPU, network, disk."""
        job = self.job(request)
        query = read_query(UsageOverTimeQuerySerializer, request)
        attempt = newest_sampled_attempt(job.pk)
        if (number := query.get("attempt")) is not None:
            attempt = Attempt.objects.filter(job=job, number=number).first()
            if attempt is None:
                raise NotFoundError(f"The job has no attempt {number}.")
        pods = [] if attempt is None else pods_with_samples(attempt)
        end = query["first_pod"] + PODS_PER_ANSWER
        shown = pods[query["first_pod"] : end]
        found = read_usage(attempt, shown, max_points=query["max_points"]) if attempt is not None and shown else []
        used = {name for pod in found for point in pod.points for name in point.values}
        resources = [
            {"name": name, "title": in_readers_language(r.title), "unit": r.unit, "about": in_readers_language(r.about)}
            for name, r in RESOURCES.items()
            if name in used
        ]
        answer = {
            "attempt_number": None if attempt is None else attempt.number,
            "resources": resources,
            "pods": found,
            "next_pod": end if len(pods) > end else None,
        }
        return Response(UsageOverTimeSerializer(answer).data)
