# SPDX-License-Identifier: Apache-2.0
"""The JSON of how well the scheduler predicts, what restarts cost, and what its shadow policy would have done."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.control.api.scheduling import CostsSerializer
from mlhub.control.models import ForecastMoment


def figure_field(help_text: str) -> serializers.FloatField:
    """A number that is null where nothing was measured."""
    return serializers.FloatField(allow_null=True, help_text=help_text)


def moment_field(**kwargs: Any) -> serializers.ChoiceField:
    return serializers.ChoiceField(
        choices=ForecastMoment.choices, help_text="When the forecast was made: at submission or at launch.", **kwargs
    )


class ShadowSummarySerializer(serializers.Serializer[Any]):
    """Over the newest rounds. mean_finish_s: mean predicted time to the end, the shadow's and the real policy's."""

    policy = serializers.CharField(help_text="The shadow policy.")
    n_rounds = serializers.IntegerField(help_text="The number of rounds that were compared.")
    n_failed = serializers.IntegerField(help_text="In how many of them the shadow policy failed.")
    n_decisions = serializers.IntegerField(help_text="The number of decisions that were compared.")
    n_different = serializers.IntegerField(help_text="The number of decisions that differ from the real policy's.")
    decide_ms = figure_field("The shadow policy's mean time for a round, in milliseconds.")
    mean_finish_s = figure_field("The shadow policy's mean predicted time to the end of jobs, in seconds.")
    real_mean_finish_s = figure_field("The real policy's mean predicted time to the end of jobs, in seconds.")
    last_error = serializers.CharField(
        allow_blank=True, help_text="The newest error of the shadow policy; empty without one."
    )


class CalibrationSerializer(serializers.Serializer[Any]):
    """within_p90: share of jobs that ended by their P90. median_error: |actual - P50| / P50. median_bias: signed."""

    n = serializers.IntegerField(help_text="The number of forecasts that were compared with what happened.")
    within_p90 = figure_field("The share of jobs that ended by their P90, 0 to 1; null without forecasts.")
    median_error = figure_field("The median of |actual - P50| / P50; null without forecasts.")
    median_bias = figure_field("The median of (actual - P50) / P50; positive: later than predicted.")
    n_waited = serializers.IntegerField(help_text="Of these forecasts, those of jobs that had to wait for their start.")
    started_within_p90 = figure_field(
        "The share of the jobs that had to wait that started by their P90, 0 to 1; null without such jobs."
    )


class CalibrationMomentSerializer(CalibrationSerializer):
    moment = moment_field(source="of")


class CalibrationOrganisationSerializer(CalibrationSerializer):
    organisation = serializers.CharField(source="of", help_text="The name of the organisation whose jobs these are.")


class CalibrationCauseSerializer(CalibrationSerializer):
    cause = serializers.CharField(
        source="of",
        allow_blank=True,
        help_text="The code of the reason for which the jobs waited when the forecast was made; empty: they started.",
    )


class JobNameSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="The job's id.")
    name = serializers.CharField(help_text="The job's name.")


class EndSerializer(serializers.Serializer[Any]):
    """A forecast that came to its end; seconds from made_at."""

    job = JobNameSerializer(help_text="The job that ended.")
    moment = moment_field()
    policy = serializers.CharField(help_text="The policy that was in use.")
    made_at = serializers.DateTimeField(help_text="When the forecast was made.")
    predicted_s = serializers.FloatField(help_text="The predicted time to the end, in seconds from made_at.")
    actual_s = serializers.FloatField(help_text="The actual time to the end, in seconds from made_at.")
    within_p90 = serializers.BooleanField(
        allow_null=True, help_text="Whether the job ended by its P90; null when the forecast had none."
    )


class FamilyCostsSerializer(CostsSerializer):
    """job: the newest one of the family."""

    job = JobNameSerializer(help_text="The newest job of the family.")


class RecentRoundsSerializer(serializers.Serializer[Any]):
    """Of the last hour: the rounds that are stored, which are all that change something, and the age of the queue."""

    n_rounds = serializers.IntegerField(help_text="The number of stored rounds in the last hour.")
    round_p50_ms = figure_field("The median time of such a round, in milliseconds; null without rounds.")
    round_p99_ms = figure_field("The 99th percentile of their times, in milliseconds; null without rounds.")
    n_decisions = serializers.IntegerField(help_text="The decisions that they carried out: starts, resizes, stops.")
    oldest_pending_s = figure_field("Seconds since the submission of the oldest pending job; null: none is pending.")


class InsightSerializer(serializers.Serializer[Any]):
    """How well the scheduler predicts, what it expects restarts to cost, and what its shadow policy would do."""

    calibration = CalibrationMomentSerializer(
        many=True, help_text="How well forecasts matched, by the moment at which they were made."
    )
    calibration_by_organisation = CalibrationOrganisationSerializer(
        many=True, help_text="How well forecasts at submission matched, by organisation."
    )
    calibration_by_cause = CalibrationCauseSerializer(
        many=True, help_text="How well forecasts at submission matched, by the reason for which the jobs waited."
    )
    ends = EndSerializer(many=True, help_text="The newest forecasts whose jobs have ended.")
    costs = FamilyCostsSerializer(many=True, help_text="What restarts cost, by family of jobs.")
    rounds = RecentRoundsSerializer(help_text="How fast the last hour's rounds were, and how old the queue is.")
    shadow = ShadowSummarySerializer(allow_null=True, help_text="A summary of the shadow policy; null without one.")
