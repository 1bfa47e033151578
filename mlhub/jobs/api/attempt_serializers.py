# SPDX-License-Identifier: Apache-2.0
"""The JSON of attempts and of failures."""

from __future__ import annotations

from functools import cache
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.core.api.described import described
from mlhub.core.languages.catalogue import in_readers_language
from mlhub.jobs.models import Attempt
from mlhub.wire.exits import Cause, Fault

CAUSES = [(cause.value, cause.message) for cause in Cause]


class PlacementSerializer(serializers.Serializer[Any]):
    node = serializers.CharField(help_text="The node's name.")
    slots = serializers.ListField(child=serializers.IntegerField(), help_text="The indices of the GPUs.")
    n_servers = serializers.IntegerField(help_text="Parameter servers on the node.")


class FailureSerializer(serializers.Serializer[Any]):
    cause = serializers.ChoiceField(choices=CAUSES, help_text="What went wrong, as a code.")
    fault = serializers.ChoiceField(
        choices=[fault.value for fault in Fault],
        help_text="Whose fault it is: of the user's code or data, or of the platform.",
    )
    message = serializers.CharField(help_text="What happened, for people.")
    remedy = serializers.CharField(allow_blank=True, help_text="What to do about it; empty where nothing is known.")
    field = serializers.CharField(allow_null=True, help_text="What of the job or its code it is about, where known.")
    traceback = serializers.CharField(allow_null=True, help_text="The traceback of the user's code; null without one.")

    def to_representation(self, instance: Any) -> dict[str, Any]:
        shown = super().to_representation(instance)
        return {**shown, **{name: in_readers_language(shown[name]) for name in ("message", "remedy") if name in shown}}


class AttemptSerializer(serializers.ModelSerializer[Attempt]):
    cause = serializers.ChoiceField(
        choices=CAUSES, allow_blank=True, read_only=True, help_text="Why it ended badly; blank otherwise."
    )
    placement = serializers.SerializerMethodField(help_text="The nodes that it holds or held.")

    class Meta:
        model = Attempt
        fields = [
            "id", "number", "mode", "n_workers", "n_servers", "created_at", "started_at", "training_at",
            "stop_asked_at", "ended_at", "outcome", "cause", "message", "first_step", "last_step",
            "predicted_step_s", "measured_step_s", "batch_size", "placement",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = described(
            id="The attempt's id.",
            number="The attempt's number within the job, from 1.",
            mode="How workers exchange gradients: all_reduce or parameter_server.",
            n_workers="The number of workers.",
            n_servers="The number of parameter servers.",
            created_at="When it was launched.",
            started_at="When all its pods ran; null before.",
            training_at="When it made its first step; null before.",
            stop_asked_at="When it was asked to stop; null: never.",
            ended_at="When it ended; null before.",
            outcome="How it ended: succeeded, preempted, failed or stopped; empty before.",
            cause="The cause of a failure; empty without one.",
            message="The failure in words; empty without one.",
            first_step="The step at which it began or resumed.",
            last_step="The last step that it reported.",
            predicted_step_s="The predicted time of a step, in seconds.",
            measured_step_s="The measured time of a step, in seconds.",
            batch_size="The batch that it trains with, or did last, where the scheduler chooses it; null: it is fixed.",
        )

    @extend_schema_field(PlacementSerializer(many=True))
    def get_placement(self, attempt: Attempt) -> list[dict[str, Any]]:
        held = sorted(attempt.allocations.all(), key=lambda a: a.node)
        return [{"node": a.node, "slots": a.slots, "n_servers": a.n_servers} for a in held]


@cache
def _of_attempts() -> AttemptSerializer:
    return AttemptSerializer()


def attempt_json(attempt: Attempt) -> dict[str, Any]:
    """An attempt as its job shows it. The serializer is made once: that costs as much as several queries."""
    return dict(_of_attempts().to_representation(attempt))
