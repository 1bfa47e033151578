# SPDX-License-Identifier: Apache-2.0
"""The JSON of jobs and attempts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cache, lru_cache
from typing import Any
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.core.api.described import described
from mlhub.core.api.fields import only_fields
from mlhub.core.languages.catalogue import in_readers_language
from mlhub.core.languages.reasons import sentence_of
from mlhub.datasets.api.serializers import DatasetBriefSerializer
from mlhub.datasets.models import DatasetVersion
from mlhub.environments.api.serializers import EnvironmentBriefSerializer
from mlhub.jobs.api.attempt_serializers import AttemptSerializer, FailureSerializer, attempt_json
from mlhub.jobs.api.further_datasets import FurtherDatasetSerializer
from mlhub.jobs.api.live_members import ON_REQUEST, LiveMembersSerializer
from mlhub.jobs.api.requests import LimitsSerializer, ResourcesSerializer
from mlhub.jobs.execution.inputs import code_of
from mlhub.jobs.limits.ingest_limits import IngestLimit, dropped_reports
from mlhub.jobs.models import Artifact, Job, JobKind, ModeChoice, Preflight, RemovedPart
from mlhub.jobs.progress import StepUnit, step_unit, steps_made
from mlhub.jobs.retention.deletion import Deletion
from mlhub.jobs.states import Intent, JobState
from mlhub.jobs.submission.notebooks import pause_reason
from mlhub.registry.api.serializers import ModelBriefSerializer
from mlhub.registry.models import Kind, ModelVersion
from mlhub.runtime.model.hyperparameters import moved_hints
from mlhub.tenants.api.serializers import ProjectBriefSerializer, UserBriefSerializer

STATES = [(s.value, s.value) for s in JobState]
INTENTS = [(i.value, i.value) for i in Intent]


class ExplanationSerializer(serializers.Serializer[Any]):
    """Why the scheduler decided as it did, in words and numbers."""

    reason = serializers.CharField(help_text="The reason's code, for programs.")
    sentence = serializers.CharField(help_text="The reason in words.")
    facts = serializers.DictField(help_text="The numbers behind it.")

    def to_representation(self, instance: Any) -> dict[str, Any]:
        return {**super().to_representation(instance), "sentence": sentence_of(instance)}


class DeletionSerializer(serializers.Serializer[Deletion]):
    """What deleting a job means."""

    refusal = serializers.CharField(read_only=True, help_text="Why the job cannot be deleted now; empty when it can.")
    remedy = serializers.CharField(read_only=True, help_text="What to do about the refusal; empty without one.")
    n_attempts = serializers.IntegerField(read_only=True, help_text="Attempts that go, with their curves and logs.")
    checkpoint_bytes = serializers.IntegerField(
        read_only=True, allow_null=True, help_text="Bytes of its checkpoints; null where only pods reach them."
    )
    result_bytes = serializers.IntegerField(
        read_only=True, help_text="Bytes of its files: predictions, and what its script left."
    )
    trained_model = serializers.CharField(
        read_only=True, help_text="Name and version of the model that it trained, which stays; empty without one."
    )
    n_clones = serializers.IntegerField(read_only=True, help_text="Jobs that were cloned from it, which stay.")


class DatasetVersionBriefSerializer(serializers.ModelSerializer[DatasetVersion]):
    dataset = DatasetBriefSerializer(read_only=True, help_text="The dataset.")

    class Meta:
        model = DatasetVersion
        fields = ["id", "number", "dataset"]
        extra_kwargs = described(
            id="The version's id.",
            number="The version's number, from 1 on.",
        )


class ModelVersionBriefSerializer(serializers.ModelSerializer[ModelVersion]):
    model = ModelBriefSerializer(read_only=True, help_text="The model.")
    kind = serializers.ChoiceField(choices=Kind.choices, read_only=True, help_text="How the code is written.")

    class Meta:
        model = ModelVersion
        fields = ["id", "number", "model", "kind"]
        extra_kwargs = described(
            id="The version's id.",
            number="The version's number, from 1 on.",
        )


class JobSerializer(LiveMembersSerializer, serializers.ModelSerializer[Job]):
    """As lists show it. waited_s: until the first step; trained_s: since then; jct_s: from submission to the end."""

    project = ProjectBriefSerializer(read_only=True, help_text="The project that it belongs to.")
    created_by = UserBriefSerializer(read_only=True, help_text="Who submitted it.")
    dataset_version = DatasetVersionBriefSerializer(
        read_only=True, allow_null=True, help_text="The dataset version that it reads; null: a script without one."
    )
    datasets = FurtherDatasetSerializer(
        many=True, read_only=True, source="further", help_text="Further datasets that its script reads, by their names."
    )
    model_version = ModelVersionBriefSerializer(read_only=True, help_text="The model version that it trains or uses.")
    kind = serializers.ChoiceField(
        choices=JobKind.choices, read_only=True, help_text="What the job does: train, predict, evaluate or notebook."
    )
    mode = serializers.ChoiceField(
        choices=ModeChoice.choices,
        read_only=True,
        help_text="The mode that was asked for; auto: the scheduler's choice.",
    )
    state = serializers.ChoiceField(choices=STATES, read_only=True, help_text="The job's state.")
    intent = serializers.ChoiceField(
        choices=INTENTS, read_only=True, help_text="What its user wants: run, pause or cancel."
    )
    preflight = serializers.ChoiceField(
        choices=Preflight.choices, read_only=True, help_text="Whether the dry run before scheduling has passed."
    )
    hyperparameters = serializers.DictField(
        read_only=True, help_text="Hyperparameters of the training loop and of the model, by name."
    )
    hints = serializers.SerializerMethodField(
        help_text="Sentences about hyperparameters that have the name of a resource or limit."
    )
    strategy = serializers.DictField(read_only=True, help_text="{}: MLHub's choice.")
    resources = ResourcesSerializer(read_only=True, help_text="What each pod gets, where the user asked for it.")
    limits = LimitsSerializer(read_only=True, help_text="When the platform ends the job, where the user set it.")
    environment = serializers.DictField(
        child=serializers.CharField(), read_only=True, help_text="Environment variables of its pods, by name."
    )
    secrets = serializers.ListField(
        child=serializers.CharField(), read_only=True, help_text="Names of the secrets that its pods get."
    )
    explanations = ExplanationSerializer(many=True, read_only=True, help_text="Why the scheduler decided as it did.")
    pause_reason = serializers.SerializerMethodField(
        help_text="Why the platform paused it; empty where a person did, or it is not paused."
    )
    profile = serializers.DictField(read_only=True, help_text="What the dry run measured.")
    failure = FailureSerializer(read_only=True, allow_null=True, help_text="Why it failed; null otherwise.")
    result_metrics = serializers.DictField(
        child=serializers.FloatField(), read_only=True, help_text="The final metrics, by name."
    )
    validation_problem = serializers.SerializerMethodField(
        help_text="Why the platform could not make the dry run the last time, while it is tried again; empty otherwise."
    )
    step_unit = serializers.SerializerMethodField()
    progress = serializers.SerializerMethodField(
        help_text="0 to 1; null: it has made steps, and nothing says how many there will be."
    )
    waited_s = serializers.SerializerMethodField(help_text="Seconds from submission to the first step, or until now.")
    trained_s = serializers.SerializerMethodField(help_text="Seconds since the first step; null before.")
    jct_s = serializers.SerializerMethodField(help_text="Seconds from submission to the end; null before.")
    tags = serializers.ListField(child=serializers.CharField(), read_only=True, help_text="Its tags, by name.")
    gpu_hours = serializers.SerializerMethodField(
        help_text="GPU-hours that its ended attempts held; a GPU that was shared counts whole."
    )
    current_attempt = serializers.SerializerMethodField(help_text="The newest attempt, also after the end.")

    class Meta:
        model = Job
        always = [
            "id", "kind", "name", "project", "created_by", "cloned_from", "dataset_version", "datasets",
            "model_version", "epochs", "batch_size", "hyperparameters", "hints", "seed", "mode", "strategy",
            "min_workers", "max_workers", "priority", "resources", "limits", "environment", "secrets", "image",
            "target_metric", "target_value", "state",
            "intent", "reason",
            "explanations", "pause_reason", "preflight", "validation_problem", "profile", "failure",
            "steps_done", "steps_total", "step_unit", "epoch", "step_s", "progress", "result_metrics",
            "result_version", "submitted_at", "started_at", "finished_at", "waited_s", "trained_s", "jct_s",
            "predicted_start_at", "predicted_start_p90_at", "predicted_finish_at", "predicted_finish_p90_at",
            "first_predicted_finish_at", "current_attempt", "tags", "gpu_hours",
        ]  # fmt: skip
        fields = [*always, *ON_REQUEST]
        read_only_fields = always
        extra_kwargs = described(
            id="The job's id.",
            name="The job's name.",
            cloned_from="The id of the job that it is a clone of; null: of none.",
            epochs="How often training passes over the dataset.",
            batch_size="The global batch size, in examples.",
            seed="The seed of all random numbers.",
            image="The container image that it names for its workers; empty: its code's, or the platform's.",
            min_workers="The least number of workers.",
            max_workers="The most workers.",
            priority="The priority, -100 to 100; higher goes first.",
            target_metric="The metric to reach; empty: none.",
            target_value="The value of the metric to reach; null: none.",
            reason="The code of the reason for its state.",
            steps_done="Steps made so far.",
            steps_total="Steps of the whole training; 0 before the dry run.",
            epoch="Epochs made so far.",
            step_s="The measured time of a step, in seconds; null before.",
            result_version="The id of the model version with the trained weights; null before.",
            submitted_at="When it was submitted.",
            started_at="When it made its first step; null before.",
            finished_at="When it ended; null before.",
            predicted_start_at="When the job is predicted to start (median); null when unknown.",
            predicted_start_p90_at="When the job is predicted to have started at 90 % probability; null: unknown.",
            predicted_finish_at="When the job is predicted to finish (median); null when unknown.",
            predicted_finish_p90_at="When the job is predicted to have finished at 90 % probability; null: unknown.",
            first_predicted_finish_at="The first prediction of its finish; null without one.",
        )

    def get_hints(self, job: Job) -> list[str]:
        return [in_readers_language(hint) for hint in moved_hints(job.hyperparameters)]

    def get_pause_reason(self, job: Job) -> str:
        return in_readers_language(pause_reason(job))

    def get_validation_problem(self, job: Job) -> str:
        return getattr(job, "validation_problem", None) or ""

    @extend_schema_field(
        serializers.ChoiceField(
            choices=[unit.value for unit in StepUnit],
            help_text="What its steps are; epochs for a script that prints them and reports no progress.",
        )
    )
    def get_step_unit(self, job: Job) -> str:
        return step_unit(job).value

    def get_progress(self, job: Job) -> float | None:
        if job.state == JobState.SUCCEEDED:
            return 1.0
        if not job.steps_total:
            return None if job.steps_done else 0.0
        return min(1.0, steps_made(job) / job.steps_total)

    def get_waited_s(self, job: Job) -> float | None:
        return _seconds(job.submitted_at, job.started_at or _end(job))

    def get_trained_s(self, job: Job) -> float | None:
        return _seconds(job.started_at, _end(job)) if job.started_at else None

    def get_jct_s(self, job: Job) -> float | None:
        return _seconds(job.submitted_at, job.finished_at) if job.finished_at else None

    def get_gpu_hours(self, job: Job) -> float:
        return job.gpu_s / 3600

    @extend_schema_field(AttemptSerializer(allow_null=True))
    def get_current_attempt(self, job: Job) -> dict[str, Any] | None:
        attempts = sorted(job.attempts.all(), key=lambda a: a.number)
        return attempt_json(attempts[-1]) if attempts else None


class ResultFileSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The file's name.")
    size_bytes = serializers.IntegerField(help_text="The size in bytes.")


class DroppedReportsSerializer(serializers.Serializer[Any]):
    limit = serializers.ChoiceField(choices=[(v.value, v.value) for v in IngestLimit], help_text="Which limit.")
    part = serializers.ChoiceField(choices=["log", "metrics"], help_text="What it limits.")
    n = serializers.IntegerField(help_text="How many lines or points were dropped.")
    sentence = serializers.CharField(help_text="The same for people, with the limit.")


class RemovedPartSerializer(serializers.ModelSerializer[RemovedPart]):
    """What was removed because its time was over, as the platform's settings have it."""

    kind = serializers.ChoiceField(
        choices=["logs", "metrics", "events", "results"], help_text="What: logs, metrics, events ..."
    )

    class Meta:
        model = RemovedPart
        fields = ["kind", "before", "kept_days", "n_removed", "at"]
        read_only_fields = fields
        extra_kwargs = described(
            before="What ended, or happened, before this time was removed.",
            kept_days="After how many days.",
            n_removed="How many lines, points, events or files in all.",
            at="When it was removed last.",
        )


class JobDetailSerializer(JobSerializer):
    """With all attempts, and the cursor from which /jobs/{id}/stream goes on."""

    notes = serializers.CharField(read_only=True, help_text="What people wrote about it.")
    prediction = serializers.DictField(read_only=True, help_text="Of predict and evaluate: what was asked; else {}.")
    result_file = serializers.SerializerMethodField(help_text="Of predict: what /jobs/{id}/result gives, once done.")
    attempts = serializers.SerializerMethodField(help_text="All attempts, oldest first.")
    validated_by = serializers.SerializerMethodField(
        help_text="The id of the earlier job whose dry run counts for this one too; null: it had one of its own."
    )
    validated_at = serializers.DateTimeField(
        source="validation.at",
        default=None,
        read_only=True,
        allow_null=True,
        help_text="When that dry run passed; null before, and once the platform has forgotten it.",
    )
    code_environment = serializers.SerializerMethodField(
        help_text="The packages that the job's code requires, which it waits for; null when it requires none."
    )
    code_image = serializers.SerializerMethodField(help_text="The container image that its code brings; empty: none.")
    dropped = serializers.SerializerMethodField(help_text="Log lines and points that were over a limit.")
    removed_parts = RemovedPartSerializer(many=True, read_only=True, help_text="What retention removed of the job.")
    cursor = serializers.SerializerMethodField(help_text="Where the job's stream continues after this.")

    class Meta(JobSerializer.Meta):
        fields = [
            *JobSerializer.Meta.always,
            "notes",
            "prediction",
            "result_file",
            "attempts",
            "validated_by",
            "validated_at",
            "code_environment",
            "code_image",
            "dropped",
            "removed_parts",
            "cursor",
        ]
        read_only_fields = fields

    @extend_schema_field(EnvironmentBriefSerializer(allow_null=True))
    def get_code_environment(self, job: Job) -> dict[str, Any] | None:
        environment = code_of(job.model_version).environment
        return None if environment is None else EnvironmentBriefSerializer(environment).data

    def get_code_image(self, job: Job) -> str:
        return code_of(job.model_version).image

    @extend_schema_field(AttemptSerializer(many=True))
    def get_attempts(self, job: Job) -> list[dict[str, Any]]:
        return [attempt_json(a) for a in sorted(job.attempts.all(), key=lambda a: a.number)]

    def get_validated_by(self, job: Job) -> UUID | None:
        by = None if job.validation is None else job.validation.job_id
        return by if by != job.pk else None

    @extend_schema_field(ResultFileSerializer(allow_null=True))
    def get_result_file(self, job: Job) -> dict[str, Any] | None:
        found = Artifact.objects.of_result(job).first()
        return None if found is None else {"name": found.name, "size_bytes": found.blob.size_bytes}

    @extend_schema_field(DroppedReportsSerializer(many=True))
    def get_dropped(self, job: Job) -> list[dict[str, Any]]:
        counts = Job.objects.filter(pk=job.pk).values_list("stream_cursor__dropped", flat=True).first()
        return [dict(DroppedReportsSerializer(found).data) for found in dropped_reports(counts or {})]

    def get_cursor(self, job: Any) -> str:
        return str(job.cursor)


def _end(job: Job) -> datetime:
    return job.finished_at or timezone.now()


def _seconds(begin: datetime | None, end: datetime | None) -> float | None:
    return None if begin is None or end is None else max(0.0, (end - begin).total_seconds())


# Serializers that ask for nothing of the request are made once: to make one costs as much as several queries.
@lru_cache(maxsize=32)
def _of_lists(members: frozenset[str]) -> JobSerializer:
    found: JobSerializer = only_fields(JobSerializer(), members)
    return found


@cache
def _of_one() -> JobDetailSerializer:
    return JobDetailSerializer()


def job_json(job: Job) -> dict[str, Any]:
    """A job as lists show it."""
    return jobs_json([job])[0]


def jobs_json(jobs: Iterable[Job], members: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
    """Jobs as lists show them: these members of each, or all. Raises InvalidQueryError for a name that none has."""
    made = _of_lists(members)
    return [dict(made.to_representation(job)) for job in jobs]


def job_detail_json(job: Job, cursor: str) -> dict[str, Any]:
    """A job as its page shows it. cursor: where its stream goes on, from before the job was read."""
    read: Any = job
    read.cursor = cursor
    return dict(_of_one().to_representation(job))
