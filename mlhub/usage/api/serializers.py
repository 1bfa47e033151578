# SPDX-License-Identifier: Apache-2.0
"""The JSON of usage."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from mlhub.core.api.strict import NameOrIdField, StrictSerializer
from mlhub.usage.reports import Dimension

MAX_WINDOW = timedelta(days=400)
USUAL_WINDOW = timedelta(days=30)


class UsageQuerySerializer(StrictSerializer):
    by = serializers.ChoiceField(
        choices=[d.value for d in Dimension],
        default=Dimension.PROJECT.value,
        help_text="What GPU-hours are grouped by; days are those of UTC.",
    )
    since = serializers.DateTimeField(
        required=False, help_text="The beginning of the time reported; 30 days before its end, if left out."
    )
    until = serializers.DateTimeField(required=False, help_text="The end of the time reported; now, if left out.")
    organisation = NameOrIdField(required=False, help_text="Only the use of this organisation, by id or name.")
    team = serializers.UUIDField(
        required=False, help_text="Only the use of this team and of those that were below it at that time."
    )
    project = NameOrIdField(required=False, help_text="Only the use of this project, by id or name.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        until: datetime = attrs.get("until") or timezone.now()
        try:
            since: datetime = attrs.get("since") or until - USUAL_WINDOW
        except OverflowError as error:
            raise serializers.ValidationError({"until": ["This is too early."]}) from error
        if since >= until:
            raise serializers.ValidationError({"since": ["This is not before `until`; give an earlier time."]})
        if until - since > MAX_WINDOW:
            raise serializers.ValidationError(
                {
                    "since": [
                        f"A report covers at most {MAX_WINDOW.days} days; give a later time, or an earlier `until`."
                    ]
                }
            )
        return {**attrs, "since": since, "until": until}


class UsageRowSerializer(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="The group's id, or the value itself; empty where there is none.")
    name = serializers.CharField(help_text="The group's name, as it was at last.")
    gpu_hours = serializers.FloatField(help_text="GPU-hours held. Attempts that share a GPU divide its time.")
    useful_gpu_hours = serializers.FloatField(help_text="Of them, neither start-up nor lost.")
    startup_gpu_hours = serializers.FloatField(help_text="Of them, before an attempt's first step.")
    lost_gpu_hours = serializers.FloatField(
        help_text="Of them, after the last checkpoint of attempts that were preempted or failed."
    )
    measured_gpu_hours = serializers.FloatField(
        help_text="Of them, for which it was measured how busy their GPUs were: where pods find NVIDIA's driver."
    )
    busy_gpu_hours = serializers.FloatField(
        allow_null=True, help_text="The measured ones times the utilisation; null where nothing was measured."
    )
    idle_gpu_hours = serializers.FloatField(
        allow_null=True, help_text="The measured ones that were not busy; null where nothing was measured."
    )
    cost = serializers.FloatField(allow_null=True, help_text="By the prices of MLHUB_GPU_PRICES; null without a price.")
    n_jobs = serializers.IntegerField(help_text="The number of jobs.")


class UsageReportSerializer(serializers.Serializer[Any]):
    by = serializers.ChoiceField(choices=[d.value for d in Dimension], help_text="What GPU-hours are grouped by.")
    since = serializers.DateTimeField(help_text="The beginning of the time reported.")
    until = serializers.DateTimeField(help_text="The end of the time reported.")
    currency = serializers.CharField(allow_blank=True, help_text="Of the cost: MLHUB_CURRENCY.")
    rows = UsageRowSerializer(many=True, help_text="The groups: most GPU-hours first, days in their order.")
    total = UsageRowSerializer(help_text="All of them together.")
