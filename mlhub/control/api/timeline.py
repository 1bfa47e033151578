# SPDX-License-Identifier: Apache-2.0
"""The cluster's timeline: its JSON, and the view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.control.monitoring.timeline import WINDOWS, timeline_as_seen_by, window_of
from mlhub.core.api.fields import CalendarTimeField
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import read_query
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request

TIMELINE_WINDOWS = [(name, name) for name in WINDOWS]
TIMELINE_MARKS = [(kind, kind) for kind in ("preempted", "resized", "failed", "checkpoint")]


class TimelineQuerySerializer(StrictSerializer):
    window = serializers.ChoiceField(choices=TIMELINE_WINDOWS, default="6h", help_text="The length of the window.")
    until = CalendarTimeField(
        required=False, help_text="The window's end; without it, a quarter of the window lies ahead of now."
    )
    after = serializers.CharField(
        required=False, max_length=100, help_text="Only nodes after this name: `next_after` of the page before."
    )


class TimelineBarSerializer(serializers.Serializer[Any]):
    """Times in seconds since the window's beginning."""

    first_gpu = serializers.IntegerField(help_text="The index of its first GPU on the node.")
    n_gpus = serializers.IntegerField(help_text="How many GPUs it holds from there on.")
    since_s = serializers.FloatField(help_text="When it began, or the window does.")
    until_s = serializers.FloatField(help_text="When it ended; of a running attempt, now.")
    job = serializers.IntegerField(
        allow_null=True, help_text="The job's place in `jobs`; null: several, or not the caller's to see."
    )
    p50_s = serializers.FloatField(allow_null=True, help_text="The predicted end (median) of a running attempt.")
    p90_s = serializers.FloatField(allow_null=True, help_text="Its predicted end with a probability of 90 %.")
    n = serializers.IntegerField(help_text="The number of attempts; above 1: short ones, merged.")


class TimelineMarkSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=TIMELINE_MARKS, help_text="What happened.")
    gpu = serializers.IntegerField(help_text="The index of the attempt's first GPU on the node.")
    at_s = serializers.FloatField(help_text="When, in seconds since the window's beginning.")
    job = serializers.IntegerField(
        allow_null=True, help_text="The job's place in `jobs`; null: not the caller's to see."
    )


class TimelineNodeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The node's name.")
    gpu_type = serializers.CharField(allow_blank=True, help_text="The type of GPU; empty: the node is gone.")
    n_gpus = serializers.IntegerField(help_text="The number of GPUs.")
    bars = TimelineBarSerializer(many=True, help_text="Who held which GPUs, by GPU and time.")
    marks = TimelineMarkSerializer(many=True, help_text="Preemptions, resizes, failures and checkpoints.")


class TimelineWaitingSerializer(serializers.Serializer[Any]):
    """Times in seconds since the window's beginning, at most its length; null: not predicted."""

    job = serializers.IntegerField(help_text="The place in `jobs` of the job that waits.")
    start_p50_s = serializers.FloatField(help_text="Its predicted start (median).")
    start_p90_s = serializers.FloatField(allow_null=True, help_text="Its predicted start with a probability of 90 %.")
    finish_p50_s = serializers.FloatField(allow_null=True, help_text="Its predicted end (median).")
    finish_p90_s = serializers.FloatField(allow_null=True, help_text="Its predicted end with a probability of 90 %.")


class TimelineJobSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="The job's id.")
    name = serializers.CharField(help_text="The job's name.")
    organisation = serializers.CharField(help_text="The name of its organisation.")
    submitted_at = serializers.DateTimeField(help_text="When it was submitted.")
    allocated_at = serializers.DateTimeField(
        allow_null=True, help_text="When its first attempt got its GPUs; null: it waits since it was submitted."
    )


class TimelineSerializer(serializers.Serializer[Any]):
    since = serializers.DateTimeField(help_text="The window's beginning.")
    until = serializers.DateTimeField(help_text="The window's end.")
    now = serializers.DateTimeField(help_text="The server's time.")
    next_after = serializers.CharField(
        allow_null=True, help_text="`after` of the next page of nodes; null: there are no more."
    )
    nodes = TimelineNodeSerializer(many=True, help_text="Nodes in the order of their names.")
    waiting = TimelineWaitingSerializer(many=True, help_text="The caller's jobs that wait; on the first page only.")
    n_waiting = serializers.IntegerField(
        help_text="How many of the caller's jobs wait and are predicted to start in the window: those that start first "
        "are in `waiting`. 0 on further pages."
    )
    jobs = TimelineJobSerializer(many=True, help_text="The jobs that bars, marks and waiting name.")


class TimelineView(APIView):
    @extend_schema(parameters=[TimelineQuerySerializer], responses=TimelineSerializer)
    def get(self, request: Request) -> Response:
        """Which job held which GPUs when, and predicted ends; jobs of other organisations have no names."""
        query = read_query(TimelineQuerySerializer, request)
        window = window_of(query["window"], until=query.get("until"), now=timezone.now())
        found = timeline_as_seen_by(caller(request), window, after=query.get("after", ""))
        return Response(TimelineSerializer(found).data)
