# SPDX-License-Identifier: Apache-2.0
"""The JSON of a request for a study."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.core.api.strict import FiniteFloatField, NameOrIdField, StrictSerializer
from mlhub.experiments.algorithms.search import Algorithm
from mlhub.experiments.extension import MOST_EPOCHS, MOST_GPU_HOURS
from mlhub.experiments.models import MOST_TRIALS, Direction
from mlhub.jobs.api.requests import JobSettingsSerializer, JobSubmitSerializer
from mlhub.jobs.models import JobKind

MOST_STEPS = 2**31 - 1
NOT_OF_TRIALS = ("name", "model_of", "datasets")


@extend_schema_field(
    {
        "oneOf": [
            {"type": "object", "additionalProperties": True, "description": "The values of each hyperparameter."},
            {"type": "string", "description": "The same as YAML."},
        ],
        "description": "The values that each hyperparameter may have, by its name; or the same as YAML.",
    }
)
class SpaceField(serializers.Field[Any, Any, Any, Any]):
    """A mapping or text; algorithms/space_files.py reads it, and says what is wrong with it."""

    def to_internal_value(self, data: Any) -> Any:
        return data


class StudyCreateSerializer(StrictSerializer):
    """A search for hyperparameters: what jobs to submit, which values to try, and how far to go."""

    name = serializers.CharField(
        max_length=80, help_text="The study's name; its jobs are named after it and the trial's number."
    )
    job = JobSubmitSerializer(
        help_text="The job of a trial, as POST /jobs takes it, without name and datasets. `epochs` is what a trial "
        "trains at most; the trial's hyperparameters are added to its own. priority is by default -50."
    )
    space = SpaceField(help_text="The values that each hyperparameter may have, by its name; or the same as YAML.")
    metric = serializers.CharField(
        max_length=250, help_text="The metric that jobs report and the search improves, such as eval/accuracy."
    )
    direction = serializers.ChoiceField(
        choices=Direction.choices, help_text="Whether larger or smaller values of the metric are better."
    )
    algorithm = serializers.ChoiceField(
        choices=[(a.value, a.value) for a in Algorithm], default=Algorithm.ASHA, help_text="How trials are chosen."
    )
    eta = serializers.IntegerField(
        min_value=2, max_value=10, default=2, help_text="Of asha: 1 of so many trials is trained on at each rung."
    )
    min_epochs = serializers.IntegerField(
        min_value=1,
        max_value=100_000,
        required=False,
        help_text="Of asha: epochs of the first rung; by default 1/16 of the job's, or more where max_trials are few.",
    )
    steps = serializers.IntegerField(
        min_value=2,
        max_value=MOST_STEPS,
        required=False,
        help_text="Of a script: the step, as it reports steps, to which a trial is trained; rungs are then steps.",
    )
    min_steps = serializers.IntegerField(
        min_value=1,
        max_value=MOST_STEPS,
        required=False,
        help_text="Of asha with steps: the first rung; by default 1/16 of the steps, or more where max_trials are few.",
    )
    seed = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, default=0, help_text="The seed of the search; not that of its jobs."
    )
    max_parallel = serializers.IntegerField(
        min_value=1, max_value=500, default=4, help_text="Trials that are trained or wait for GPUs at the same time."
    )
    max_trials = serializers.IntegerField(
        min_value=1, max_value=MOST_TRIALS, default=27, help_text="How many trials are made at most."
    )
    max_epochs = serializers.IntegerField(
        min_value=1,
        max_value=2**31 - 1,
        required=False,
        allow_null=True,
        help_text="Epochs that all trials together may train; by default no limit.",
    )
    max_gpu_hours = FiniteFloatField(
        min_value=0.0001,
        max_value=1e9,
        required=False,
        allow_null=True,
        help_text="GPU-hours after which the study ends; by default no limit.",
    )

    def validate_job(self, job: dict[str, Any]) -> dict[str, Any]:
        if job.get("kind", JobKind.TRAIN) != JobKind.TRAIN:
            raise serializers.ValidationError({"kind": "A study searches for hyperparameters of trainings."})
        for name in NOT_OF_TRIALS:
            if name in job:
                raise serializers.ValidationError({name: f"Trials do not take {name}: leave it out."})
        return job


class TrialJobChangeSerializer(JobSettingsSerializer):
    """What shall be different of the jobs of a study that is cloned."""

    dataset = NameOrIdField(required=False, help_text="Another dataset, by id or name: its newest version.")
    dataset_version = serializers.UUIDField(required=False, help_text="Another dataset version.")
    model = NameOrIdField(required=False, help_text="Another model, by id or name: its newest version.")
    model_version = serializers.UUIDField(required=False, help_text="Another model version.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "name" in attrs:
            raise serializers.ValidationError({"name": "Trials do not take name: leave it out."})
        return attrs


class StudyCloneSerializer(StudyCreateSerializer):
    """What shall be different from the study that is cloned; what is left out is as it was."""

    job = TrialJobChangeSerializer(  # type: ignore[assignment]  # everything in it may be left out
        required=False, help_text="What shall be different of its jobs."
    )

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        for field in fields.values():
            field.required, field.default = False, serializers.empty
        return fields


class StudyExtendSerializer(StrictSerializer):
    """What is added to the budget of a study; at least one of them."""

    trials = serializers.IntegerField(
        min_value=1, max_value=MOST_TRIALS, required=False, help_text="So many more trials."
    )
    epochs = serializers.IntegerField(
        min_value=1,
        max_value=MOST_EPOCHS,
        required=False,
        help_text="So many more epochs of all trials together, where the study has a limit of them.",
    )
    gpu_hours = FiniteFloatField(
        min_value=0.0001,
        max_value=MOST_GPU_HOURS,
        required=False,
        help_text="So many more GPU-hours, where the study has a limit of them.",
    )
