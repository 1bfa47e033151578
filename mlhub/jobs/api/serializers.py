"""The JSON of jobs and attempts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.datasets.api.serializers import DatasetBriefSerializer
from mlhub.datasets.models import DatasetVersion
from mlhub.jobs.models import Artifact, Attempt, Job, JobKind, ModeChoice, Preflight
from mlhub.jobs.states import Intent, JobState
from mlhub.registry.api.serializers import ModelBriefSerializer
from mlhub.registry.models import Kind, ModelVersion
from mlhub.tenants.api.serializers import ProjectBriefSerializer, UserBriefSerializer
from mlhub.wire.exits import Cause, Fault

STATES = [(s.value, s.value) for s in JobState]
INTENTS = [(i.value, i.value) for i in Intent]
MAX_WORKERS = 4096
OF_PREDICTION = ("model_of", "features", "output", "examples")
OF_TRAINING = ("model", "epochs", "hyperparameters", "mode", "strategy", "seed", "target_metric", "target_value")


class ExplanationSerializer(serializers.Serializer[Any]):
    """Why the scheduler decided as it did, in words and numbers."""

    reason = serializers.CharField()
    sentence = serializers.CharField()
    facts = serializers.DictField()


CAUSES = [(cause.value, cause.message) for cause in Cause]


class FailureSerializer(serializers.Serializer[Any]):
    cause = serializers.ChoiceField(choices=CAUSES)
    fault = serializers.ChoiceField(choices=[fault.value for fault in Fault])
    message = serializers.CharField()
    remedy = serializers.CharField(allow_blank=True)
    field = serializers.CharField(allow_null=True, help_text="What of the job or its code it is about, where known.")
    traceback = serializers.CharField(allow_null=True)


class PlacementSerializer(serializers.Serializer[Any]):
    node = serializers.CharField()
    slots = serializers.ListField(child=serializers.IntegerField())
    n_servers = serializers.IntegerField()


class AttemptSerializer(serializers.ModelSerializer[Attempt]):
    cause = serializers.ChoiceField(choices=CAUSES, allow_blank=True, read_only=True)
    placement = serializers.SerializerMethodField()

    class Meta:
        model = Attempt
        fields = [
            "id", "number", "mode", "n_workers", "n_servers", "created_at", "started_at", "training_at",
            "stop_asked_at", "ended_at", "outcome", "cause", "message", "first_step", "last_step",
            "predicted_step_s", "measured_step_s", "placement",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(PlacementSerializer(many=True))
    def get_placement(self, attempt: Attempt) -> list[dict[str, Any]]:
        held = sorted(attempt.allocations.all(), key=lambda a: a.node)
        return [{"node": a.node, "slots": a.slots, "n_servers": a.n_servers} for a in held]


class DatasetVersionBriefSerializer(serializers.ModelSerializer[DatasetVersion]):
    dataset = DatasetBriefSerializer(read_only=True)

    class Meta:
        model = DatasetVersion
        fields = ["id", "number", "dataset"]


class ModelVersionBriefSerializer(serializers.ModelSerializer[ModelVersion]):
    model = ModelBriefSerializer(read_only=True)
    kind = serializers.ChoiceField(choices=Kind.choices, read_only=True)

    class Meta:
        model = ModelVersion
        fields = ["id", "number", "model", "kind"]


class JobSerializer(serializers.ModelSerializer[Job]):
    """As lists show it. waited_s: until the first step; trained_s: since then; jct_s: from submission to the end."""

    project = ProjectBriefSerializer(read_only=True)
    created_by = UserBriefSerializer(read_only=True)
    dataset_version = DatasetVersionBriefSerializer(read_only=True)
    model_version = ModelVersionBriefSerializer(read_only=True)
    kind = serializers.ChoiceField(choices=JobKind.choices, read_only=True)
    mode = serializers.ChoiceField(choices=ModeChoice.choices, read_only=True)
    state = serializers.ChoiceField(choices=STATES, read_only=True)
    intent = serializers.ChoiceField(choices=INTENTS, read_only=True)
    preflight = serializers.ChoiceField(choices=Preflight.choices, read_only=True)
    hyperparameters = serializers.DictField(read_only=True)
    strategy = serializers.DictField(read_only=True, help_text="{}: MLHub's choice.")
    explanations = ExplanationSerializer(many=True, read_only=True)
    profile = serializers.DictField(read_only=True)
    failure = FailureSerializer(read_only=True, allow_null=True)
    result_metrics = serializers.DictField(child=serializers.FloatField(), read_only=True)
    progress = serializers.SerializerMethodField(help_text="0 to 1.")
    waited_s = serializers.SerializerMethodField()
    trained_s = serializers.SerializerMethodField()
    jct_s = serializers.SerializerMethodField()
    current_attempt = serializers.SerializerMethodField(help_text="The newest attempt, also after the end.")

    class Meta:
        model = Job
        fields = [
            "id", "kind", "name", "project", "created_by", "cloned_from", "dataset_version", "model_version", "epochs",
            "batch_size", "hyperparameters", "seed", "mode", "strategy", "min_workers", "max_workers",
            "priority", "target_metric", "target_value", "state", "intent", "reason", "explanations", "preflight",
            "profile", "failure", "steps_done", "steps_total", "epoch", "step_s", "progress", "result_metrics",
            "result_version", "submitted_at", "started_at", "finished_at", "waited_s", "trained_s", "jct_s",
            "predicted_start_at", "predicted_finish_at", "predicted_finish_p90_at", "first_predicted_finish_at",
            "current_attempt",
        ]  # fmt: skip
        read_only_fields = fields

    def get_progress(self, job: Job) -> float:
        if job.state == JobState.SUCCEEDED:
            return 1.0
        return min(1.0, job.steps_done / job.steps_total) if job.steps_total else 0.0

    def get_waited_s(self, job: Job) -> float | None:
        return _seconds(job.submitted_at, job.started_at or _end(job))

    def get_trained_s(self, job: Job) -> float | None:
        return _seconds(job.started_at, _end(job)) if job.started_at else None

    def get_jct_s(self, job: Job) -> float | None:
        return _seconds(job.submitted_at, job.finished_at) if job.finished_at else None

    @extend_schema_field(AttemptSerializer(allow_null=True))
    def get_current_attempt(self, job: Job) -> dict[str, Any] | None:
        attempts = sorted(job.attempts.all(), key=lambda a: a.number)
        return AttemptSerializer(attempts[-1]).data if attempts else None


class ResultFileSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    size_bytes = serializers.IntegerField()


class JobDetailSerializer(JobSerializer):
    """With all attempts, and the cursor from which /jobs/{id}/stream goes on."""

    prediction = serializers.DictField(read_only=True, help_text="Of predict and evaluate: what was asked; else {}.")
    result_file = serializers.SerializerMethodField(help_text="Of predict: what /jobs/{id}/result gives, once done.")
    attempts = serializers.SerializerMethodField()
    cursor = serializers.SerializerMethodField()

    class Meta(JobSerializer.Meta):
        fields = [*JobSerializer.Meta.fields, "prediction", "result_file", "attempts", "cursor"]
        read_only_fields = fields

    @extend_schema_field(AttemptSerializer(many=True))
    def get_attempts(self, job: Job) -> list[dict[str, Any]]:
        return [AttemptSerializer(a).data for a in sorted(job.attempts.all(), key=lambda a: a.number)]

    @extend_schema_field(ResultFileSerializer(allow_null=True))
    def get_result_file(self, job: Job) -> dict[str, Any] | None:
        found = Artifact.objects.of_result(job).first()
        return None if found is None else {"name": found.name, "size_bytes": found.blob.size_bytes}

    def get_cursor(self, job: Job) -> str:  # noqa: ARG002 (DRF's signature)
        return str(self.context.get("cursor", "0-0"))


class StrategyParameterSerializer(serializers.Serializer[None]):
    """Bounds are allowed themselves, but for a minimum that a value must be above."""

    name = serializers.CharField()
    kind = serializers.CharField(help_text="int, float, bool or str.")
    default = serializers.JSONField()
    minimum = serializers.FloatField(allow_null=True)
    maximum = serializers.FloatField(allow_null=True)
    choices = serializers.ListField(child=serializers.CharField(), help_text="Of a str; else empty.")


class StrategySerializer(serializers.Serializer[None]):
    """mode: what it runs on; null: either. is_resizable: otherwise min_workers and max_workers must be the same."""

    name = serializers.CharField()
    about = serializers.CharField()
    mode = serializers.CharField(allow_null=True)
    is_resizable = serializers.BooleanField()
    other_names = serializers.ListField(child=serializers.CharField(), help_text="Other frameworks' words for it.")
    parameters = StrategyParameterSerializer(many=True)


class JobSubmitSerializer(serializers.Serializer[None]):
    """Dataset and model; all else is MLHub's choice unless it is given.

    To predict or evaluate: model_of or a model_version with weights; what a training may be told, it may not.
    """

    name = serializers.CharField(max_length=100, required=False, allow_blank=True)
    kind = serializers.ChoiceField(choices=JobKind.choices, required=False, help_text="By default train.")
    model_of = serializers.UUIDField(
        required=False, help_text="A training job that succeeded, to predict or evaluate with what it trained."
    )
    features = serializers.ListField(
        child=serializers.CharField(max_length=300),
        required=False,
        max_length=20,
        help_text="Of predict: layers whose outputs are wanted instead of predictions.",
    )
    output = serializers.ChoiceField(
        choices=["parquet", "npz"], required=False, help_text="Of predict: by default parquet."
    )
    examples = serializers.ChoiceField(
        choices=["all", "held_out"], required=False, help_text="Of predict and evaluate: by default all."
    )
    dataset = serializers.UUIDField(required=False, help_text="Its latest ready version is used.")
    dataset_version = serializers.UUIDField(required=False)
    model = serializers.UUIDField(required=False, help_text="Its latest uploaded version is used.")
    model_version = serializers.UUIDField(required=False)
    epochs = serializers.IntegerField(min_value=1, max_value=100_000, required=False)
    batch_size = serializers.IntegerField(
        min_value=1, max_value=1_000_000, required=False, help_text="The global batch, in examples."
    )
    project = serializers.UUIDField(required=False, help_text="By default the dataset's.")
    hyperparameters = serializers.DictField(required=False)
    mode = serializers.ChoiceField(choices=ModeChoice.choices, required=False)
    strategy = serializers.DictField(
        required=False, help_text='Such as {"name": "ssp", "staleness": 3}; /api/v1/strategies lists them.'
    )
    min_workers = serializers.IntegerField(min_value=1, max_value=MAX_WORKERS, required=False)
    max_workers = serializers.IntegerField(min_value=1, max_value=MAX_WORKERS, required=False)
    priority = serializers.IntegerField(min_value=-100, max_value=100, required=False)
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, required=False)
    target_metric = serializers.CharField(max_length=100, required=False, allow_blank=True)
    target_value = serializers.FloatField(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        kind = attrs.get("kind", JobKind.TRAIN)
        if ("dataset" in attrs) == ("dataset_version" in attrs):
            raise serializers.ValidationError({"dataset": "Give either dataset or dataset_version."})
        either = "model" if kind == JobKind.TRAIN else "model_of"
        if (either in attrs) == ("model_version" in attrs):
            raise serializers.ValidationError({either: f"Give either {either} or model_version."})
        foreign = OF_PREDICTION if kind == JobKind.TRAIN else OF_TRAINING
        for name in foreign:
            if name in attrs:
                raise serializers.ValidationError({name: f"A job of kind {kind} does not take {name}: leave it out."})
        return attrs


class JobCloneSerializer(serializers.Serializer[None]):
    """What shall be different from the job that is cloned."""

    name = serializers.CharField(max_length=100, required=False, allow_blank=True)
    epochs = serializers.IntegerField(min_value=1, max_value=100_000, required=False)
    batch_size = serializers.IntegerField(min_value=1, max_value=1_000_000, required=False)
    hyperparameters = serializers.DictField(required=False)
    mode = serializers.ChoiceField(choices=ModeChoice.choices, required=False)
    strategy = serializers.DictField(required=False)
    min_workers = serializers.IntegerField(min_value=1, max_value=MAX_WORKERS, required=False)
    max_workers = serializers.IntegerField(min_value=1, max_value=MAX_WORKERS, required=False)
    priority = serializers.IntegerField(min_value=-100, max_value=100, required=False)
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, required=False)


def _end(job: Job) -> datetime:
    return job.finished_at or timezone.now()


def _seconds(begin: datetime | None, end: datetime | None) -> float | None:
    return None if begin is None or end is None else max(0.0, (end - begin).total_seconds())
