"""The JSON of curves, log lines and speeds, and of what pods send."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.metrics.models import SpeedSample
from mlhub.wire.measurements import MEASUREMENTS, MeasurementUnit, known
from mlhub.wire.report import LOG, MAX_BATCH_LINES, REPORTS


class PointSerializer(serializers.Serializer[Any]):
    step = serializers.IntegerField()
    epoch = serializers.FloatField()
    value = serializers.FloatField()
    at = serializers.DateTimeField()
    attempt_number = serializers.IntegerField()


class SeriesSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    points = PointSerializer(many=True)


class MetricsSerializer(serializers.Serializer[Any]):
    """cursor: where /jobs/{id}/stream goes on from these."""

    series = SeriesSerializer(many=True)
    cursor = serializers.CharField()


class MetricsQuerySerializer(serializers.Serializer[None]):
    key = serializers.CharField(required=False)
    max_points = serializers.IntegerField(min_value=10, max_value=100_000, required=False, default=1000)


class LogLineSerializer(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    attempt_number = serializers.IntegerField()
    role = serializers.CharField()
    index = serializers.IntegerField()
    number = serializers.IntegerField()
    text = serializers.CharField()


class LogSerializer(serializers.Serializer[Any]):
    """Oldest first; the last line's seq is the next `after`."""

    lines = LogLineSerializer(many=True)
    cursor = serializers.CharField()


class LogQuerySerializer(serializers.Serializer[None]):
    after = serializers.IntegerField(min_value=0, required=False, default=0)
    limit = serializers.IntegerField(min_value=1, max_value=10_000, required=False, default=1000)
    role = serializers.ChoiceField(choices=["worker", "server"], required=False)
    index = serializers.IntegerField(min_value=0, required=False)


class MeasuredValueSerializer(serializers.Serializer[None]):
    """A value that the job's pods measured, with what a page says about it."""

    name = serializers.CharField(help_text="The name under which pods report it.")
    title = serializers.CharField(help_text="What people call it.")
    unit = serializers.ChoiceField(choices=[(u.value, u.value) for u in MeasurementUnit], help_text="A share: 0 to 1.")
    about = serializers.CharField(help_text="What it means, in a sentence.")
    value = serializers.FloatField(help_text="The newest value.")


class SpeedSerializer(serializers.ModelSerializer[SpeedSample]):
    """wait_s is a part of sync_s. staleness[s]: pushes used s versions late, over all servers; the last: or more."""

    attempt_number = serializers.IntegerField(source="attempt.number")
    measured = serializers.SerializerMethodField(help_text="What else the pods measured, in the order of the page.")
    staleness = serializers.SerializerMethodField()
    n_discarded = serializers.SerializerMethodField()

    class Meta:
        model = SpeedSample
        fields = [
            "attempt_number", "mode", "n_workers", "n_servers", "n_nodes", "n_racks", "gpu_type", "batch_size",
            "step_s", "compute_s", "sync_s", "input_s", "wait_s", "n_steps", "updated_at",
            "measured", "staleness", "n_discarded",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(MeasuredValueSerializer(many=True))
    def get_measured(self, sample: SpeedSample) -> list[dict[str, Any]]:
        values = known(sample.measured)
        return [
            {"name": name, "title": m.title, "unit": m.unit, "about": m.about, "value": values[name]}
            for name, m in MEASUREMENTS.items()
            if name in values
        ]

    def get_staleness(self, sample: SpeedSample) -> list[int]:
        each = [shard.counts for shard in sample.attempt.staleness.all()]
        return [sum(counts) for counts in zip_longest(*each, fillvalue=0)]

    def get_n_discarded(self, sample: SpeedSample) -> int:
        return sum(shard.n_discarded for shard in sample.attempt.staleness.all())


class SpeedsSerializer(serializers.Serializer[Any]):
    """What each attempt measured of itself: mean step times, split into their parts (seconds), and the rest."""

    samples = SpeedSerializer(many=True)


class LinesSerializer(serializers.Serializer[None]):
    """A batch of one stream of one pod (mlhub/wire/report.py)."""

    version = serializers.ChoiceField(choices=[1])
    role = serializers.ChoiceField(choices=["worker", "server"])
    index = serializers.IntegerField(min_value=0, max_value=100_000)
    stream = serializers.ChoiceField(choices=[REPORTS, LOG])
    first = serializers.IntegerField(min_value=0)
    lines = serializers.ListField(child=serializers.JSONField(), max_length=MAX_BATCH_LINES)


class NextSerializer(serializers.Serializer[Any]):
    next = serializers.IntegerField(help_text="The number of the line that is wanted next.")
