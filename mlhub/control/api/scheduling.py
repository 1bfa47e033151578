# SPDX-License-Identifier: Apache-2.0
"""The JSON of the scheduler: reasons, decisions, the queue, rounds, settings, shadow and calibration."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.control.api.admission_pause import AdmissionSerializer
from mlhub.control.api.serializers import MAX_COUNT, MAX_HALF_LIFE_S
from mlhub.control.models import DECISIONS, JobDecision, Round, SchedulerSettings, ShadowDecision
from mlhub.control.monitoring.round_health import STOP_CAUSES
from mlhub.core.api.described import described
from mlhub.core.api.fields import TranslatedField
from mlhub.core.api.strict import FiniteFloatField, StrictSerializer
from mlhub.jobs.api.serializers import ExplanationSerializer, JobSerializer
from mlhub.jobs.models import Job
from scheduler.models.cost import Basis
from scheduler.policies import POLICIES, parameters_of

N_QUEUE, MOST_QUEUE = 50, 200


class DecisionSerializer(serializers.ModelSerializer[JobDecision]):
    """A decision that was another than the one before. n_workers, mode and nodes: from then on, of launch and resize.

    round: where it was stored; null when that round changed nothing.
    """

    round = serializers.IntegerField(
        source="round_id",
        allow_null=True,
        read_only=True,
        help_text="The round that stored it; null when that round changed nothing.",
    )
    decision = serializers.ChoiceField(choices=DECISIONS, read_only=True, help_text="What was decided.")
    explanations = ExplanationSerializer(many=True, read_only=True, help_text="Why, in words and numbers.")
    nodes = serializers.ListField(
        child=serializers.CharField(), read_only=True, help_text="The nodes, of a launch or a resize."
    )

    class Meta:
        model = JobDecision
        fields = [
            "id", "at", "round", "policy", "decision", "explanations", "mode", "n_workers", "n_servers", "nodes",
            "predicted_start_at", "predicted_finish_at",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = described(
            id="The id.",
            at="When it was decided.",
            policy="The policy that decided.",
            decision="What was decided: launch, resize, preempt, migrate, keep or wait.",
            mode="How workers exchange gradients from then on; empty for other decisions.",
            n_workers="The number of workers from then on.",
            n_servers="The number of parameter servers from then on.",
            predicted_start_at="When the job is predicted to start; null when unknown.",
            predicted_finish_at="When the job is predicted to finish (median); null when unknown.",
        )


class CostSerializer(serializers.Serializer[Any]):
    """Expected of the next one, give or take error_s in two of three cases. n: measured of the job's own family.

    basis: what it rests on: the family's own, few of its own and others', others' alone, or a guess; of a
    running script's loss, its work that is in no checkpoint yet.
    """

    seconds = serializers.FloatField(help_text="The expected cost of the next one, in seconds.")
    error_s = serializers.FloatField(help_text="The standard error, in seconds.")
    n = serializers.IntegerField(help_text="How many were measured of the job's own family.")
    basis = serializers.ChoiceField(choices=[basis.value for basis in Basis], help_text="What the estimate rests on.")
    sentence = serializers.CharField(help_text="The same in words.")


class CostsSerializer(serializers.Serializer[Any]):
    """start: from launch to the first step. leave: from being asked to. loss: work done again. restart: all three."""

    start = CostSerializer(help_text="From launch to the first step.")
    leave = CostSerializer(help_text="From the request to stop to the release of the GPUs.")
    loss = CostSerializer(help_text="Work that is done again after a restart.")
    restart = CostSerializer(help_text="All three together.")


class QueuedJobSerializer(JobSerializer):
    """place: among all that wait, others' jobs too, from 1; null until a round has seen the job."""

    place = serializers.SerializerMethodField(
        help_text="Its place among all jobs that wait, from 1; null until a round has seen it."
    )

    class Meta(JobSerializer.Meta):
        fields = [*JobSerializer.Meta.always, "place"]
        read_only_fields = fields

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_place(self, job: Job) -> int | None:
        found: int | None = self.context["places"].get(str(job.id))
        return found


class QueueQuerySerializer(StrictSerializer):
    limit = serializers.IntegerField(
        min_value=1, max_value=MAX_COUNT, required=False, default=N_QUEUE, help_text=f"At most {MOST_QUEUE}."
    )
    after = serializers.IntegerField(
        min_value=0, max_value=MAX_COUNT, required=False, default=0, help_text="Only jobs behind that place."
    )
    organisation = serializers.UUIDField(required=False, help_text="Only jobs of this organisation.")
    owner = serializers.CharField(
        max_length=150, required=False, help_text="Only jobs that the person of this user name submitted."
    )
    gpu_type = serializers.CharField(
        max_length=100,
        required=False,
        help_text="Only jobs that may use GPUs of this type; places stay those of the whole queue.",
    )


class RoundsQuerySerializer(StrictSerializer):
    job = serializers.UUIDField(required=False, help_text="Only rounds that acted on this job.")


class QueueSerializer(serializers.Serializer[Any]):
    """In the order in which the scheduler serves them. next: the address of what comes after these."""

    next = serializers.CharField(allow_null=True, help_text="The address of the next page; null on the last one.")
    previous = serializers.CharField(allow_null=True, help_text="The address of the previous page; always null.")
    results = QueuedJobSerializer(many=True, help_text="The jobs of this page.")


class SideSerializer(serializers.Serializer[Any]):
    """What a policy would do with a job."""

    decision = serializers.CharField(help_text="What it decides.")
    reason = serializers.CharField(required=False, help_text="The reason, of a job that waits.")
    mode = serializers.CharField(
        required=False, help_text="How workers exchange gradients: all_reduce or parameter_server."
    )
    n_workers = serializers.IntegerField(required=False, help_text="The number of workers.")
    n_servers = serializers.IntegerField(required=False, help_text="The number of parameter servers.")


class DifferenceSerializer(serializers.Serializer[Any]):
    job = serializers.UUIDField(help_text="The job's id.")
    real = SideSerializer(help_text="What the real policy decided.")
    shadow = SideSerializer(help_text="What the shadow policy would have decided.")


class ShadowBriefSerializer(serializers.ModelSerializer[ShadowDecision]):
    """What the second policy would have done. mean_finish_s: mean predicted time to the end of jobs, its and the real
    policy's."""

    class Meta:
        model = ShadowDecision
        fields = ["policy", "decide_ms", "n_jobs", "n_different", "mean_finish_s", "real_mean_finish_s", "error"]
        read_only_fields = fields
        extra_kwargs = described(
            policy="The shadow policy.",
            decide_ms="How long the policy took, in milliseconds.",
            n_jobs="The number of jobs that the policy decided on.",
            n_different="The number of decisions that differ from the real policy's.",
            mean_finish_s="The shadow policy's mean predicted time to the end of jobs, in seconds.",
            real_mean_finish_s="The real policy's mean predicted time to the end of jobs, in seconds.",
            error="Why the shadow policy failed; empty when it did not.",
        )


class ShadowDetailSerializer(ShadowBriefSerializer):
    differences = DifferenceSerializer(many=True, read_only=True, help_text="The decisions that differ.")

    class Meta(ShadowBriefSerializer.Meta):
        fields = [*ShadowBriefSerializer.Meta.fields, "parameters", "differences"]
        read_only_fields = fields
        extra_kwargs = {
            **ShadowBriefSerializer.Meta.extra_kwargs,
            **described(parameters="The shadow policy's parameters."),
        }


class AppliedSerializer(serializers.Serializer[Any]):
    job = serializers.UUIDField(help_text="The job's id.")
    decision = serializers.CharField(help_text="What was decided on it.")
    outcome = serializers.CharField(
        help_text="launched, resized, preempted, moved (another change was first), delayed, failed"
    )


class RoundSerializer(serializers.ModelSerializer[Round]):
    """round_ms: from looking at the backend to the last change; of it decide_ms the policy."""

    applied = serializers.SerializerMethodField(help_text="The decisions that were carried out, with their outcomes.")
    shadow = serializers.SerializerMethodField(help_text="What the shadow policy would have done; null without one.")

    class Meta:
        model = Round
        fields = [
            "id", "at", "policy", "parameters", "applied", "decide_ms", "round_ms", "n_jobs", "error", "shadow"
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = described(
            id="The round's number.",
            at="When the round began.",
            policy="The policy that decided.",
            parameters="The policy's parameters.",
            decide_ms="How long the policy took, in milliseconds.",
            round_ms="How long the whole round took, in milliseconds.",
            n_jobs="The number of jobs that the policy decided on.",
            error="The error; empty when there was none.",
        )

    @extend_schema_field(AppliedSerializer(many=True))
    def get_applied(self, record: Round) -> list[dict[str, str]]:
        """Of the one job only, where it was asked for."""
        only = self.context.get("job_id")
        return [each for each in record.applied if only is None or each["job"] == only]

    @extend_schema_field(ShadowBriefSerializer(allow_null=True))
    def get_shadow(self, record: Round) -> dict[str, Any] | None:
        if self.context.get("job_id") is not None:
            return None
        shadow: ShadowDecision | None = getattr(record, "shadow", None)
        return self.shadow_serializer(shadow).data if shadow else None

    shadow_serializer: type[ShadowBriefSerializer] = ShadowBriefSerializer


class RoundDetailSerializer(RoundSerializer):
    """With what it saw and answered: `python -m scheduler replay` decides it again."""

    snapshot = serializers.DictField(read_only=True, help_text="What the policy saw.")
    plan = serializers.DictField(
        read_only=True, allow_null=True, help_text="What the policy answered; null when it failed."
    )
    shadow_serializer = ShadowDetailSerializer

    class Meta(RoundSerializer.Meta):
        fields = [*RoundSerializer.Meta.fields, "snapshot", "plan"]
        read_only_fields = fields

    @extend_schema_field(ShadowDetailSerializer(allow_null=True))
    def get_shadow(self, record: Round) -> dict[str, Any] | None:
        return super().get_shadow(record)


class PolicySerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The policy's name.")
    parameters = serializers.DictField(help_text="Each parameter with its default.")


class SchedulerSettingsSerializer(serializers.ModelSerializer[SchedulerSettings]):
    """shadow_policy: "" = none. budget_s: how long a policy may take for a round."""

    parameters = serializers.DictField(help_text="The policy's parameters, by name.")
    shadow_parameters = serializers.DictField(help_text="The shadow policy's parameters, by name.")
    policies = serializers.SerializerMethodField(help_text="The names there are.")
    known = serializers.SerializerMethodField(help_text="The policies that there are, with their parameters.")

    class Meta:
        model = SchedulerSettings
        fields = [
            "policy", "parameters", "budget_s", "shadow_policy", "shadow_parameters", "shares_fairly", "half_life_s",
            "version", "updated_at", "policies", "known",
        ]  # fmt: skip
        read_only_fields = ["policies", "known", "version", "updated_at"]
        extra_kwargs = described(
            policy="The policy that decides.",
            budget_s="How long a policy may take for a round, in seconds.",
            shadow_policy="A second policy that decides without effect; empty: none.",
            shares_fairly="Whether GPUs that no organisation is guaranteed are shared by weight.",
            half_life_s="The half-life of past use, in seconds; 0: only present use counts.",
            version="The version of these settings, which rises with every change.",
            updated_at="When the settings were changed last.",
        )

    def get_policies(self, _: SchedulerSettings) -> list[str]:
        return sorted(POLICIES)

    @extend_schema_field(PolicySerializer(many=True))
    def get_known(self, _: SchedulerSettings) -> list[dict[str, Any]]:
        return [{"name": name, "parameters": parameters_of(name)} for name in sorted(POLICIES)]


class SchedulerChangeSerializer(StrictSerializer):
    """What to change. version: the one that was seen; 409 when it is stale."""

    policy = serializers.CharField(max_length=50, required=False, help_text="The policy that decides.")
    parameters = serializers.DictField(required=False, help_text="The policy's parameters, by name.")
    budget_s = FiniteFloatField(
        min_value=0.1, max_value=600, required=False, help_text="How long a policy may take for a round, in seconds."
    )
    shadow_policy = serializers.CharField(
        max_length=50,
        required=False,
        allow_blank=True,
        help_text="A second policy that decides without effect; empty: none.",
    )
    shadow_parameters = serializers.DictField(required=False, help_text="The shadow policy's parameters, by name.")
    shares_fairly = serializers.BooleanField(
        required=False, help_text="What no organisation is guaranteed goes to them by weight."
    )
    half_life_s = FiniteFloatField(
        min_value=0, max_value=MAX_HALF_LIFE_S, required=False, help_text="Of their use; 0: past use is no matter."
    )
    version = serializers.IntegerField(
        min_value=0,
        max_value=MAX_COUNT,
        required=False,
        help_text="The version that the caller saw; 409 when it is stale.",
    )


class SchedulerFailureSerializer(serializers.Serializer[Any]):
    """kind: raised, overran (its time), died (with its process). round: where it is stored, if it is."""

    at = serializers.DateTimeField(help_text="When it failed.")
    policy = serializers.CharField(help_text="The policy that failed.")
    kind = serializers.CharField(help_text="How it failed: raised, overran or died.")
    message = serializers.CharField(help_text="What happened, for people.")
    round = serializers.IntegerField(allow_null=True, help_text="The round that stored it; null when none did.")


class RoundsStatusSerializer(serializers.Serializer[Any]):
    """Whether scheduling rounds are made. Running jobs go on without them; nothing is started or stopped."""

    attempted_at = serializers.DateTimeField(
        allow_null=True, help_text="When the control loop last began a round; null before the first."
    )
    stopped_since = serializers.DateTimeField(
        allow_null=True, help_text="Since when no round was finished, once that is too long; null: rounds are made."
    )
    cause = serializers.ChoiceField(
        choices=STOP_CAUSES,
        allow_null=True,
        help_text="Why no round is finished: the control loop is away, the cluster cannot be reached, or each round "
        "fails; null: rounds are made.",
    )
    message = serializers.CharField(allow_blank=True, help_text="The last error; for platform administrators.")


class SchedulerStatusSerializer(serializers.Serializer[Any]):
    """policy: what decides now; the fallback policy while chosen_policy fails. n_failures: in a row."""

    policy = serializers.CharField(help_text="The policy that decides now.")
    chosen_policy = serializers.CharField(help_text="The policy of the settings.")
    fallback_since = serializers.DateTimeField(
        allow_null=True, help_text="Since when a fallback policy decides; null: the chosen one does."
    )
    n_failures = serializers.IntegerField(help_text="Failures of the policy in a row.")
    failure = SchedulerFailureSerializer(allow_null=True, help_text="The newest one; for administrators.")
    round_at = serializers.DateTimeField(allow_null=True, help_text="When the last round was; null before the first.")
    round_ms = serializers.FloatField(help_text="How long the last round took, in milliseconds.")
    decide_ms = serializers.FloatField(help_text="How long the policy took in the last round, in milliseconds.")
    n_waiting = serializers.IntegerField(help_text="The number of jobs that wait.")
    rounds = RoundsStatusSerializer(help_text="Whether scheduling rounds are made.")
    backend_away_since = serializers.DateTimeField(
        allow_null=True, help_text="Since when the machines cannot be reached; null: they can."
    )
    backend_message = serializers.CharField(allow_blank=True, help_text="For administrators.")
    admission = AdmissionSerializer(help_text="Whether waiting jobs may be started, or admission is paused.")
    offers_notebooks = serializers.BooleanField(help_text="Whether notebooks can be started on this installation.")
    no_notebooks_because = TranslatedField(
        allow_blank=True, help_text="Why none can be started, and what to do instead; empty: they can."
    )
