# SPDX-License-Identifier: Apache-2.0
"""The JSON of requests for jobs: submit, clone and change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.core.api.strict import FiniteFloatField, NameOrIdField, StrictSerializer
from mlhub.core.api.tags import TagField
from mlhub.core.tags import MAX_TAGS
from mlhub.jobs.annotations import MAX_NOTES_LENGTH
from mlhub.jobs.limits.priorities import MOST_PRIORITY
from mlhub.jobs.models import JobKind, ModeChoice
from mlhub.wire.images import MAX_REFERENCE

MAX_WORKERS = 4096
MAX_GPU_TYPES = 20
MAX_BATCH = 1_000_000
OF_PREDICTION = ("model_of", "features", "output", "examples")
FOREIGN_TO_NOTEBOOKS = (
    "model", "model_version", "model_of", "features", "output", "examples", "epochs", "batch_size", "hyperparameters",
    "mode", "strategy", "min_workers", "max_workers", "seed", "target_metric", "target_value",
)  # fmt: skip
OF_TRAINING = ("model", "epochs", "hyperparameters", "mode", "strategy", "seed", "target_metric", "target_value")
MAX_FURTHER_DATASETS = 20
FURTHER_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class ResourcesSerializer(StrictSerializer):
    """What each pod of the job gets. What is left out, MLHub takes from its own measurements."""

    cpus = FiniteFloatField(
        min_value=0.1, max_value=1024, required=False, help_text="CPUs of each worker; by default 1."
    )
    memory_gib = FiniteFloatField(
        min_value=0.5,
        max_value=4096,
        required=False,
        help_text="Memory of each worker; by default twice what the dry run took, at least 1.5.",
    )
    n_servers = serializers.IntegerField(
        min_value=1,
        max_value=1024,
        required=False,
        help_text="Parameter servers, where the job runs on servers; by default the scheduler's choice.",
    )
    server_memory_gib = FiniteFloatField(
        min_value=0.5,
        max_value=4096,
        required=False,
        help_text="Memory of each parameter server; by default room for the weights, optimiser state and gradients.",
    )
    n_workers = serializers.IntegerField(
        min_value=1,
        max_value=MAX_WORKERS,
        required=False,
        help_text="What policies of fixed sizes give, from min_workers to max_workers; by default their own choice.",
    )
    gpu_types = serializers.ListField(
        child=serializers.CharField(max_length=100),
        min_length=1,
        max_length=MAX_GPU_TYPES,
        required=False,
        help_text="The types of GPU that the job may run on, as the cluster names them; by default any.",
    )


class LimitsSerializer(StrictSerializer):
    """When the platform ends the job."""

    stall_s = FiniteFloatField(
        min_value=60,
        max_value=30 * 24 * 3600,
        required=False,
        help_text="Seconds without a step after which the job is ended; by default 600, of scripts 3600.",
    )
    idle_s = FiniteFloatField(
        min_value=60,
        max_value=7 * 24 * 3600,
        required=False,
        help_text="Of a notebook: seconds in which nothing is done in it, after which it is paused; by default 1800.",
    )


@dataclass(frozen=True)
class BatchRange:
    """A batch that begins with `least` examples and may grow to `most`."""

    least: int
    most: int


class BatchRangeSerializer(StrictSerializer):
    """The range of a batch that may grow while the job trains."""

    min = serializers.IntegerField(min_value=1, max_value=MAX_BATCH, help_text="The batch that the job begins with.")
    max = serializers.IntegerField(min_value=1, max_value=MAX_BATCH, help_text="The largest batch.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["max"] < attrs["min"]:
            raise serializers.ValidationError({"max": f"Give at least min, which is {attrs['min']}."})
        return attrs


@extend_schema_field(
    {
        "oneOf": [
            {"type": "integer", "minimum": 1, "maximum": MAX_BATCH, "description": "A fixed batch."},
            {
                "type": "object",
                "description": "A batch that may grow while the job trains.",
                "required": ["min", "max"],
                "additionalProperties": False,
                "properties": {
                    "min": {
                        "type": "integer", "minimum": 1, "maximum": MAX_BATCH,
                        "description": "The batch that the job begins with.",
                    },
                    "max": {
                        "type": "integer", "minimum": 1, "maximum": MAX_BATCH, "description": "The largest batch.",
                    },
                },
            },
        ]
    }
)  # fmt: skip
class BatchSizeField(serializers.IntegerField):
    """A batch size, or {"min": 32, "max": 256}."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=MAX_BATCH, **options)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if not isinstance(data, Mapping):
            return super().run_validation(data)
        found = BatchRangeSerializer(data=data)
        found.is_valid(raise_exception=True)
        return BatchRange(found.validated_data["min"], found.validated_data["max"])


class JobSettingsSerializer(StrictSerializer):
    """The settings of a job that a submission gives and a clone may change; MLHub chooses what is left out."""

    name = serializers.CharField(
        max_length=100,
        required=False,
        allow_blank=True,
        help_text="The job's name; by default those of model and dataset, of a clone that of the original.",
    )
    epochs = serializers.IntegerField(
        min_value=1,
        max_value=100_000,
        required=False,
        help_text="How often training passes over the dataset; by default by its size.",
    )
    batch_size = BatchSizeField(
        required=False, help_text="The global batch size, in examples; or the range in which the scheduler chooses it."
    )
    hyperparameters = serializers.DictField(
        required=False, help_text="Hyperparameters of the training loop and of the model, by name."
    )
    mode = serializers.ChoiceField(
        choices=ModeChoice.choices,
        required=False,
        help_text="How workers exchange gradients; auto: the scheduler's choice.",
    )
    strategy = serializers.DictField(
        required=False, help_text='Such as {"name": "ssp", "staleness": 3}; /api/v1/strategies lists them.'
    )
    min_workers = serializers.IntegerField(
        min_value=1, max_value=MAX_WORKERS, required=False, help_text="The least number of workers."
    )
    max_workers = serializers.IntegerField(
        min_value=1, max_value=MAX_WORKERS, required=False, help_text="The most workers."
    )
    priority = serializers.IntegerField(
        min_value=-MOST_PRIORITY,
        max_value=MOST_PRIORITY,
        required=False,
        help_text="The priority, -100 to 100; higher goes first.",
    )
    resources = ResourcesSerializer(required=False, help_text="What each pod gets; by default what was measured.")
    limits = LimitsSerializer(required=False, help_text="When the platform ends the job.")
    environment = serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=32 * 1024),
        required=False,
        help_text='Environment variables of the job\'s pods, such as {"TOKENIZERS_PARALLELISM": "false"}.',
    )
    secrets = serializers.ListField(
        child=serializers.CharField(max_length=100),
        required=False,
        max_length=100,
        help_text="Names of the project's secrets that the job's pods get as environment variables.",
    )
    image = serializers.CharField(
        max_length=MAX_REFERENCE,
        required=False,
        allow_blank=True,
        help_text="On Kubernetes: a container image of the job's workers, registry.example.org/team/train:1.4; "
        "empty: the platform's.",
    )
    seed = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, required=False, help_text="The seed of all random numbers."
    )
    target_metric = serializers.CharField(
        max_length=100,
        required=False,
        allow_blank=True,
        help_text="The metric to reach, such as eval/accuracy; goes with target_value.",
    )
    target_value = FiniteFloatField(required=False, allow_null=True, help_text="The value of target_metric to reach.")

    def to_internal_value(self, data: Any) -> Any:
        """A batch size becomes its least and its largest value; None: it is fixed."""
        found = super().to_internal_value(data)
        given = found.get("batch_size")
        if isinstance(given, BatchRange):
            found |= {"batch_size": given.least, "max_batch_size": given.most}
        elif given is not None:
            found["max_batch_size"] = None
        return found


class JobCloneSerializer(JobSettingsSerializer):
    """What shall be different from the job that is cloned."""


class JobChangeSerializer(StrictSerializer):
    """What shall be different of a waiting job; of one that holds GPUs: priority, max_workers, further gpu_types.

    Tags and notes may be written at any time, also after the end.
    """

    priority = serializers.IntegerField(
        min_value=-MOST_PRIORITY,
        max_value=MOST_PRIORITY,
        required=False,
        help_text="The priority, -100 to 100; higher goes first.",
    )
    min_workers = serializers.IntegerField(
        min_value=1, max_value=MAX_WORKERS, required=False, help_text="The least number of workers."
    )
    max_workers = serializers.IntegerField(
        min_value=1, max_value=MAX_WORKERS, required=False, help_text="The most workers."
    )
    n_workers = serializers.IntegerField(
        min_value=1,
        max_value=MAX_WORKERS,
        required=False,
        help_text="What policies of fixed sizes give, from min_workers to max_workers.",
    )
    gpu_types = serializers.ListField(
        child=serializers.CharField(max_length=100),
        max_length=MAX_GPU_TYPES,
        required=False,
        help_text="The types of GPU that the job may run on; an empty list: any.",
    )
    tags = serializers.ListField(
        child=TagField(), max_length=MAX_TAGS, required=False, help_text="The job's tags, in place of those it has."
    )
    notes = serializers.CharField(
        max_length=MAX_NOTES_LENGTH,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="What is to be remembered about the job, as text.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError({"priority": "Give at least one field to change."})
        return attrs


class JobSubmitSerializer(JobSettingsSerializer):
    """Dataset and model; all else is MLHub's choice unless it is given.

    To predict or evaluate: model_of or a model_version with weights; it takes no setting of a training.
    """

    kind = serializers.ChoiceField(choices=JobKind.choices, required=False, help_text="By default train.")
    dataset = NameOrIdField(
        required=False, help_text="Its name or id; its latest ready version is used. A script may do without."
    )
    dataset_version = serializers.UUIDField(
        required=False, help_text="The id of a dataset version, instead of dataset."
    )
    datasets = serializers.DictField(
        child=NameOrIdField(),
        required=False,
        help_text="Of a script: further datasets by the names under which it finds them as folders (letters, digits, "
        "_): each the name or id of a dataset, whose latest ready version is used, or the id of a version.",
    )
    model = NameOrIdField(
        required=False,
        help_text="Its name or id; its latest uploaded version is used. NAME:3 or NAME@ALIAS: that version.",
    )
    model_version = serializers.UUIDField(required=False, help_text="The id of a model version, instead of model.")
    project = NameOrIdField(required=False, help_text="Its name or id; by default the dataset's; required without one.")
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

    def to_internal_value(self, data: Any) -> Any:
        """The largest batch of a range becomes a hyperparameter of the training loop."""
        found = super().to_internal_value(data)
        most = found.pop("max_batch_size", None)
        if most is not None:
            found["hyperparameters"] = {**found.get("hyperparameters", {}), "max_batch_size": most}
        return found

    def validate_datasets(self, datasets: dict[str, Any]) -> dict[str, Any]:
        if len(datasets) > MAX_FURTHER_DATASETS:
            raise serializers.ValidationError(f"Give at most {MAX_FURTHER_DATASETS}.")
        wrong = {name: ["A name is lower-case letters, digits and _, at most 40."] for name in datasets
                 if not FURTHER_NAME.fullmatch(name)}  # fmt: skip
        if wrong:
            raise serializers.ValidationError(wrong)
        return datasets

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        kind = attrs.get("kind", JobKind.TRAIN)
        if kind == JobKind.NOTEBOOK:
            return _of_notebook(attrs)
        if "idle_s" in attrs.get("limits", {}):
            raise serializers.ValidationError({"limits.idle_s": "Only a notebook takes it: leave it out."})
        n_given = ("dataset" in attrs) + ("dataset_version" in attrs)
        if n_given > 1 or (n_given == 0 and kind != JobKind.TRAIN):
            raise serializers.ValidationError({"dataset": "Give either dataset or dataset_version."})
        either = "model" if kind == JobKind.TRAIN else "model_of"
        if (either in attrs) == ("model_version" in attrs):
            raise serializers.ValidationError({either: f"Give either {either} or model_version."})
        foreign = OF_PREDICTION if kind == JobKind.TRAIN else OF_TRAINING
        for name in foreign:
            if name in attrs:
                raise serializers.ValidationError({name: f"A job of kind {kind} does not take {name}: leave it out."})
        return attrs


def _of_notebook(attrs: dict[str, Any]) -> dict[str, Any]:
    """A notebook needs a project, and may read datasets."""
    if "dataset" in attrs and "dataset_version" in attrs:
        raise serializers.ValidationError({"dataset": "Give either dataset or dataset_version."})
    for name in FOREIGN_TO_NOTEBOOKS:
        if name in attrs:
            raise serializers.ValidationError({name: f"A notebook does not take {name}: leave it out."})
    return attrs
