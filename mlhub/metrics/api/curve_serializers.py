# SPDX-License-Identifier: Apache-2.0
"""The JSON of curves and of the names of metrics."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.core.api.strict import StrictSerializer
from mlhub.metrics.points.curves import MAX_ANSWER_POINTS, MAX_STEP

MAX_NAME = 250
MAX_NAMES = 400
MAX_SEQ = 2**63 - 1


class PointSerializer(serializers.Serializer[Any]):
    step = serializers.IntegerField(help_text="The training step.")
    epoch = serializers.FloatField(help_text="The epoch, as a fraction.")
    value = serializers.FloatField(help_text="The metric's value.")
    at = serializers.DateTimeField(help_text="When it was reported.")
    attempt_number = serializers.IntegerField(help_text="The number of the attempt that reported it.")


class SeriesSerializer(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="The metric's name.")
    points = PointSerializer(many=True, help_text="Its points, by step.")
    is_thinned = serializers.BooleanField(
        help_text="Whether points are left out: of each stretch of steps only the lowest and the highest are here."
    )


class MetricsSerializer(serializers.Serializer[Any]):
    """cursor: where /jobs/{id}/stream goes on from these."""

    series = SeriesSerializer(many=True, help_text="The curves, by name.")
    next = serializers.CharField(
        allow_null=True, help_text="The next `after`; null when these are the last curves of the job."
    )
    next_step = serializers.IntegerField(
        allow_null=True, help_text="With `exact`: the next `first_step`; null when the curve ends here."
    )
    cursor = serializers.CharField(help_text="Where the job's stream continues after this.")


class MetricsQuerySerializer(StrictSerializer):
    key = serializers.CharField(required=False, max_length=MAX_NAME, help_text="Only this metric, such as train/loss.")
    after = serializers.CharField(required=False, max_length=MAX_NAME, help_text="Only metrics behind this name.")
    max_points = serializers.IntegerField(
        min_value=10,
        max_value=MAX_ANSWER_POINTS,
        required=False,
        default=1000,
        help_text=(
            f"The most points of a curve; longer ones are thinned. An answer has at most {MAX_ANSWER_POINTS} points in"
            " all; `next` names where the other curves begin."
        ),
    )
    first_step = serializers.IntegerField(
        min_value=0, max_value=MAX_STEP, required=False, default=0, help_text="Only points from this step on."
    )
    last_step = serializers.IntegerField(
        min_value=0, max_value=MAX_STEP, required=False, default=MAX_STEP, help_text="Only points up to this step."
    )
    since = serializers.IntegerField(
        min_value=0,
        max_value=MAX_SEQ,
        required=False,
        help_text="Only points that were stored after this seq, the second number of a cursor.",
    )
    exact = serializers.BooleanField(
        required=False,
        default=False,
        help_text="With `key`: no point is left out; an answer has the first `max_points`, `next_step` the rest.",
    )


class MetricNameSerializer(serializers.Serializer[Any]):
    """A metric, and its newest point: of the last attempt that reported it."""

    key = serializers.CharField(help_text="The metric's name.")
    n_points = serializers.IntegerField(help_text="How many points of it are stored, of all attempts.")
    last_step = serializers.IntegerField(help_text="The step of its newest point.")
    last_value = serializers.FloatField(help_text="The value of its newest point.")
    attempt_number = serializers.IntegerField(help_text="The number of the attempt that reported its newest point.")


class MetricNamesSerializer(serializers.Serializer[Any]):
    names = MetricNameSerializer(many=True, help_text="The metrics, by name.")
    next = serializers.CharField(allow_null=True, help_text="The next `after`; null on the last page.")


class MetricNamesQuerySerializer(StrictSerializer):
    search = serializers.CharField(
        required=False, default="", max_length=MAX_NAME, help_text="Only metrics whose name contains this, in any case."
    )
    after = serializers.CharField(
        required=False, default="", max_length=MAX_NAME, help_text="Only metrics behind this name."
    )
    limit = serializers.IntegerField(
        min_value=1, max_value=MAX_NAMES, required=False, default=MAX_NAMES, help_text="The most names of an answer."
    )
