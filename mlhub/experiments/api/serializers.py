# SPDX-License-Identifier: Apache-2.0
"""The JSON of studies and trials."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.core.api.described import described
from mlhub.experiments.algorithms.search import Algorithm, TrialStatus, most_trials
from mlhub.experiments.models import Direction, Study, Trial, Unit
from mlhub.experiments.records import rules_of
from mlhub.experiments.states import StudyState
from mlhub.jobs.api.serializers import DatasetVersionBriefSerializer, ModelVersionBriefSerializer
from mlhub.tenants.api.serializers import ProjectBriefSerializer, UserBriefSerializer

STUDY_STATES = [(s.value, s.value) for s in StudyState]
TRIAL_STATUSES = [(s.value, s.value) for s in TrialStatus]
ALGORITHMS = [(a.value, a.value) for a in Algorithm]


class TrialResultSerializer(serializers.Serializer[Any]):
    """What a trial had reached when it came to a rung."""

    epochs = serializers.FloatField(help_text="The epochs, or steps, after which it was measured.")
    step = serializers.IntegerField(help_text="The step of the measurement.")
    value = serializers.FloatField(help_text="The metric's value.")
    at = serializers.DateTimeField(
        required=False, help_text="When it was reported; left out of results of earlier releases."
    )
    study_gpu_hours = serializers.SerializerMethodField(
        help_text="GPU-hours that all jobs of the study had used when it was recorded; null of earlier releases."
    )

    def get_study_gpu_hours(self, result: dict[str, Any]) -> float | None:
        return result["study_gpu_s"] / 3600 if "study_gpu_s" in result else None


class TrialSerializer(serializers.ModelSerializer[Trial]):
    parameters = serializers.DictField(read_only=True, help_text="The values of the hyperparameters that are searched.")
    status = serializers.ChoiceField(
        choices=TRIAL_STATUSES,
        read_only=True,
        help_text="running: it is trained, or waits for GPUs. waiting: it has reached its rung and may be promoted. "
        "completed: it has reached the last rung. failed, stopped: it is never trained again.",
    )
    results = TrialResultSerializer(many=True, read_only=True, help_text="The result of each rung that it reached.")
    job = serializers.UUIDField(
        source="job_id", read_only=True, allow_null=True, help_text="The id of its job; null before its submission."
    )
    gpu_hours = serializers.SerializerMethodField(help_text="GPU-hours that its job has used.")

    class Meta:
        model = Trial
        fields = [
            "id", "number", "parameters", "status", "rung", "results", "job", "epochs", "gpu_hours", "message",
            "created_at",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = described(
            id="The trial's id.",
            number="The trial's number within the study, from 0 on.",
            rung="The rung, from 0 on, that it has reached or is trained to.",
            epochs="Epochs that its job has trained, or steps, as the study counts.",
            message="Why it failed, was stopped, or does not rest at its rungs; empty otherwise.",
            created_at="When it was made.",
        )

    def get_gpu_hours(self, trial: Trial) -> float:
        return trial.gpu_s / 3600


class TrialCountsSerializer(serializers.Serializer[Any]):
    """Trials by status."""

    running = serializers.IntegerField(help_text="Trials that are trained, or wait for GPUs.")
    waiting = serializers.IntegerField(help_text="Trials that have reached their rung and may be promoted.")
    completed = serializers.IntegerField(help_text="Trials that have reached the last rung.")
    failed = serializers.IntegerField(help_text="Trials that failed.")
    stopped = serializers.IntegerField(help_text="Trials that were stopped.")


class StudySerializer(serializers.ModelSerializer[Study]):
    project = ProjectBriefSerializer(read_only=True, help_text="The project that it belongs to.")
    created_by = UserBriefSerializer(read_only=True, help_text="Who created it.")
    dataset_version = DatasetVersionBriefSerializer(
        read_only=True, allow_null=True, help_text="The dataset version that its jobs read; null: deleted, or none."
    )
    model_version = ModelVersionBriefSerializer(
        read_only=True, allow_null=True, help_text="The model version that its jobs train; null: deleted."
    )
    settings = serializers.DictField(read_only=True, help_text="The settings of its jobs.")
    space = serializers.DictField(read_only=True, help_text="The values that each hyperparameter may have.")
    direction = serializers.ChoiceField(
        choices=Direction.choices, read_only=True, help_text="Whether larger or smaller values are better."
    )
    algorithm = serializers.ChoiceField(choices=ALGORITHMS, read_only=True, help_text="How trials are chosen.")
    rungs = serializers.ListField(
        child=serializers.IntegerField(),
        read_only=True,
        help_text="Epochs, or steps of a script, at which trials are compared, rising; the last are all that a trial "
        "trains.",
    )
    unit = serializers.ChoiceField(
        choices=Unit.choices, read_only=True, help_text="What rungs count: epochs, or the steps that a script reports."
    )
    has_dataset = serializers.BooleanField(
        read_only=True, help_text="Whether its jobs read a dataset; false for a script that reads none."
    )
    state = serializers.ChoiceField(
        choices=STUDY_STATES, read_only=True, help_text="running, paused, or how it ended: completed, stopped, failed."
    )
    trials = serializers.SerializerMethodField(help_text="How many trials there are, by status.")
    n_trials = serializers.SerializerMethodField(help_text="How many trials there are.")
    most_trials = serializers.SerializerMethodField(
        help_text="How many there will be at most: by the limit, or by the points of the space."
    )
    best = serializers.SerializerMethodField(
        help_text="The best trial of those that reached the highest rung; null before the first result."
    )
    epochs = serializers.SerializerMethodField(help_text="Epochs, or steps, that all its jobs have trained.")
    gpu_hours = serializers.SerializerMethodField(help_text="GPU-hours that all its jobs have used.")

    class Meta:
        model = Study
        fields = [
            "id", "name", "project", "created_by", "dataset_version", "model_version", "settings", "space", "metric",
            "direction", "algorithm", "rungs", "unit", "has_dataset", "eta", "seed", "max_parallel", "max_trials",
            "max_epochs", "max_gpu_hours", "state", "reason", "problem", "trials", "n_trials", "most_trials", "best",
            "epochs", "gpu_hours", "created_at", "finished_at",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = described(
            id="The study's id.",
            name="The study's name.",
            metric="The metric that the search improves.",
            eta="Of asha: 1 of so many trials is trained on at each rung.",
            seed="The seed of the search.",
            max_parallel="Trials that are trained or wait for GPUs at the same time.",
            max_trials="How many trials are made at most.",
            max_epochs="Epochs that all trials together may train; null: no limit.",
            max_gpu_hours="GPU-hours after which the study ends; null: no limit.",
            reason="Why it ended, in a sentence; empty before.",
            problem="What keeps it from going on now, such as a full quota; empty otherwise.",
            created_at="When it was created.",
            finished_at="When it ended; null before.",
        )

    @extend_schema_field(TrialCountsSerializer)
    def get_trials(self, study: Study) -> dict[str, int]:
        sums = _sums(study)
        return {status.value: sums.get(status.value, 0) for status in TrialStatus}

    def get_n_trials(self, study: Study) -> int:
        return sum(self.get_trials(study).values())

    def get_most_trials(self, study: Study) -> int:
        return most_trials(rules_of(study))

    @extend_schema_field(TrialSerializer(allow_null=True))
    def get_best(self, study: Study) -> dict[str, Any] | None:
        found: list[Trial] = study.best_trials  # type: ignore[attr-defined]
        return TrialSerializer(found[0]).data if found else None

    def get_epochs(self, study: Study) -> float:
        return float(_sums(study).get("epochs", 0.0))

    def get_gpu_hours(self, study: Study) -> float:
        return float(_sums(study).get("gpu_s", 0.0)) / 3600


def _sums(study: Study) -> dict[str, Any]:
    """study: of with_what_is_shown()."""
    return study.trial_sums or {}  # type: ignore[attr-defined]


class ParameterImportanceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The hyperparameter.")
    share = serializers.FloatField(help_text="The share that it explains, 0 to 1.")


class ImportanceSerializer(serializers.Serializer[Any]):
    """How much each hyperparameter matters by itself."""

    method = serializers.CharField(help_text="How the shares are computed, in words.")
    epochs = serializers.IntegerField(help_text="The epochs after which the trials are compared: the first rung.")
    n_trials = serializers.IntegerField(help_text="Trials that it is computed from.")
    needed = serializers.IntegerField(help_text="Trials that it needs; with fewer, there are no parameters.")
    parameters = ParameterImportanceSerializer(many=True, help_text="Those that were varied, the largest share first.")
