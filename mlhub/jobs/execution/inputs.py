# SPDX-License-Identifier: Apache-2.0
"""What a job's pods are given: inputs, dataset, model and training, in the words of the wire."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from mlhub.jobs.models import Job, JobKind
from mlhub.registry.models import ModelVersion
from mlhub.registry.trained_on import inputs_read_by
from mlhub.runtime.prediction.schema_compatibility import TrainedSchema, schema_for_model
from mlhub.storage.models import Blob
from mlhub.storage.stores import blob_store
from mlhub.wire.launch import (
    NOTEBOOK,
    BatchDecision,
    DatasetSpec,
    Input,
    ModelSpec,
    PredictionSpec,
    TrainingSpec,
    dataset_inputs,
    further_input,
)

PACKAGE, WEIGHTS, ENVIRONMENT = "package.zip", "start.safetensors", "python-environment.zip"


def inputs_of(job: Job) -> tuple[Input, ...]:
    """The blobs that the job's pods read; of a store that is no disk without their addresses."""
    files = [] if job.dataset_version is None else job.dataset_version.files
    names = dataset_inputs([f["name"] for f in files])
    found = [_input(name, f["sha256"], f["size_bytes"]) for name, f in zip(names, files, strict=True)]
    for name, further in job.datasets.items():
        found += [_input(further_input(name, f["name"]), f["sha256"], f["size_bytes"]) for f in further["files"]]
    code = code_of(job.model_version)
    blobs = ((PACKAGE, code.package), (WEIGHTS, job.model_version.weights), (ENVIRONMENT, layer_of(code)))
    for name, blob in blobs:
        if blob is not None:
            found.append(_input(name, blob.sha256, blob.size_bytes))
    return tuple(found)


def dataset_spec(job: Job) -> DatasetSpec | None:
    """Returns how the dataset is read; for a trained model, as the dataset that it was trained on was.

    None: the job is of a script without one.
    """
    version = job.dataset_version
    if version is None:
        return None
    schema = version.schema
    trained_on = inputs_read_by(job.model_version)
    if job.kind != JobKind.TRAIN and trained_on is not None:
        known = trained_on, TrainedSchema(version.format, schema)
        schema = schema_for_model(*known, needs_targets=job.kind == JobKind.EVALUATE)
    return DatasetSpec(version.format, dataset_inputs([f["name"] for f in version.files]), schema)


def prediction_spec(job: Job) -> PredictionSpec | None:
    """None: the job trains, or is a notebook."""
    if job.kind in (JobKind.TRAIN, JobKind.NOTEBOOK):
        return None
    asked = job.prediction
    return PredictionSpec(job.kind, **{**asked, "features": tuple(asked["features"])})


def model_spec_of(job: Job) -> ModelSpec:
    return (
        ModelSpec(kind=NOTEBOOK, entry="jupyterlab") if job.kind == JobKind.NOTEBOOK else model_spec(job.model_version)
    )


def model_spec(version: ModelVersion) -> ModelSpec:
    """Of trained weights: their code, starting from them."""
    code = code_of(version)
    return ModelSpec(
        kind=code.kind,
        entry=code.entry,
        package=PACKAGE if code.package_id else None,
        weights=WEIGHTS if version.weights_id else None,
        environment=ENVIRONMENT if layer_of(code) is not None else None,
    )


def training_spec(job: Job, *, batch: Mapping[str, Any] | None = None) -> TrainingSpec:
    """batch: with which an attempt begins whose batch may change, as stored."""
    return TrainingSpec(
        batch=BatchDecision.from_json(batch) if batch else None,
        epochs=job.epochs,
        batch_size=job.batch_size,
        hyperparameters=job.hyperparameters,
        seed=job.seed,
        target_metric=job.target_metric or None,
        target_value=job.target_value,
        strategy=job.strategy,
    )


def code_of(version: ModelVersion) -> ModelVersion:
    return version.code_version or version


def image_of(job: Job) -> str:
    """The container image that the job's workers run: its own, or the one that its code brings; "": the platform's."""
    return job.image or code_of(job.model_version).image


def layer_of(code: ModelVersion) -> Blob | None:
    """The packages that the code requires; None when it requires no more than the platform has."""
    layer: Blob | None = code.environment.layer if code.environment is not None else None
    return layer


def checkpoint_folder(job: Job) -> Path:
    """Shared by all attempts of the job."""
    folder = Path(settings.CHECKPOINT_ROOT) / str(job.id)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def readable_blobs(job: Job) -> list[Blob]:
    """What the pods of this job may fetch, and nothing else."""
    return list(Blob.objects.filter(pk__in=[item.sha256 for item in inputs_of(job)]))


def _input(name: str, sha256: str, size_bytes: int) -> Input:
    return Input(name, sha256, size_bytes, blob_store().uri(sha256))
