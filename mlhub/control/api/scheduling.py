"""The JSON of the scheduler: reasons, decisions, the queue, rounds, settings, shadow and calibration."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.control.models import DECISIONS, ForecastMoment, JobDecision, Round, SchedulerSettings, ShadowDecision
from mlhub.jobs.api.serializers import STATES, ExplanationSerializer, JobSerializer
from mlhub.jobs.models import Job
from scheduler.models.cost import Basis
from scheduler.policies import POLICIES, parameters_of


class DecisionSerializer(serializers.ModelSerializer[JobDecision]):
    """A decision that was another than the one before. n_workers, mode and nodes: from then on, of launch and resize.

    round: where it was stored; null when that round changed nothing.
    """

    round = serializers.IntegerField(source="round_id", allow_null=True, read_only=True)
    decision = serializers.ChoiceField(choices=DECISIONS, read_only=True, help_text="What was decided.")
    explanations = ExplanationSerializer(many=True, read_only=True)
    nodes = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = JobDecision
        fields = [
            "id", "at", "round", "policy", "decision", "explanations", "mode", "n_workers", "n_servers", "nodes",
            "predicted_start_at", "predicted_finish_at",
        ]  # fmt: skip
        read_only_fields = fields


class CostSerializer(serializers.Serializer[Any]):
    """Expected of the next one, give or take error_s in two of three cases. n: measured of the job's own family.

    basis: what it rests on: the family's own, few of its own and others', others' alone, or a guess.
    """

    seconds = serializers.FloatField()
    error_s = serializers.FloatField()
    n = serializers.IntegerField()
    basis = serializers.ChoiceField(choices=[basis.value for basis in Basis])
    sentence = serializers.CharField()


class CostsSerializer(serializers.Serializer[Any]):
    """start: from launch to the first step. leave: from being asked to. loss: work done again. restart: all three."""

    start = CostSerializer()
    leave = CostSerializer()
    loss = CostSerializer()
    restart = CostSerializer()


class WhySerializer(serializers.Serializer[Any]):
    """place: among all that wait, from 1. costs: of the job's family. history: newest first."""

    job = serializers.UUIDField()
    state = serializers.ChoiceField(choices=STATES)
    headline = serializers.CharField()
    explanations = ExplanationSerializer(many=True)
    place = serializers.IntegerField(allow_null=True)
    predicted_start_at = serializers.DateTimeField(allow_null=True)
    predicted_finish_at = serializers.DateTimeField(allow_null=True)
    predicted_finish_p90_at = serializers.DateTimeField(allow_null=True)
    costs = CostsSerializer()
    history = DecisionSerializer(many=True)


class QueuedJobSerializer(JobSerializer):
    """place: among all that wait, others' jobs too, from 1; null until a round has seen the job."""

    place = serializers.SerializerMethodField()

    class Meta(JobSerializer.Meta):
        fields = [*JobSerializer.Meta.fields, "place"]
        read_only_fields = fields

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_place(self, job: Job) -> int | None:
        found: int | None = self.context["places"].get(str(job.id))
        return found


class QueueSerializer(serializers.Serializer[Any]):
    """In the order in which the scheduler serves them. next: the address of what comes after these."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = QueuedJobSerializer(many=True)


class SideSerializer(serializers.Serializer[Any]):
    """What a policy would do with a job."""

    decision = serializers.CharField()
    reason = serializers.CharField(required=False)
    mode = serializers.CharField(required=False)
    n_workers = serializers.IntegerField(required=False)
    n_servers = serializers.IntegerField(required=False)


class DifferenceSerializer(serializers.Serializer[Any]):
    job = serializers.UUIDField()
    real = SideSerializer()
    shadow = SideSerializer()


class ShadowBriefSerializer(serializers.ModelSerializer[ShadowDecision]):
    """What the second policy would have done. mean_finish_s: mean predicted time to the end of jobs, its and the real
    policy's."""

    class Meta:
        model = ShadowDecision
        fields = ["policy", "decide_ms", "n_jobs", "n_different", "mean_finish_s", "real_mean_finish_s", "error"]
        read_only_fields = fields


class ShadowDetailSerializer(ShadowBriefSerializer):
    differences = DifferenceSerializer(many=True, read_only=True)

    class Meta(ShadowBriefSerializer.Meta):
        fields = [*ShadowBriefSerializer.Meta.fields, "parameters", "differences"]
        read_only_fields = fields


class AppliedSerializer(serializers.Serializer[Any]):
    job = serializers.UUIDField()
    decision = serializers.CharField()
    outcome = serializers.CharField(
        help_text="launched, resized, preempted, moved (somebody was first), delayed, failed"
    )


class RoundSerializer(serializers.ModelSerializer[Round]):
    """round_ms: from looking at the backend to the last change; of it decide_ms the policy."""

    applied = serializers.SerializerMethodField()
    shadow = serializers.SerializerMethodField()

    class Meta:
        model = Round
        fields = [
            "id", "at", "policy", "parameters", "applied", "decide_ms", "round_ms", "n_jobs", "error", "shadow"
        ]  # fmt: skip
        read_only_fields = fields

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

    snapshot = serializers.DictField(read_only=True)
    plan = serializers.DictField(read_only=True, allow_null=True)
    shadow_serializer = ShadowDetailSerializer

    class Meta(RoundSerializer.Meta):
        fields = [*RoundSerializer.Meta.fields, "snapshot", "plan"]
        read_only_fields = fields

    @extend_schema_field(ShadowDetailSerializer(allow_null=True))
    def get_shadow(self, record: Round) -> dict[str, Any] | None:
        return super().get_shadow(record)


class PolicySerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    parameters = serializers.DictField(help_text="Each parameter with its default.")


class SchedulerSettingsSerializer(serializers.ModelSerializer[SchedulerSettings]):
    """shadow_policy: "" = none. budget_s: how long a policy may take for a round."""

    parameters = serializers.DictField()
    shadow_parameters = serializers.DictField()
    policies = serializers.SerializerMethodField(help_text="The names there are.")
    known = serializers.SerializerMethodField()

    class Meta:
        model = SchedulerSettings
        fields = [
            "policy", "parameters", "budget_s", "shadow_policy", "shadow_parameters", "shares_fairly", "half_life_s",
            "version", "updated_at", "policies", "known",
        ]  # fmt: skip
        read_only_fields = ["policies", "known", "version", "updated_at"]

    def get_policies(self, _: SchedulerSettings) -> list[str]:
        return sorted(POLICIES)

    @extend_schema_field(PolicySerializer(many=True))
    def get_known(self, _: SchedulerSettings) -> list[dict[str, Any]]:
        return [{"name": name, "parameters": parameters_of(name)} for name in sorted(POLICIES)]


class SchedulerChangeSerializer(serializers.Serializer[None]):
    """What to change. version: the one that was seen; 409 when it is stale."""

    policy = serializers.CharField(max_length=50, required=False)
    parameters = serializers.DictField(required=False)
    budget_s = serializers.FloatField(min_value=0.1, max_value=600, required=False)
    shadow_policy = serializers.CharField(max_length=50, required=False, allow_blank=True)
    shadow_parameters = serializers.DictField(required=False)
    shares_fairly = serializers.BooleanField(
        required=False, help_text="What no organisation is guaranteed goes to them by weight."
    )
    half_life_s = serializers.FloatField(
        min_value=0, max_value=366 * 86400, required=False, help_text="Of their use; 0: past use is no matter."
    )
    version = serializers.IntegerField(required=False)


class SchedulerFailureSerializer(serializers.Serializer[Any]):
    """kind: raised, overran (its time), died (with its process). round: where it is stored, if it is."""

    at = serializers.DateTimeField()
    policy = serializers.CharField()
    kind = serializers.CharField()
    message = serializers.CharField()
    round = serializers.IntegerField(allow_null=True)


class SchedulerStatusSerializer(serializers.Serializer[Any]):
    """policy: what decides now; another than chosen_policy while that one's stand-in does. n_failures: in a row."""

    policy = serializers.CharField()
    chosen_policy = serializers.CharField()
    stands_in_since = serializers.DateTimeField(allow_null=True)
    n_failures = serializers.IntegerField()
    failure = SchedulerFailureSerializer(allow_null=True, help_text="The newest one; for administrators.")
    round_at = serializers.DateTimeField(allow_null=True)
    round_ms = serializers.FloatField()
    decide_ms = serializers.FloatField()
    n_waiting = serializers.IntegerField()
    backend_away_since = serializers.DateTimeField(allow_null=True)
    backend_message = serializers.CharField(allow_blank=True, help_text="For administrators.")


class ShadowSummarySerializer(serializers.Serializer[Any]):
    """Over the newest rounds. mean_finish_s: mean predicted time to the end, the shadow's and the real policy's."""

    policy = serializers.CharField()
    n_rounds = serializers.IntegerField()
    n_failed = serializers.IntegerField()
    n_decisions = serializers.IntegerField()
    n_different = serializers.IntegerField()
    decide_ms = serializers.FloatField(allow_null=True)
    mean_finish_s = serializers.FloatField(allow_null=True)
    real_mean_finish_s = serializers.FloatField(allow_null=True)
    last_error = serializers.CharField(allow_blank=True)


class CalibrationMomentSerializer(serializers.Serializer[Any]):
    """within_p90: share of jobs that ended by their P90. median_error: |actual - P50| / P50. median_bias: signed."""

    moment = serializers.ChoiceField(choices=ForecastMoment.choices)
    n = serializers.IntegerField()
    within_p90 = serializers.FloatField(allow_null=True)
    median_error = serializers.FloatField(allow_null=True)
    median_bias = serializers.FloatField(allow_null=True)


class JobNameSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()


class EndSerializer(serializers.Serializer[Any]):
    """A forecast that came to its end; seconds from made_at."""

    job = JobNameSerializer()
    moment = serializers.ChoiceField(choices=ForecastMoment.choices)
    policy = serializers.CharField()
    made_at = serializers.DateTimeField()
    foretold_s = serializers.FloatField()
    actual_s = serializers.FloatField()
    within_p90 = serializers.BooleanField(allow_null=True)


class FamilyCostsSerializer(CostsSerializer):
    """job: the newest one of the family."""

    job = JobNameSerializer()


class InsightSerializer(serializers.Serializer[Any]):
    """How well the scheduler foretells, what it reckons restarts cost, and what its shadow would have done."""

    calibration = CalibrationMomentSerializer(many=True)
    ends = EndSerializer(many=True)
    costs = FamilyCostsSerializer(many=True)
    shadow = ShadowSummarySerializer(allow_null=True)
