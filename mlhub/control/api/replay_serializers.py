# SPDX-License-Identifier: Apache-2.0
"""The JSON of the policy lab: what is to be replayed, and the figures of each policy."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.control.models import PolicyReplay, ReplayState
from mlhub.core.api.described import described
from mlhub.core.api.fields import CalendarTimeField
from mlhub.core.api.strict import StrictSerializer

MOST_POLICIES = 5
MAX_TRACE = 900_000  # characters: below the limit of a JSON body


class ReplayPolicySerializer(StrictSerializer):
    name = serializers.CharField(max_length=50, help_text="The policy's name.")
    parameters = serializers.DictField(default=dict, help_text="The policy's parameters, by name.")


class TraceSerializer(StrictSerializer):
    name = serializers.CharField(max_length=200, default="trace", help_text="The file's name, for messages.")
    text = serializers.CharField(
        max_length=MAX_TRACE,
        trim_whitespace=False,
        help_text="The file's text: CSV or JSON, in a format that `python -m scheduler simulate` reads.",
    )


class ReplayCreateSerializer(StrictSerializer):
    """A period (since, until) or a trace, and the policies to compare with the one that ran."""

    name = serializers.CharField(
        max_length=100, required=False, allow_blank=True, help_text="What the list of replays calls it."
    )
    since = CalendarTimeField(
        required=False, help_text="The beginning of the period; a day before its end if it is not given."
    )
    until = CalendarTimeField(required=False, help_text="The end of the period; now if it is not given.")
    trace = TraceSerializer(required=False, help_text="A trace in place of a period; it runs on the nodes of now.")
    policies = serializers.ListField(
        child=ReplayPolicySerializer(),
        min_length=1,
        max_length=MOST_POLICIES,
        help_text="Policies to compare with the one that ran (of a trace: the one that decides now).",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "trace" in attrs and ("since" in attrs or "until" in attrs):
            raise serializers.ValidationError({"trace": "Give a period or a trace, not both."})
        return attrs


class ReplayProgressSerializer(serializers.Serializer[Any]):
    policy = serializers.CharField(help_text="The policy that is simulated now.")
    n_done = serializers.IntegerField(help_text="Jobs that have ended in its simulation.")
    n_jobs = serializers.IntegerField(help_text="All jobs of the simulation.")


class ReplaySerializer(serializers.ModelSerializer[PolicyReplay]):
    created_by = serializers.SerializerMethodField(help_text="The administrator who asked for it; null: deleted since.")
    state = serializers.ChoiceField(choices=ReplayState.choices, read_only=True, help_text="Where it stands.")
    policies = ReplayPolicySerializer(many=True, read_only=True, help_text="The policies that were asked for.")
    progress = serializers.SerializerMethodField(help_text="How far it is; null while it does not run.")

    class Meta:
        model = PolicyReplay
        fields = [
            "id", "name", "created_by", "created_at", "since", "until", "trace_name", "policies", "state", "progress",
            "error", "started_at", "ended_at",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = described(
            id="The replay's id.",
            name="What the list of replays calls it; empty: nothing.",
            created_at="When it was asked for.",
            since="The beginning of its period; null: it replays a trace.",
            until="The end of its period; null: it replays a trace.",
            trace_name="The name of its trace; empty: it replays a period.",
            error="Why it failed; empty when it did not.",
            started_at="When a worker began with it; null: not yet.",
            ended_at="When it ended; null: not yet.",
        )

    def get_created_by(self, replay: PolicyReplay) -> str | None:
        return replay.created_by.username if replay.created_by else None

    @extend_schema_field(ReplayProgressSerializer(allow_null=True))
    def get_progress(self, replay: PolicyReplay) -> dict[str, Any] | None:
        return replay.progress or None


class OrganisationTimesSerializer(serializers.Serializer[Any]):
    organisation = serializers.CharField(help_text="The organisation's name; of a trace, the tenant's.")
    n_jobs = serializers.IntegerField(help_text="The number of its jobs.")
    mean_jct_s = serializers.FloatField(help_text="The mean completion time of its jobs, in seconds.")


class WorstHitSerializer(serializers.Serializer[Any]):
    job = serializers.CharField(help_text="The job's id.")
    name = serializers.CharField(help_text="The job's name.")
    organisation = serializers.CharField(help_text="The organisation's name.")
    jct_s = serializers.FloatField(help_text="Its completion time under this policy, in seconds.")
    baseline_jct_s = serializers.FloatField(help_text="Its completion time under the policy that ran, in seconds.")


class TimesSerializer(serializers.Serializer[Any]):
    """Completion times in seconds, from submission to the end."""

    n_jobs = serializers.IntegerField(help_text="The number of jobs.")
    mean_jct_s = serializers.FloatField(help_text="The mean completion time, in seconds.")
    median_jct_s = serializers.FloatField(help_text="The median completion time, in seconds.")
    p99_jct_s = serializers.FloatField(help_text="The 99th percentile of completion times, in seconds.")
    curve = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField()),
        help_text="The cumulative distribution: [seconds, share of jobs that took at most so long], ascending.",
    )


class PolicyFiguresSerializer(TimesSerializer):
    makespan_s = serializers.FloatField(help_text="From the first submission to the last end, in seconds.")
    gpu_use = serializers.FloatField(help_text="The share of GPU-seconds that were held, 0 to 1.")
    n_restarts = serializers.IntegerField(help_text="How often jobs were started again after a stop.")
    decide_ms = serializers.FloatField(help_text="The mean time of a decision, in milliseconds.")
    by_organisation = OrganisationTimesSerializer(many=True, help_text="The mean of each organisation.")
    worst_hit = WorstHitSerializer(many=True, help_text="The jobs that end latest relative to the policy that ran.")


class ReplayedPolicySerializer(serializers.Serializer[Any]):
    label = serializers.CharField(help_text="What this result calls it.")  # type: ignore[assignment]
    policy = serializers.CharField(help_text="The policy's name.")
    parameters = serializers.DictField(help_text="Its parameters, by name.")
    error = serializers.CharField(help_text="Why it could not be simulated; empty when it was.")
    figures = PolicyFiguresSerializer(allow_null=True, help_text="What it came to; null when it failed.")


class ReproductionSerializer(serializers.Serializer[Any]):
    """How well the simulator gives what really happened, under the policy that ran."""

    n_jobs = serializers.IntegerField(help_text="Jobs that ended, both really and in the simulation.")
    real_mean_jct_s = serializers.FloatField(help_text="Their mean completion time as it really was, in seconds.")
    simulated_mean_jct_s = serializers.FloatField(help_text="The same as simulated, in seconds.")
    mean_error = serializers.FloatField(help_text="The relative error of the mean; negative: simulated too short.")
    median_job_error = serializers.FloatField(help_text="The median of the jobs' relative errors.")
    p90_job_error = serializers.FloatField(help_text="The relative error that nine jobs of ten stay below.")


class ReplayResultSerializer(serializers.Serializer[Any]):
    reproduction = ReproductionSerializer(
        allow_null=True, help_text="How well the simulator reproduces the period; null for a trace."
    )
    policies = ReplayedPolicySerializer(many=True, help_text="The policies; the first is the one that ran.")
    real = TimesSerializer(allow_null=True, help_text="What really happened; null for a trace.")
    n_jobs = serializers.IntegerField(help_text="Jobs that the figures count.")
    n_before = serializers.IntegerField(help_text="Jobs from before the period, which only held GPUs.")
    left_out = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Jobs that could not be simulated, by reason: never_trained, unknown_length, too_large, unreadable.",
    )
    n_policies = serializers.IntegerField(help_text="How many policies really decided in the period.")
    n_rounds = serializers.IntegerField(
        required=False,
        help_text="Rounds of the period that are stored; absent of a trace. The platform keeps its newest 2,000.",
    )
    rounds_from = serializers.DateTimeField(
        required=False,
        allow_null=True,
        help_text="When the first of them was. Nodes, absences, quotas and the policy that ran are known from then on; "
        "before, they are assumed to have been the same. Null: none is stored, and those of now are assumed.",
    )
    rounds_until = serializers.DateTimeField(
        required=False, allow_null=True, help_text="When the last of them was; null: none is stored."
    )
    n_absences = serializers.IntegerField(help_text="How often a node was away.")
    n_nodes = serializers.IntegerField(help_text="The number of nodes.")
    n_gpus = serializers.IntegerField(help_text="The number of GPUs.")


class ReplayDetailSerializer(ReplaySerializer):
    result = ReplayResultSerializer(read_only=True, allow_null=True, help_text="The figures; null until it succeeded.")

    class Meta(ReplaySerializer.Meta):
        fields = [*ReplaySerializer.Meta.fields, "result"]
        read_only_fields = fields
