# SPDX-License-Identifier: Apache-2.0
"""Rules of retention as JSON."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.core.api.strict import FiniteFloatField, StrictSerializer
from mlhub.jobs.retention_rules import KIND_CHOICES, MOST_DAYS

MAX_VERSION = 2**31 - 1
MEANINGS = {
    "logs": "Lines of attempts, from the attempt's end on.",
    "metrics": "Points of curves, from the job's end on; final metrics stay.",
    "usage": "Resource use of pods, from the attempt's end on.",
    "results": "Files of predictions, from the attempt's end on.",
    "checkpoints": "Checkpoints of jobs that succeeded or were cancelled, from the end on; pinned ones stay.",
    "failed_checkpoints": "Checkpoints of jobs that failed, and folders of notebooks; pinned ones stay.",
}


class StoredPartSerializer(serializers.Serializer[Any]):
    n_items = serializers.IntegerField(help_text="Lines, points, samples, files or checkpoints.")
    n_jobs = serializers.IntegerField(help_text="The jobs that they are of.")
    n_bytes = serializers.IntegerField(help_text="What they take, in bytes; of points and samples about so many.")


class RetentionKindSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=KIND_CHOICES, help_text="What is kept.")
    days = serializers.FloatField(allow_null=True, help_text="Days that it is kept after the end; null: for good.")
    is_own = serializers.BooleanField(help_text="Whether that is the project's own rule.")
    installation_days = serializers.FloatField(
        allow_null=True, help_text="Days that the installation keeps it where a project has no rule; null: for good."
    )
    stored = StoredPartSerializer(help_text="What there is of it; all checkpoints count under checkpoints.")


class RetentionSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(help_text="The version of these rules, which rises with every change.")
    may_edit = serializers.BooleanField(help_text="Whether the caller may change them.")
    least_days = serializers.FloatField(help_text="The fewest days that a rule may give; 0: any number.")
    most_days = serializers.FloatField(allow_null=True, help_text="The most days; null: a rule may keep it for good.")
    kinds = RetentionKindSerializer(many=True, help_text="Each kind with its rule.")


def _days_field(kind: str) -> FiniteFloatField:
    return FiniteFloatField(
        min_value=0,
        max_value=MOST_DAYS,
        allow_null=True,
        required=False,
        help_text=f"{MEANINGS[kind]} Days; 0: for good; null: as the installation has it.",
    )


class RetentionDaysSerializer(StrictSerializer):
    """Days by kind; what is left out stays as it is."""

    logs = _days_field("logs")
    metrics = _days_field("metrics")
    usage = _days_field("usage")
    results = _days_field("results")
    checkpoints = _days_field("checkpoints")
    failed_checkpoints = _days_field("failed_checkpoints")


class RetentionChangeSerializer(RetentionDaysSerializer):
    version = serializers.IntegerField(
        min_value=0,
        max_value=MAX_VERSION,
        required=False,
        help_text="The version that the caller saw; 409 with both versions when it is stale.",
    )


class ReclaimableSerializer(StoredPartSerializer):
    kind = serializers.ChoiceField(choices=KIND_CHOICES, help_text="What would be removed.")
