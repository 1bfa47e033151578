# SPDX-License-Identifier: Apache-2.0
"""The JSON of runs from elsewhere, for the dashboard and programs."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from rest_framework import serializers

from mlhub.core.api.described import described
from mlhub.core.api.strict import StrictSerializer
from mlhub.tenants.api.serializers import ProjectBriefSerializer, UserBriefSerializer
from mlhub.tracking.curves import RunCurve
from mlhub.tracking.limits import MAX_KEY
from mlhub.tracking.models import Run, RunSeries

MAX_CURVE_POINTS = 1600
MAX_STEP = 2**63 - 1


class RunSerializer(serializers.ModelSerializer[Run]):
    """A run that a program logged by the MLflow protocol."""

    project = ProjectBriefSerializer(read_only=True, help_text="Where it lives: MLflow's experiment.")
    created_by = UserBriefSerializer(read_only=True, help_text="Who logged it, or whose job did.")
    started_at = serializers.SerializerMethodField(help_text="When it began, by the client's clock.")
    ended_at = serializers.SerializerMethodField(help_text="When it ended, by the client's clock; null until then.")

    class Meta:
        model = Run
        fields = ["id", "name", "status", "project", "created_by", "parent_job", "started_at", "ended_at"]
        read_only_fields = fields
        extra_kwargs = described(
            id="The run's id, MLflow's run_id.",
            name="The run's name.",
            status="What the client last said of it, in MLflow's words.",
            parent_job="The job in whose pods it was started; null for one from elsewhere.",
        )

    def get_started_at(self, run: Run) -> datetime:
        return moment(run.started_ms)

    def get_ended_at(self, run: Run) -> datetime | None:
        return None if run.ended_ms is None else moment(run.ended_ms)


class RunMetricSerializer(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="The metric's name.")
    n_points = serializers.IntegerField(help_text="How many points it has.")
    last_step = serializers.IntegerField(help_text="The step of its newest point.")
    last_value = serializers.SerializerMethodField(help_text="Its newest value; null for one that is not finite.")

    def get_last_value(self, series: RunSeries) -> float | None:
        return finite(series.last_value)


class RunFileSerializer(serializers.Serializer[Any]):
    path = serializers.CharField(help_text="Where it is among the run's artifacts.")
    size_bytes = serializers.IntegerField(source="blob.size_bytes", help_text="Its size in bytes.")


class RunDatasetSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The dataset's name, as the client gave it.")
    digest = serializers.CharField(help_text="What distinguishes its contents, as the client gave it.")


class RunEntrySerializer(serializers.Serializer[Any]):
    """A parameter or a tag."""

    key = serializers.CharField(help_text="Its name.")
    value = serializers.CharField(help_text="Its value, as the client gave it.")


class RunDetailSerializer(RunSerializer):
    n_params = serializers.SerializerMethodField(help_text="How many parameters it has; `/params` lists them.")
    n_tags = serializers.SerializerMethodField(help_text="How many tags it has; `/tags` lists them.")
    n_metrics = serializers.SerializerMethodField(help_text="How many metrics it has; `/metrics/names` lists them.")
    n_artifacts = serializers.SerializerMethodField(help_text="How many files it has; `/artifacts` lists them.")
    n_datasets = serializers.SerializerMethodField(
        help_text="How many datasets it names as inputs; `/datasets` lists them."
    )

    class Meta(RunSerializer.Meta):
        fields = [*RunSerializer.Meta.fields, "n_params", "n_tags", "n_metrics", "n_artifacts", "n_datasets"]
        read_only_fields = fields

    def get_n_params(self, run: Run) -> int:
        return run.params.count()

    def get_n_tags(self, run: Run) -> int:
        return run.tags.count()

    def get_n_metrics(self, run: Run) -> int:
        return run.series.filter(n_points__gt=0).count()

    def get_n_artifacts(self, run: Run) -> int:
        return run.artifacts.count()

    def get_n_datasets(self, run: Run) -> int:
        return run.datasets.count()


class RunCurveQuerySerializer(StrictSerializer):
    key = serializers.CharField(max_length=MAX_KEY, help_text="The metric's name.")
    max_points = serializers.IntegerField(
        min_value=10,
        max_value=MAX_CURVE_POINTS,
        default=MAX_CURVE_POINTS,
        help_text="The most points of the answer; of a longer curve the lowest and highest of each stretch are left.",
    )
    first_step = serializers.IntegerField(
        min_value=-MAX_STEP, max_value=MAX_STEP, required=False, help_text="Only points from this step on."
    )
    last_step = serializers.IntegerField(
        min_value=-MAX_STEP, max_value=MAX_STEP, required=False, help_text="Only points up to this step."
    )


class RunPointSerializer(serializers.Serializer[Any]):
    step = serializers.IntegerField(help_text="The step, as the client counts.")
    at = serializers.DateTimeField(help_text="When it was logged, by the client's clock.")
    value = serializers.FloatField(allow_null=True, help_text="The value; null for one that is not finite.")


class RunCurveSerializer(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="The metric's name.")
    n_points = serializers.IntegerField(help_text="How many points the whole curve has.")
    is_thinned = serializers.BooleanField(help_text="Whether points were left out.")
    points = RunPointSerializer(many=True, help_text="Points by step and time.")


def described_curve(curve: RunCurve) -> dict[str, Any]:
    points = [{"step": step, "at": moment(at_ms), "value": finite(value)} for step, at_ms, value in curve.points]
    return {"key": curve.key, "n_points": curve.n_points, "is_thinned": curve.is_thinned, "points": points}


def moment(at_ms: int) -> datetime:
    """A client's clock reading; what cannot be a time is the epoch."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return datetime.fromtimestamp(0, UTC)


def finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
